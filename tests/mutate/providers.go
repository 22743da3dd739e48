package main

// providerMutations take out what stands before a text model.
func providerMutations() []mutation {
	llm := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "llm/" + file, standing, instead, noticed, []string{"./llm"}}
	}
	return []mutation{
		llm("a call to the text model is not held", "work.go", "w.hold.Send(ctx, most); err != nil", "error(nil); err != nil", "TestCallIsChargedAtWhatItUsed"),
		llm("the cap is not in the request", "openairequest.go", "params.MaxTokens = openai.Int(int64(request.MaxTokens))", "_ = params", "TestRequestHasItsCap"),
		llm("the cap of a model that thinks is not in the request", "openairequest.go", "params.MaxCompletionTokens = openai.Int(int64(request.MaxTokens))", "_ = params", "TestThinkingModelsAreAskedInTheirWay"),
		llm("a request without a cap is sent", "work.go", "request.MaxTokens < 1 || ", "", "TestRequestWithoutCapIsRefused"),
		llm("a provider is called in its pause", "adapter.go", "	if ok {\n", "	if ok || wait > 0 {\n", "TestProviderThatFailsIsLeftAlone|TestBusyProviderIsLeftAlone"),
		llm("a redirect is followed", "openai.go", "return http.ErrUseLastResponse", "return nil", "TestRedirectIsNotFollowed"),
		llm("a refused call is charged", "charge.go", "if isRefusal(err) || isUnsent(err) {", "if isUnsent(err) {", "TestFailedCallIsCharged"),
		llm("a call that never connected is charged", "charge.go", " || isUnsent(err)", "", "TestCallThatNeverConnectedIsFree"),
		llm("a call is made again that ran out of time", "adapter.go", " || failure.Kind == providers.TimedOut && failure.Status == 0", "", "TestCallIsNotMadeAgainInVain"),
		llm("a call is made again that was answered in part", "adapter.go", `completion.Text != "" || `, "", "TestCallIsNotMadeAgainInVain"),
		llm("a call is made again without end", "adapter.go", " || attempt >= a.Attempts", "", "TestFailedCallIsCharged"),
		llm("an address that nobody gave is shown", "clean.go", "return paragraphs(given.only(paragraphs(text)))", "_ = given\n\t\treturn paragraphs(text)", "TestTextsOfJSONAreCleaned"),
		llm("an escape hides an address", "clean.go", "request.JSON && found {", "request.JSON && !found {", "TestTextsOfJSONAreCleaned"),
		llm("a word that was begun becomes an address", "speech.go", "s.given.only(s.begun + withoutOpenTags(piece))", "s.begun + s.given.only(withoutOpenTags(piece))", "TestAWordThatWasBegun"),
		llm("what is held back is lost when the answer breaks off", "stream.go", "_ = voice.end()", "_ = voice", "TestWhatWasHeldBack"),
		llm("an event of an error is passed over", "sse.go", `e.fails = string(value) == "error"`, `e.fails = string(value) == "err"`, "TestErrorsInsideOfASuccess"),
		llm("half an answer that a filter cut off passes for one", "openaistream.go", "	case c.filtered:", "	case c.filtered && c.deaf != nil:", "TestAnAnswerThatAFilterCutOff"),
		{"a part that is refused for good is asked for again", "speech/parts.go", "refused(err) && !w.taken && ", "refused(err) && ", "TestAPartThatIsRefusedForGood", []string{"./speech"}},
		{"a form that is known is doubted", "speech/openai.go", "refusesForm(err) && !known", "refusesForm(err) && (known || !known)", "TestAPartThatIsRefusedForGood", []string{"./speech"}},
		llm("the breaker is not told of failures", "adapter.go", "a.Breaker.Failed(failure.RetryAfter)", "a.Breaker.Ended()", "TestProviderThatFailsIsLeftAlone"),
	}
}
