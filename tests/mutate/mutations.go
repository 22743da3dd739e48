package main

import "slices"

// walk is what has to notice a guard that is gone from the route table: the walk over the live table.
const walk = "TestEveryGuardBitesOnEveryRoute"

// mutations lists every guard of the code, taken out. Add a line for each new one.
func mutations() []mutation {
	return slices.Concat(
		guardMutations(), figureMutations(), stackMutations(), storyMutations(), promiseMutations(), providerMutations(), moneyMutations(),
		sharingMutations(), roleMutations(), administrationMutations(), signInMutations(), pageMutations(), groupMutations(), disablingMutations(), settingMutations(),
		streamMutations(), inquiryMutations(), openAIMutations(), inboundMutations(), webhookMutations(), toldMutations(),
	)
}

// unguarded stands in for the middleware of a door.
const unguarded = `func(next echo.HandlerFunc) echo.HandlerFunc { return next }`

// guardMutations take out the steps of the guard, and its mounting in each door.
func guardMutations() []mutation {
	step := func(name, call string) mutation {
		return mutation{name, "auth/guard.go", "			if err := " + call + "; err != nil {\n				return err\n			}\n", "", walk, []string{"./tests"}}
	}
	door := func(name, standing, instead string) mutation {
		return mutation{name, "routes/doors.go", standing, instead, walk, []string{"./tests"}}
	}
	return []mutation{
		step("the guard does not authenticate", "g.authenticate(c, v)"),
		step("the guard does not check the scope", "g.authorize(v.principal, rule)"),
		step("the guard asks for no same-origin proof", "g.requireSameOrigin(c.Request(), v.principal)"),
		step("the guard looks at no declared length", "checkDeclared(c.Request(), row)"),
		{"the guard admits without its limits", "auth/guard.go", "g.admit(c, v, rule.store, rule.plansOf(v.principal), weight)", "g.admit(c, v, rule.store, nil, weight)", walk, []string{"./tests"}},
		door("the token door mounts no guard", "t.mount(row, t.guard.RequireScope(spec.guard, scope), handler)", "t.mount(row, "+unguarded+", handler)"),
		door("the account door mounts no guard", "t.mount(row, t.guard.RequireScope(spec.guard), withPrincipal(h))", "t.mount(row, "+unguarded+", withPrincipal(h))"),
		door("the upload door mounts no guard", "t.mount(row, t.guard.RequireScope(spec.guard, scope), func(", "t.mount(row, "+unguarded+", func("),
		door("the public door admits without its limits", "			if err := admit(c); err != nil {\n				return err\n			}\n", "			_ = admit\n"),
		{"an answer 401 is not counted", "auth/authenticate.go", "[]*limits.Plan{limits.AuthFailures}", "[]*limits.Plan(nil)", walk, []string{"./tests"}},
	}
}

// figureMutations take out what makes one token's or account's figures its own.
func figureMutations() []mutation {
	return []mutation{
		{"figures of one subject are not asked for", "limits/figures.go", "f.own.Rates(plan, id); found {", "f.own.Rates(plan, id); found && plan == nil {", "TestFiguresOfOneTokenHoldForItAlone", []string{"./routes"}},
		{"what a token's owner wants less does not hold", "auth/stack.go", "len(by) > 0 {", "len(by) > 1<<30 {", "TestFiguresOfOneTokenHoldForItAlone", []string{"./routes"}},
	}
}

// stackMutations take one limit out of every stack.
func stackMutations() []mutation {
	limit := func(plan, standing, instead string) mutation {
		return mutation{"no row has the limit " + plan, "auth/stack.go", standing, instead, walk, []string{"./tests"}}
	}
	return []mutation{
		limit("account", "add(TokenCallers, account)", "_ = account"),
		limit("token", "add(TokenCallers, token)", "_ = token"),
		limit("organization_ai", "add(AllCallers, limits.OrganizationAI)", ""),
		limit("user_ai", "add(AllCallers, limits.UserAI)", ""),
		limit("address_ai", "add(AllCallers, limits.AddressAI)", ""),
		limit("session_address", "add(SessionCallers, limits.SessionAddress)", ""),
		// Which limits of its own a row should have, the walk cannot know; the golden table does.
		{"no row has the limits of its own", "auth/stack.go", "	for _, plan := range row.Limits {\n		add(AllCallers, plan)\n	}\n", "", "TestGoldenRouteTable", []string{"./tests"}},
	}
}

