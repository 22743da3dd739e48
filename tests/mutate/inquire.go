package main

// inquiryMutations take out what bounds a model that looks things up, and what it may look up.
func inquiryMutations() []mutation {
	agent := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "llm/agent/" + file, standing, instead, noticed, []string{"./llm/agent"}}
	}
	story := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "recordings/" + file, standing, instead, noticed, []string{"./recordings"}}
	}
	whole := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, file, standing, instead, noticed, []string{"./tests"}}
	}
	return []mutation{
		agent("an agent calls without end", "loop.go", "l.steps >= l.MaxSteps-1", "l.steps >= 9*l.MaxSteps", "TestLoopEndsAtEachBound"),
		agent("an agent looks up without end", "lookup.go", "l.asked > l.MaxToolCalls || ", "", "TestLoopEndsAtEachBound"),
		agent("an agent takes any time", "loop.go", "return !l.Now().Before(l.ends)", "return false", "TestLoopEndsAtEachBound"),
		agent("an agent sends more than its context", "fold.go", "if l.put(i, f); l.share() <= brim {", "if l.put(i, f); true {", "TestContextIsNeverExceeded"),
		agent("a look-up tells all that it found", "lookup.go", "f.data = providers.Cut(whole, charsPerToken*l.ResultTokens)", "f.data = whole", "TestResultIsCut"),
		agent("an agent holds for one call", "loop.go", "calls := int64(a.MaxSteps)", "calls := int64(1)", "TestQuestionIsRefusedBeforeAnyCall"),
		agent("an agent of no calls makes one", "loop.go", "case a.MaxSteps < 1:", "case a.MaxSteps < 0:", "TestQuestionIsRefusedBeforeAnyCall"),
		agent("an agent goes on for who may not", "loop.go", "return l.task.Still(ctx)", "return nil", "TestLoopEndsWithAnError"),

		story("questions are answered that the operator does not want", "inquire.go", "	if !s.Inquiry.Enabled {", "	if s.db == nil {", "TestInquireRefuses"),
		story("a question has any length", "inquire.go", "checkInput(said+utf8.RuneCountInString(q.Question), most)", "checkInput(0*said, most)", "TestInquireRefuses"),
		story("who may not read is answered", "inquire.go", "asked.unread = !p.MayRead(); asked.unread", "asked.unread = false; asked.unread", "TestInquireRefuses"),
		story("notes are looked up unasked", "inquireagent.go", "if l.s.Inquiry.Notes {", "if true {", "TestInquireLooksUp"),
		story("a look-up reaches another tenant", "inquiretools.go", `l.s.among(at.db, at.p, l.asked.query).Where("id = ?", int64(id))`, `at.db.Where("id = ?", int64(id))`, "TestInquireLooksUp"),
		story("the model leaves a date out", "inquiretools.go", "(query.From == nil || from.After(*query.From))", "true", "TestInquireLooksUp"),
		story("the model names other people", "inquiretools.go", "len(asked) > 0 {", "len(asked) > 999 {", "TestInquireLooksUp"),
		story("an answer links what no model was shown", "inquirelinks.go", "if _, known := s[id]; err != nil || !known {", "if err != nil {", "TestInquireTellsItsLookUps|TestInquireStream"),

		whole("a look-up outlives its credential", "recordings/inquireagent.go", "l.p.Present(ctx)", "l.p, ctx.Err()", "TestALookUpEndsWithItsCredential"),
		whole("an answer of several calls outlives its credential", "routes/answer.go", "t.guard.Lasting(c)", "p", "TestALookUpEndsWithItsCredential"),
		{"a credential that was narrowed goes on", "auth/alive.go", "return now, g.authorize(now, rule)", "_ = rule\n		return now, nil", "TestAStreamEndsWithItsCredential", []string{"./routes"}},
	}
}
