package main

// streamMutations take out what bounds a stream: its slot, each of its clocks, and what ends it early.
func streamMutations() []mutation {
	stream := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "streams/" + file, standing, instead, noticed, []string{"./streams"}}
	}
	// Of each streaming row, found from the live table.
	row := func(name, file, standing, instead string) mutation {
		return mutation{name, file, standing, instead, "TestEveryStreamingRowIsGuarded", []string{"./tests"}}
	}
	return []mutation{
		row("a stream takes no slot", "streams/slots.go", "	if !ok {\n		return nil, s.full()\n	}\n", "	_ = ok\n"),
		row("a stream outlives its credential", "routes/answer.go", ", Alive: t.guard.Alive(c),", ","),
		row("a stream may have a key of idempotency", "routes/answer.go", `key != "" || err != nil {`, `key == "-" && err != nil {`),
		stream("a slot is not renewed", "slots.go", "kept, err := p.streams.Slots.Renew(asking, p.key, p.id, p.streams.Lease)", "kept, err := asking.Err() == nil, error(nil)", "TestALeaseIsRenewed"),
		stream("a slot is not given back", "slots.go", "p.streams.Slots.Release(ctx, p.key, p.id)", "ctx.Err()", "TestALeavingClientFreesSlot"),
		stream("a lost slot goes on", "slots.go", "			lost()\n", "", "TestALostSlotEndsTheStream"),
		stream("no clock of the first byte", "clocks.go", "{firstByte, m.waiting, c.FirstByte}, ", "", "TestASilentFirstByte"),
		stream("no idle clock", "clocks.go", "{idle, m.heard, c.Idle}, ", "", "TestASilentProvider"),
		stream("no clock of a client that stalls", "clocks.go", ", {clientStall, m.writing, c.ClientStall}", "", "TestAClientThat"),
		stream("no total clock", "streams.go", "return &Streams{Options: options,", "options.Clocks.Total *= 100\n	return &Streams{Options: options,", "TestATalkerDies|TestTheTotalClockRuns"),
		stream("heartbeats feed the idle clock", "relay.go", "		if !time.Now().Before(beat) {\n", "		if !time.Now().Before(beat) {\n			s.sink.Heard()\n", "TestHeartbeatsDoNotFeed"),
		stream("a write has no deadline", "outlet.go", "return o.control.SetWriteDeadline(time.Now().Add(patience))", "return o.control.SetWriteDeadline(time.Time{}.Add(0 * patience))", "TestEachWriteHasADeadline"),
		stream("the status does not wait for the provider", "open.go", "	err := s.await()\n", "	err := error(nil)\n", "TestTheStatusWaits"),
		stream("a failure has the success's end", "open.go", "	if err == nil {\n		s.slot.release()\n", "	if err == nil || s.begun {\n		s.slot.release()\n", "TestAFailureAfterTheFirstByte"),
		stream("a client that left keeps its provider", "open.go", "	s.cancel(err)\n	s.settle()\n", "	s.settle()\n", "TestAClientThatStopsReading|TestALeavingClient|TestASilentProvider"),
		stream("a stopping server waits for its streams", "open.go", "	defer context.AfterFunc(s.stopping, func() { s.cancel(context.Cause(s.stopping)) })()\n", "", "TestAStoppingServer"),
		{"proxies may hold a stream back", "streams/outlet.go", "	h.Set(\"X-Accel-Buffering\", \"no\")\n", "", "TestProxiesPassStreamsOn", []string{"./tests"}},
	}
}
