package main

// openAIMutations take out what bounds clients of OpenAI's wire.
func openAIMutations() []mutation {
	wish := func(name, standing, instead string) mutation {
		return mutation{name, "completions/completions.go", standing, instead, "TestWishesAreHeldToTheirBounds", []string{"./completions"}}
	}
	hearing := func(name, standing, instead, noticed string) mutation {
		return mutation{name, "recordings/hearing.go", standing, instead, noticed, []string{"./recordings"}}
	}
	return []mutation{
		wish("a client may name any model", "!slices.Contains(names, w.Model)", "w.Model == names[0]+names[0]"),
		wish("what a client sends has no bound", "sent > s.InputChars", "sent > s.InputChars<<20"),
		{"a client raises the cap", "completions/completions.go", "most = min(most, w.MaxTokens)", "most = w.MaxTokens", "TestWhatTheModelReceivesOfACompletion", []string{"./tests"}},
		hearing("a recording of any length is heard", "length > s.HearingMax {", "length > s.HearingMax<<8 {", "TestWhatIsNotHeardLeavesNothing"),
		hearing("a file that was heard stays", "			_ = os.Remove(path) // the sweeper has what stays\n", "			_ = os.Getpid()\n", "TestAFileIsHeardAndNotKept"),
		hearing("hearing has no time", "context.WithTimeout(ctx, s.HearingTimeout)", "context.WithTimeout(ctx, s.HearingTimeout<<8)", "TestHearingHasBounds"),
		{"clients are left to hammer", "routes/problems.go", "&& wait > keptWait", "&& wait < 0", "TestEveryRefusalUnderV1HasOpenAIsForm", []string{"./tests"}},
	}
}
