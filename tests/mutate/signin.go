package main

// signInMutations take out what keeps sign-ins, links and invites to those they are for.
func signInMutations() []mutation {
	story := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "accounts/" + file, standing, instead, noticed, []string{"./accounts"}}
	}
	issuer := func(name, standing, instead, noticed string) mutation {
		return mutation{name, "accounts/oidc/issuer.go", standing, instead, noticed, []string{"./accounts/oidc"}}
	}
	handler := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "accounts/handlers/" + file, standing, instead, noticed, []string{"./accounts/handlers"}}
	}
	return []mutation{
		story("a state of another sign-in comes back", "states.go", "!hmac.Equal([]byte(value), []byte(state.Value))", "value == \"\"", "TestAStateComesBackOnce"),
		story("a state that nobody signed comes back", "states.go", "|| !hmac.Equal(given, signed)", "|| len(given) == len(signed)+1", "TestAStateComesBackOnce"),
		story("a state comes back late", "states.go", "a.now().UnixMilli() >= state.ExpiresAt", "state.ExpiresAt == 0", "TestAStateComesBackOnce"),
		story("a state comes back twice", "states.go", "	if !first {\n", "	if !first && value == \"\" {\n", "TestAStateComesBackOnce"),
		issuer("a token answers another sign-in", `nonce == "" || subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(nonce)) != 1`, `subtle.ConstantTimeCompare(nil, nil) != 1`, "TestForgeriesAreRefused"),
		issuer("a code is sent for without a challenge", ", oauth2.S256ChallengeOption(verifier)", "", "TestACodeIsProvedOurs"),
		issuer("a code is traded without its verifier", ", oauth2.VerifierOption(verifier)", "", "TestACodeIsProvedOurs"),
		issuer("further claims are another's", "info.Subject != subject || ", "", "TestFurtherClaims"),
		story("an account is taken for its address", "identities.go", `tx.Where("issuer = ? AND subject = ?", who.Issuer, who.Subject).Take(&identity)`, `tx.Where("user_id IN (SELECT id FROM users WHERE email = ?)", who.Email).Take(&identity)`, "TestAnIdentityIsItsIssuerAndSubject"),
		story("a disabled account is signed in to", "identities.go", "		if row.DisabledAt != nil {\n", "		if row.DisabledAt != nil && who.Subject == \"\" {\n", "TestWhoIsNotAdmitted"),
		story("an address that the issuer denies is believed", "identities.go", " || who.EmailDenied {", " {", "TestWhoIsNotAdmitted"),
		story("who has no mapped role keeps verbs", "identities.go", "		return auth.RoleViewer\n", "		return auth.DefaultRole\n", "TestClaimsGovernTheRole"),
		story("a claim demotes the last administrator", "identities.go", "		if problems.Is(last, problems.Conflict) {\n", "		if last = nil; last != nil {\n", "TestAClaimLeavesAnAdministrator"),
		story("a role by claim leaves sessions open", "identities.go", `"role": role, "instance_admin": row.InstanceAdmin, "session_epoch": gorm.Expr("session_epoch + 1"),`, `"role": role, "instance_admin": row.InstanceAdmin,`, "TestClaimsGovernTheRole"),
		story("an identity is linked to a second account", "identities.go", "		if owner.ID != 0 && owner.ID != userID {\n", "		if owner.ID != 0 && owner.ID == userID {\n", "TestAnAddressIsNoIdentity"),
		story("who was demoted has invited", "invites.go", "!administers(by) || !auth.RoleWithin(invite.Role, by.Role)", "by.ID == 0", "TestAnInviteIsNeverAboveItsInviter"),
		story("an invite is accepted twice", "invites.go", `tx.Where("token_hash = ? AND accepted_at IS NULL AND expires_at > ?", hashOf(token), a.now())`, `tx.Where("token_hash = ? AND expires_at > ?", hashOf(token), a.now())`, "TestAnInviteMakesOneAccount"),
		story("an invite is accepted late", "invites.go", `tx.Where("token_hash = ? AND accepted_at IS NULL AND expires_at > ?", hashOf(token), a.now())`, `tx.Where("token_hash = ? AND accepted_at IS NULL", hashOf(token))`, "TestWhatVoidsAnInvite"),
		story("an invite is accepted that somebody changed", "invites.go", "	if !hmac.Equal([]byte(signed), []byte(token)) {\n", "	if !hmac.Equal([]byte(signed), []byte(token)) && token == \"\" {\n", "TestWhatVoidsAnInvite"),
		story("another organization's invite is withdrawn", "invites.go", `tx.Where("id = ? AND organization_id = ? AND accepted_at IS NULL", id, organizationID)`, `tx.Where("id = ? AND accepted_at IS NULL", id)`, "TestWhatVoidsAnInvite"),
		story("a reset works twice", "resets.go", "		if used.RowsAffected == 0 {\n", "		if used.RowsAffected < 0 {\n", "TestAResetWorksOnce"),
		story("a reset lives longer than it may", "resets.go", "ExpiresAt: a.now().Add(a.options.ResetLife)", "ExpiresAt: a.now().Add(9 * a.options.ResetLife)", "TestAResetThatIsOver"),
		story("a disabled account is reset", "resets.go", `Where("id = ? AND disabled_at IS NULL", rows[0].UserID)`, `Where("id = ?", rows[0].UserID)`, "TestAResetThatIsOver"),
		story("a new password leaves sessions open", "changepassword.go", `"password_hash": hash, "session_epoch": gorm.Expr("session_epoch + 1"),`, `"password_hash": hash,`, "TestANewPasswordEndsASessionThatRaced"),
		story("a new password leaves links open", "changepassword.go", `tx.Where("user_id = ? AND used_at IS NULL", id)`, `tx.Where("user_id = ? AND used_at IS NOT NULL", id)`, "TestANewPasswordEndsWhatTheOldOneOpened"),
		story("of two changes at once both count", "changepassword.go", `setPassword(tx.Where("password_hash = ?", claim.row.PasswordHash), user.ID, hash)`, `setPassword(tx, user.ID, hash)`, "TestANewPasswordEndsWhatTheOldOneOpened"),
		story("another's session is ended", "sessionlist.go", `tx.Where("id = ? AND user_id = ?", id, userID)`, `tx.Where("id = ?", id)`, "TestSessionsAreListedAndEnded"),
		handler("guesses of a stolen session are not counted", "passwords.go", "		return h.failed(c, failures, err)\n", "		return err\n", "TestChangingThePassword"),
		handler("a browser goes on elsewhere", "next.go", `strings.HasPrefix(next, "//") || strings.ContainsRune(next, '\\')`, `next == ""`, "TestWhereABrowserGoesOn"),
		{"mail crosses the network in the clear", "mail/mail.go", "gomail.WithTLSPolicy(gomail.TLSMandatory)", "gomail.WithTLSPolicy(gomail.NoTLS)", "TestNothingCrossesTheNetworkInTheClear", []string{"./mail"}},
		{"a header is smuggled into a mail", "mail/mail.go", `strings.ContainsFunc(letter.To+letter.Subject, unicode.IsControl)`, `strings.ContainsFunc(letter.To, unicode.IsControl)`, "TestHeadersCannotBeSmuggledIn", []string{"./mail"}},
	}
}
