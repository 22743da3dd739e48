package main

// webhookMutations take out what keeps the server from calling where it must not, and events from getting lost, doubled
// or told to the wrong one.
func webhookMutations() []mutation {
	calls := func(name, standing, instead, noticed string) mutation {
		return mutation{name, "outbound/strangers.go", standing, instead, noticed, []string{"./outbound"}}
	}
	hooks := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "webhooks/" + file, standing, instead, noticed, []string{"./webhooks"}}
	}
	return []mutation{
		calls("a name is not judged when it is dialed", "	targets, reason := s.resolve(ctx, host, port)\n	if reason != noReason {", "	targets, reason := s.resolve(ctx, host, port)\n	if reason == HostInvalid {", "TestForbiddenAddresses|TestANameThatTurnsPrivate"),
		calls("what ends in a number is a name", "return strings.Trim(last, \"0123456789\") != \"\" && !strings.HasPrefix(last, \"0x\")", "return last != \"\"", "TestForbiddenAddresses"),
		calls("the server calls itself", " && !s.isOwn(target)", "", "TestTheIntranetIsOpenedByHost"),
		calls("redirects are followed", "CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },", "", "TestStrangersRedirects"),
		calls("a user may stand in an address", " || parsed.User != nil", "", "TestForbiddenAddresses"),
		{"a pattern of hosts is not anchored", "config/hostpattern.go", `regexp.Compile("^(?:" + text + ")$")`, `regexp.Compile(text)`, "TestHostPatterns", []string{"./config"}},
		{"a secret opens for another row", "sealed/sealed.go", `strconv.FormatInt(row, 10))`, `strconv.FormatInt(0*row, 10))`, "TestNothingElseOpens", []string{"./sealed"}},
		hooks("the cap is not looked at", "endpoints.go", "if count < int64(s.MaxPerUser) {", "if count >= 0 {", "TestTheCapIsExact"),
		hooks("an editor makes webhooks of the organization", "endpoints.go", "		if err := p.Permit(auth.ManageIntegrations); err != nil {", "		if err := p.Permit(auth.ManageIntegrations); err != nil && hook.ID != 0 {", "TestWhoseWebhooks"),
		hooks("who may not manage any more reads what the organization is told", "deliveries.go", "	if err == nil && hook.Scope == ScopeOrganization {\n", "	if err == nil && hook.Scope == \"\" {\n", "TestWhoseWebhooks"),
		hooks("receivers that hang are waited for among the others", "dispatch.go", "	if endpoint.Hangs {\n", "	if endpoint.ID < 0 {\n", "TestAHangingReceiver"),
		{"answers are shown without the scope read", "webhooks/handlers/deliveries.go", "	if mayRead {\n", "	if mayRead || d.ID > 0 {\n", "TestPayloadsFollow", []string{"./webhooks/handlers"}},
		hooks("everybody's webhooks are visible", "endpoints.go", `return tx.Where("user_id = ?", p.UserID())`, "return tx", "TestWhoseWebhooks"),
		hooks("who may not manage any more is told of the organization", "handout.go", "		return e.manage\n", "		return true\n", "TestWhoIsTold"),
		hooks("a disabled account is told", "handout.go", " AND users.disabled_at IS NULL\"", "\"", "TestWhoIsTold"),
		hooks("a member is told of the organization's budget", "handout.go", "		return ofBudgetOf(event, e.hook.UserID)\n", "		return true\n", "TestWhoIsTold"),
		hooks("a member is told of others' recordings", "handout.go", "	return event.UserID == e.hook.UserID ||\n", "	return true ||\n", "TestWhoIsTold"),
		hooks("titles are sent without the scope", "payload.go", "	if !hook.IncludeContent {\n		withoutContent(data)", "	if hook.ID < 0 {\n		withoutContent(data)", "TestContentFollows"),
		hooks("what waits is sent with titles after they were switched off", "payload.go", "	if hook.IncludeContent {\n		return payload, nil", "	if hook.ID != 0 {\n		return payload, nil", "TestWhatWaitsIsSentWithout"),
		hooks("of two changes at once one undoes the other", "changes.go", "if askedOf(present) != askedOf(hook) {", "if present.URL != hook.URL {", "TestChangesAtOnce"),
		hooks("what failed together comes back together", "settle.go", "(0.9 + 0.2*rand.Float64())", "(1 + 0*rand.Float64())", "TestWaitsAreSpread"),
		hooks("who may not read moves a webhook", "endpoints.go", "(wish.Content != nil || moved)", "(wish.Content != nil || moved && hook.ID < 0)", "TestContentFollows"),
		hooks("an address is not judged when it is tested", "deliveries.go", "	return hook, s.judge(ctx, hook)", "	return hook, nil", "TestAddressesAreJudged"),
		hooks("Retry-After is passed over", "settle.go", "return max(jittered, asked)", "return jittered", "TestAttemptsAreBounded"),
		hooks("attempts have no end", "settle.go", "o.reason.retried() && attempts < s.Attempts", "o.reason.retried()", "TestAttemptsAreBounded"),
		hooks("what was given up in a row is lost", "settle.go", `map[string]any{"status": statusFailed, "finished_at": nil, "due_at": now}`, `map[string]any{"due_at": nil}`, "TestADownReceiver"),
		hooks("the next event of a recording does not wait", "deliver.go", "d.due_at <= ? AND \"+unblocked, now, blocking)", "d.due_at <= ?\", now)", "TestTheNextEventWaits"),
		hooks("the old secret ends at once", "secrets.go", "return append(secrets, previous), nil", "return append(secrets, previous)[:1], nil", "TestBothSecretsSign"),
		hooks("what waited comes all at once", "settle.go", `map[string]any{"waited": true, "due_at": now}`, `map[string]any{"due_at": now}`, "TestADeadReceiver"),
		hooks("answers show signatures", "deliver.go", "	text = credentials.ReplaceAllString(text, \"[removed]\")\n", "", "TestAnswersAreKept"),
	}
}
