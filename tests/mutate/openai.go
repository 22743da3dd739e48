package main

// openAIMutations take out what bounds clients of OpenAI's wire.
func openAIMutations() []mutation {
	wish := func(name, standing, instead string) mutation {
		return mutation{name, "completions/completions.go", standing, instead, "TestWishesAreHeldToTheirBounds", []string{"./completions"}}
	}
	hearing := func(name, standing, instead, noticed string) mutation {
		return mutation{name, "recordings/hearing.go", standing, instead, noticed, []string{"./recordings"}}
	}
	llm := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "llm/" + file, standing, instead, noticed, []string{"./llm"}}
	}
	wire := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, file, standing, instead, noticed, []string{"./tests"}}
	}
	return []mutation{
		wish("a client may name any model", "!slices.Contains(names, w.Model)", "w.Model == names[0]+names[0]"),
		wish("what a client sends has no bound", "sent > s.InputChars", "sent > s.InputChars<<20"),
		wire("a client raises the cap", "completions/completions.go", "most = min(most, w.MaxTokens)", "most = w.MaxTokens", "TestWhatTheModelReceivesOfACompletion"),
		wire("what has no price is passed on", "api/openai/chatrequest.go", "if err := r.unpriced.refuse(); err != nil {", "if err := r.unpriced.refuse(); err != nil && r.Model == \"\" {", "TestWhatACompletionMayNotAsk"),
		wire("a refusal has another form under /v1", "routes/problems.go", "	if SpeaksOpenAI(c.Request().URL.Path) {\n", "	if c == nil {\n", "TestEveryRefusalUnderV1HasOpenAIsForm"),
		wire("a stream fails in another form under /v1", "routes/answer.go", "	if SpeaksOpenAI(path) {\n", "	if path == \"\" {\n", "TestStreamedCompletionsSayHowTheyEnd"),
		wire("a file that is heard may have a key of idempotency", "routes/hearing.go", `key != "" || err != nil {`, `key == "-" && err != nil {`, "TestEveryRefusalUnderV1HasOpenAIsForm"),
		llm("a client sets what the adapter sets", "openairequest.go", "!isOurs(name)", `!isOurs("")`, "TestFurtherMembersGoAlong"),
		llm("tools are not held for", "charge.go", "		each(string(tool.Parameters), false)\n", "", "TestToolsAndCallsAreCharged"),
		llm("calls are not charged", "charge.go", "said += len(call.Name) + len(call.Arguments)", "_ = call", "TestToolsAndCallsAreCharged"),
		llm("a tool is asked for that was not offered", "clean.go", "if len(request.Tools) > 0 {", "if true {", "TestCallsAreFitToUse|TestToolsGoBothWays"),
		llm("a look-up repeats an address that nobody gave", "clean.go", "given.only(plain(text)) })", "plain(given.only(\"\") + text) })", "TestCallsAreFitToUse|TestToolsGoBothWays"),
		hearing("a recording of any length is heard", "length > s.HearingMax {", "length > s.HearingMax<<8 {", "TestWhatIsNotHeardLeavesNothing"),
		hearing("a file that was heard stays", "			_ = os.Remove(path) // the sweeper has what stays\n", "			_ = os.Getpid()\n", "TestAFileIsHeardAndNotKept"),
		hearing("hearing has no time", "context.WithTimeout(ctx, s.HearingTimeout)", "context.WithTimeout(ctx, s.HearingTimeout<<8)", "TestHearingHasBounds"),
		wire("clients are left to hammer", "routes/problems.go", "&& wait > keptWait", "&& wait < 0", "TestEveryRefusalUnderV1HasOpenAIsForm"),
	}
}
