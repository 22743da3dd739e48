package main

// roleMutations let roles do what the table does not give them, and let what is approved be rewritten.
func roleMutations() []mutation {
	matrix := func(name, file, standing, instead string) mutation {
		return mutation{name, file, standing, instead, "TestGoldenPermissions", []string{"./tests"}}
	}
	approval := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "recordings/" + file, standing, instead, noticed, []string{"./recordings"}}
	}
	return []mutation{
		matrix("a role that is none may everything", "auth/roles.go", "	return known && role.May(verb)\n", "	return !known || role.May(verb)\n"),
		matrix("a row's verb is not asked", "auth/authorize.go", "		return p.Permit(row.Needs)\n", "		return nil\n"),
		matrix("an administrator of one organization administers all", "auth/authorize.go", "row.InstanceWide && !p.instance", "row.InstanceWide && p.userID == 0"),
		matrix("approving takes no verb", "api/v1/routes.go", "a.approveSummary, approveSummaryOperation(), routes.Needs(auth.Approve))", "a.approveSummary, approveSummaryOperation())"),
		matrix("withdrawing takes no verb", "api/v1/routes.go", "a.withdrawApproval, withdrawApprovalOperation(), routes.Needs(auth.Approve))", "a.withdrawApproval, withdrawApprovalOperation())"),
		matrix("who publishes approves", "api/v1/routes.go", "a.approveSummary, approveSummaryOperation(), routes.Needs(auth.Approve))", "a.approveSummary, approveSummaryOperation(), routes.Needs(auth.Publish))"),
		matrix("a role has a verb more", "auth/roles.go", "		{RoleEditor, true, []Verb{Publish}},", "		{RoleEditor, true, []Verb{Publish, ManageTeamBilling}},"),
		{"a database that fails is read as no credential", "auth/authenticate.go", "		return g.lookupFailed(err, ctx.Err())\n	}\n	if !found {", "		found = false\n	}\n	if !found {", "TestAnUnreadableAccountOpensNothing", []string{"./tests"}},
		{"an account that cannot be read is one without a role", "tokens/find.go", "		return auth.Token{}, false, fmt.Errorf(\"find a token: %w\", err)\n	}\n	own,", "		return auth.Token{Scopes: auth.FullScopes(), UserID: 1}, true, nil\n	}\n	own,", "TestAnUnreadableAccountOpensNothing", []string{"./tests"}},
		{"nobody is told of a role that is none", "auth/guard.go", "			g.unrecognized.look(v.principal)\n", "", "TestAnUnknownRoleIsToldOf", []string{"./routes"}},
		{"the log is told of it with each request", "auth/unrecognized.go", "now.Sub(last) < retellAfter", "now.Sub(last) < 0", "TestAnUnknownRoleIsToldOf", []string{"./routes"}},
		{"everybody sees the figures of all accounts", "recordings/statsofall.go", "if err := p.PermitInstance(); err != nil {", "if err := p.Permit(auth.AdministerMembers); err != nil {", "TestStatsOfAll", []string{"./recordings"}},
		approval("what is approved is not known as such", "approval.go", "return row.SummaryApprovedAt != nil", "return row.SummaryApprovedAt != nil && row.ID == 0", "TestAnApprovedSummaryIsNotRewritten"),
		approval("assigning speakers rewrites an approved summary", "assign.go", " && !approved(row)", "", "TestAnApprovedSummaryIsNotRewritten"),
		approval("transcribing again drops an approved summary", "transcribe.go", "	if !approved(*row) {", "	if row.ID > 0 {", "TestAnApprovedSummaryIsNotRewritten"),
		approval("a summary follows although one is approved", "summarize.go", " || kept {", " || kept && row.ID == 0 {", "TestAnApprovedSummaryIsNotRewritten"),
		approval("an edit leaves the approval", "patch.go", "slices.Contains(changed, FieldSummary) && approved(*row)", "slices.Contains(changed, FieldSummary) && row.ID == 0", "TestAnEditEndsTheApproval"),
		approval("nothing can be approved", "approval.go", `given(row.Summary) == ""`, "row.ID == 0", "TestApprovingRefuses"),
		approval("a text is approved that was not read", "approval.go", "match != nil && !match(row.UpdatedAt)", "match != nil && row.ID == 0", "TestApprovingRefuses"),
	}
}
