package main

// toldMutations take out what keeps webhooks from telling what their account may not know any more, and what lets the outbox
// shrink without losing anything.
func toldMutations() []mutation {
	hooks := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "webhooks/" + file, standing, instead, noticed, []string{"./webhooks"}}
	}
	erased := func(name, file, standing, instead string) mutation {
		return mutation{name, file, standing, instead, "TestAnErasedAccountIsGone", []string{"./recordings"}}
	}
	return []mutation{
		hooks("an attempt under way goes on", "watch.go", "			cancel(errTellsNothing)\n", "", "TestAnEndpointStopsWithItsAccount"),
		hooks("what waits is told for a disabled account", "watch.go", `"u.disabled_at IS NULL AND (w`, `"(u.disabled_at IS NULL OR u.id > 0) AND (w`, "TestAnEndpointStopsWithItsAccount"),
		hooks("what waits is told for who may not manage", "watch.go", "' OR u.role IN ?)", "' OR u.role IN ? OR w.id > 0)", "TestAnEndpointStopsWithItsAccount"),
		hooks("what is broken off counts as a failure", "deliver.go", "if over := stop(); over {", "if over := stop(); over && round.jobID < 0 {", "TestAnEndpointStopsWithItsAccount"),
		hooks("a share that ended still tells", "shared.go", "if !others || shares[key{id, hook.UserID}] {", "if !others || shares != nil || id != 0 {", "TestAnEndedShareTellsNothing"),
		hooks("what is dropped is shown", "shared.go", `UpdateColumn("payload", payload)`, `UpdateColumn("payload", d.Payload+payload[:0])`, "TestAnEndedShareTellsNothing"),
		hooks("the owner's notes are told", "shared.go", "return slices.DeleteFunc(fields, func(field string) bool { return slices.Contains(personal(), field) })", "return fields", "TestAnEndedShareTellsNothing"),
		hooks("an event goes before it is handed out", "trim.go", "`e.sequence IS NOT NULL AND e.occurred_at < ?", "`e.occurred_at < ?", "TestTheOutboxIsTrimmed"),
		hooks("an event goes while it is delivered", "trim.go", "WHERE d.event_id = e.event_id)", "WHERE d.event_id = e.event_id AND d.id < 0)", "TestTheOutboxIsTrimmed"),
		hooks("the last number is forgotten", "trim.go", "l.sequence IS NOT NULL AND l.id > e.id)", "l.sequence IS NOT NULL AND l.id >= e.id)", "TestTheOutboxIsTrimmed"),
		hooks("the number of a deletion begins anew", "trim.go", "AND w.sequence IS NULL))`", "AND w.sequence < 0))`", "TestTheNumbersGoOn"),
		erased("others are still told of an erased account", "webhooks/erase.go", `"owner_user_id = ? OR webhook_id IN (?)", userID, own`, `"(owner_user_id = ? AND id < 0) OR webhook_id IN (?)", userID, own`),
		erased("what is handed over goes on", "webhooks/erase.go", "	if err := disable(tx, hook, now); err != nil {", "	if err := error(nil); err != nil {"),
		erased("a disabled account inherits", "webhooks/erase.go", "id <> ? AND disabled_at IS NULL AND", "id <> ? AND"),
	}
}
