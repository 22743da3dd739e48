package main

// administrationMutations take out what bounds administrators, and what keeps an eye on them.
func administrationMutations() []mutation {
	accounts := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "accounts/" + file, standing, instead, noticed, []string{"./accounts"}}
	}
	admin := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "api/v1/admin/" + file, standing, instead, noticed, []string{"./api/v1/admin"}}
	}
	audited := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "audit/" + file, standing, instead, noticed, []string{"./audit"}}
	}
	door := func(name, standing, instead, noticed string) mutation {
		return mutation{name, "routes/audited.go", standing, instead, noticed, []string{"./routes"}}
	}
	return []mutation{
		accounts("another organization's account is changed", "administer.go", "if row.OrganizationID != actor.OrganizationID {", "if row.ID == 0 {", "TestWhatAnAdministratorMayNot"),
		accounts("an organization changes the instance's administrator", "administer.go", "	if row.InstanceAdmin {\n		return problems.New", "	if row.InstanceAdmin && row.ID == 0 {\n		return problems.New", "TestWhatAnAdministratorMayNot"),
		admin("an organization locks the instance's administrator out", "admin.go", "err == nil && user.InstanceAdmin && !p.AdministersInstance()", "err != nil", "TestTheInstancesAdministratorIsOutOfReach"),
		accounts("a password that was changed meanwhile opens a session", "sessions.go", "a.sessions.Put(ctx, keyEpoch, user.epoch)", "found, _ := a.Find(ctx, user.ID)\n	a.sessions.Put(ctx, keyEpoch, found.epoch)", "TestANewPasswordEndsASignInThatRaced"),
		{"a disabled account's upload is kept", "recordings/upload.go", "p.Present(ctx); err != nil", "p.Present(ctx); err != nil && p.UserID() == 0", "TestAnUploadOfWhoIsOutIsNotKept", []string{"./recordings"}},
		{"a disabled account has a file heard", "recordings/hearing.go", "p.Present(ctx); err != nil", "p.Present(ctx); err != nil && p.UserID() == 0", "TestNothingIsHeardForWhoIsOut", []string{"./recordings"}},
		{"an upload does not know who is out", "routes/doors.go", "h(c, t.guard.Lasting(c), c.Request().Body)", "h(c, auth.PrincipalOf(c), c.Request().Body)", "TestAFileIsItsCallersAsItIsWhenItIsHere", []string{"./routes"}},
		{"a file that is heard does not know who is out", "routes/hearing.go", "t.guard.Lasting(c)", "auth.PrincipalOf(c)", "TestAFileIsItsCallersAsItIsWhenItIsHere", []string{"./routes"}},
		accounts("whoever arrives first has the instance", "identities.go", "|| !first ||", "|| first ||", "TestAnArrivalIsNotTheFirstAccount"),
		accounts("an inbox is filled with invites", "mailing.go", "	options.UniqueOpts = river.UniqueOpts{ByArgs: true, ByPeriod: a.options.InviteMailEvery}\n", "", "TestAnInboxIsNotFilledWithInvites"),
		{"an administrator misspells by a capital", "routes/strict.go", "&& !hasMember(typ, name)", "&& name == \"\"", "TestStrictBodiesNameWhatTheyDoNotKnow", []string{"./routes"}},
		{"an administrator says one thing twice", "routes/strict.go", "if now.names[name] {", "if name == \"\" {", "TestStrictBodiesNameWhatTheyDoNotKnow", []string{"./routes"}},
		accounts("who is demoted keeps the instance", "administer.go", "row.InstanceAdmin = had && auth.RoleMay(", "row.InstanceAdmin = had || auth.RoleMay(", "TestARoleTakesTheInstanceWithIt"),
		accounts("a claim to the instance is believed", "administer.go", "return by.Instance && (by.ActorID == 0 || actor.InstanceAdmin)", "return by.Instance", "TestWhatAnAdministratorMayNot"),
		accounts("who asks is not looked up again", "administer.go", "err == nil && !administers(actor)", "err == nil && actor.ID == 0", "TestWhatAnAdministratorMayNot"),
		accounts("a role that cannot be assigned is given", "administer.go", "	if err := roleProblem(role); err != nil {\n		return err\n	}\n", "", "TestWhatAnAdministratorMayNot"),
		accounts("an editor administers the instance", "administer.go", "if *change.InstanceAdmin && !auth.RoleMay(", "if *change.InstanceAdmin && row.ID == 0 && !auth.RoleMay(", "TestWhatAnAdministratorMayNot"),
		accounts("the last administrator of the instance goes", "erase.go", "if err == nil && others == 0 {", "if err == nil && others < 0 {", "TestWhatAnAdministratorMayNot"),
		accounts("the last administrator of an organization goes", "administer.go", "if err == nil && others == 0 {", "if err == nil && others < 0 {", "TestWhatAnAdministratorMayNot"),
		accounts("a changed account keeps its sessions", "administer.go", `"instance_admin": row.InstanceAdmin, "session_epoch": gorm.Expr("session_epoch + 1"),`, `"instance_admin": row.InstanceAdmin,`, "TestAnAccountIsAltered"),
		accounts("an account is made in another organization", "members.go", "if !by.everywhere(actor) {", "if row.ID != 0 {", "TestMembersAreMade"),
		admin("another organization's things are seen", "admin.go", "if id != p.OrganizationID() && !p.AdministersInstance() {", "if id == 0 {", "TestAnotherOrganizationDoesNotExist"),
		admin("another organization's accounts are seen", "admin.go", "Accounts.Member(c.Request().Context(), administered(p), id)", "Accounts.Member(c.Request().Context(), 0, id)", "TestAnotherOrganizationsAccountsDoNotExist"),
		admin("an organization raises its own limits", "limits.go", "if !p.AdministersInstance() && !slices.Equal(", "if p.UserID() == 0 && !slices.Equal(", "TestLimitsAreSet"),
		admin("another organization's log is read", "auditlog.go", "	asked.OrganizationID = administered(p)\n", "", "TestTheAuditLogIsRead"),
		audited("what cannot be audited is done", "audit.go", "	if err != nil {\n		return 0, problems.New(", "	if err != nil && id != 0 {\n		return 0, problems.New(", "TestALogThatCannotBeWritten"),
		audited("refusals fill the log", "refusals.go", "known && now.Sub(last) < refusedEvery && !now.Before(last)", "known && now.Before(last)", "TestRefusalsAreWrittenOnceAMinute"),
		audited("after a sweep anything can be removed", "sweep.go", `UpdateColumn("removes_before", nil)`, `UpdateColumn("removes_before", before.AddDate(100, 0, 0))`, "TestTheSweepRemovesTheOld"),
		{"the audit log is changed", "models/migrations/sqlite/00015_audit.sql", "AND NEW.action = OLD.action ", "", "TestEntriesStand", []string{"./audit"}},
		{"the audit log is removed", "models/migrations/sqlite/00015_audit.sql", "WHEN NOT coalesce(OLD.at < (SELECT removes_before FROM audit_sweeps), 0)", "WHEN OLD.id < 0", "TestEntriesStand", []string{"./audit"}},
		door("an administrator is not audited", "	if err != nil {\n		return err //nolint:wrapcheck // it is a problem that says so", "	if err != nil && id != 0 {\n		return err //nolint:wrapcheck // it is a problem that says so", "TestWhatCannotBeAuditedIsNotDone"),
		door("who is not let in is not audited", "problems.Of(err).Kind.Status() == http.StatusForbidden", "problems.Of(err).Kind.Status() == http.StatusTeapot", "TestRefusalsAreAudited"),
		{"a command is not audited", "server/orgcommands.go", "	id, err := log.Begin(ctx, audit.Entry{Address: audit.Command, Action: action, Object: object})\n	if err != nil {\n		return err\n	}\n", "	id, err := int64(0), error(nil)\n", "TestAdministrationByHTTPAndByCommand", []string{"./tests"}},
		door("a stranger's text is audited", "err == nil && id > 0", "err == nil || id == 0", "TestAdministrationIsAudited"),
	}
}