// storyMutations take out the guards that stand in a story because only it knows the moment.
func storyMutations() []mutation {
	return []mutation{
		{"the cap on tokens is not judged", "tokens/create.go", "		if err := t.room(tx, owner.ID, row.CreatedAt); err != nil {\n			return err\n		}\n", "", "Cap", []string{"./tokens"}},
		{"the create limit is not taken", "tokens/create.go", "charged, err = t.charge(ctx, owner)", "charged, err = nil, nil", "TestTheEleventhActiveToken", []string{"./tests"}},
		{"failed sign-ins are not limited", "accounts/handlers/login.go", "	if err := h.standing(c, failures); err != nil {\n		return err\n	}\n", "", "TestAFailedLogin", []string{"./tests"}},
		{"another account's recording is found", "recordings/access.go", "	case !shared:", "	case !shared && share.ID != 0:", "TestAnotherTenants", []string{"./tests"}},
	}
}

// promiseMutations take out what keeps promises to clients: nothing worked twice, no update lost, no change missed,
// nothing shown that may not be.
func promiseMutations() []mutation {
	once := func(name, file, old, instead, run string) mutation {
		return mutation{name, file, old, instead, run, []string{"./routes"}}
	}
	story := func(name, file, old, instead, run string) mutation {
		return mutation{name, "recordings/" + file, old, instead, run, []string{"./recordings"}}
	}
	return []mutation{
		once("a key keeps nothing from being worked twice", "routes/doors.go", "handler = t.idempotent(t.timeOf(row)-t.timeouts.Handler, handler)", "_ = t.idempotent(t.timeOf(row)-t.timeouts.Handler, handler)", "TestARequestWithAKeyIsWorkedOnce"),
		once("a paid row asks for no money", "routes/doors.go", "if err := purse.Open(c.Request().Context(), price); err != nil {", "if err := purse.Open(c.Request().Context(), price); false && err != nil {", "TestAPaidRowIsRefusedWhenNothingIsLeft"),
		once("a key answers another request", "idempotency/idempotency.go", "case row.Fingerprint != fingerprint:", "case row.Fingerprint == \"\":", "TestAKeyIsForOneRequest"),
		once("a key is worked on by two", "idempotency/idempotency.go", "	if alive > 0 {", "	if alive > 1 {", "TestARequestThatRunsIsNotRunBeside"),
		once("a batch weighs nothing", "routes/weigh.go", "return max(1, int64(len(distinct))), nil", "return 1, nil", "TestABatchWeighsItsDistinctIDs"),
		once("a batch has no bound", "routes/weigh.go", "len(distinct) > auth.MaxBatch", "len(distinct) > 1<<30", "TestABatchThatIsTooLarge"),
		once("bodies have no bounds", "routes/json.go", "return keepBounds(dst)", "return nil", "TestBodiesKeepTheBounds"),
		{"If-Match is not asked", "recordings/change.go", "if match != nil && !match(row.UpdatedAt) {", "if match != nil && !match(row.UpdatedAt) && id == 0 {", "TestIfMatch", []string{"./api/v1"}},
		{"who may not publish makes links", "auth/authorize.go", "return p.Permit(row.Needs)", "return nil", "TestSharesAreRefusedInOrder", []string{"./api/v1"}},
		story("a link outlives its owner's right to it", "shared.go", "!auth.RoleMay(found[0].Role, auth.Publish)", `auth.RoleMay("", auth.Publish)`, "TestLinksDie"),
		story("a link outlives its end", "shared.go", "!s.moment().Before(*share.ExpiresAt)", "s.moment().IsZero()", "TestLinksDie"),
		story("the feed tells what has not settled", "changes.go", "now.Add(-writing - s.ChangesSettle)", "now.Add(-writing)", "TestFeedOrderAndSettling"),
		story("the feed waits for no transaction", "changes.go", "now.Add(-writing - s.ChangesSettle)", "now.Add(min(0, writing) - s.ChangesSettle)", "TestFeedWaitsForASlowTransaction"),
		story("another account's tags can be used", "groups.go", `((user_id = ? AND organization_id IS NULL) OR organization_id = ?)", p.UserID(), p.OrganizationID())`, `(organization_id IS NULL OR organization_id = ?)", p.OrganizationID())`, "Tag"),
		story("another account's folder can be used", "groups.go", "	case ownerID == p.UserID():\n		return usable(db, p)", "	case ownerID == p.UserID():\n		return db", "Patch"),
		story("another account's recordings are searched", "search_candidates.go", `q.narrow(db.Model(&models.Recording{}).Where("user_id = ?", p.UserID()), p)`, `q.narrow(db.Model(&models.Recording{}).Where("user_id > 0"), p)`, "TestSearchKeepsToTheAccount"),
	}
}
