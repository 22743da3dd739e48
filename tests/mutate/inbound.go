package main

// inboundMutations take out what stands before recordings that nobody uploads.
func inboundMutations() []mutation {
	routes := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, file, standing, instead, noticed, []string{"./routes"}}
	}
	story := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "recordings/" + file, standing, instead, noticed, []string{"./recordings"}}
	}
	keys := func(name, standing, instead, noticed string) mutation {
		return mutation{name, "integrations/integrations.go", standing, instead, noticed, []string{"./integrations"}}
	}
	return []mutation{
		routes("a late row answers without admission", "routes/late.go", "if !late.Admitted() {", "if false {", "TestAnAnswerWithoutAdmissionIsAFault"),
		routes("an address is not charged for what it declares", "auth/late.go", "min(lateUnits, max(leastLateUnits, (declared+1<<20-1)>>20))", "1", "TestAnAddressIsChargedForWhatItDeclares"),
		routes("an undeclared body costs nothing", "auth/late.go", "weight := int64(lateUnits)", "weight := int64(1)", "TestAnAddressIsChargedForWhatItDeclares"),
		routes("a secret without the scope opens", "auth/late.go", " || g.authorize(p, *v.rule) != nil {", " {", "TestTheProbeFindsNothing"),
		routes("a revoked secret opens", "auth/late.go", `g.faultOf(token, found) != "" || `, "!found || ", "TestTheProbeFindsNothing"),
		routes("a caller found by its body meets no limit", "auth/late.go", "v.rule.byToken, 1)", "nil, 1)", "TestTheProbeFindsNothing"),
		routes("an address that posts meets no limit", "auth/late.go", "[]*limits.Plan{limits.Recorder}", "nil", "TestTheProbeFindsNothing"),
		routes("any signature holds", "routes/signed.go", "if hmac.Equal(mac.Sum(nil), said.signature) && found {", "if mac.Size() > 0 && found {", "TestEveryFaultOfADelivery"),
		routes("a refusal tells by its time which integrations there are", "routes/signed.go", "	if !found {\n", "	if !found {\n		return nil, nil\n	}\n	if !found {\n", "TestAnUnknownIntegrationIsWeighedToo"),
		routes("a broken signature counts as far as it goes", "routes/signed.go", "DecodeString(digits); err == nil {", "DecodeString(digits); err == nil || len(signature) > 0 {", "TestEveryFaultOfADelivery"),
		routes("a body may drip", "routes/body.go", "if b.least > 0 {", "if b.least < 0 {", "TestABodyThatDripsIsRefused"),
		routes("a signer is not looked up again", "routes/signed.go", "		now, found, err := t.signing.Keys.FindKey(ctx, name)\n", "		now, found, err := key, true, error(nil)\n", "TestASignerIsWhoItIsWhenTheBodyIsHere"),
		routes("a secret of before the rotation signs what was on its way", "routes/signed.go", "return hmac.Equal(counting, secret)", "return len(counting) > 0", "TestASignerIsWhoItIsWhenTheBodyIsHere"),
		routes("a signer does not last", "auth/signed.go", "			p.present = present\n", "", "TestASignerIsWhoItIsWhenTheBodyIsHere"),
		routes("who is let in by a form stays in", "auth/late.go", "return l.lasting(), nil", "return v.principal, nil", "TestWhoIsLetInByAFormMayBeOutBeforeItsFileIsHere"),
		story("files that are sent slowly take the places of transcriptions", "import.go", "river.InsertOpts{Queue: jobs.Imports}", "river.InsertOpts{Queue: jobs.Long}", "TestSlowImportsKeep"),
		routes("an old delivery is taken", "routes/signed.go", "away <= t.signing.Window && ", "", "TestADeliveryIsFresh"),
		routes("a delivery of the future is taken", "routes/signed.go", " && away >= -t.signing.Window", "", "TestADeliveryIsFresh"),
		routes("an id may hold a dot", "routes/signed.go", " || c == '.' })", " })", "TestEveryFaultOfADelivery"),
		routes("a delivery has two ids", "routes/signed.go", "len(values) == 1", "len(values) > 0", "TestEveryFaultOfADelivery"),
		routes("a spooled delivery stays", "routes/signed.go", "(Verified)\n				if !ok {", "(Verified)\n				if !ok || verified.Body != nil {", "TestASignedDelivery"),
		routes("an encoding decides before the signature", "auth/signed.go", "checkSize(c.Request(), row)", "checkDeclared(c.Request(), row)", "TestADeliveryIsBounded"),
		{"the spool has no bound", "spool/spool.go", "if bytes > s.most-s.used {", "if bytes < 0 {", "TestSpoolKeepsItsBound", []string{"./spool"}},
		{"the spool never gives back", "spool/spool.go", "	f.spool.give(f.taken)\n", "", "TestSpoolKeepsItsBound", []string{"./spool"}},

		story("a busy server is asked every second for a day", "importwork.go", "max(n.wait, age/10)", "n.wait", "TestABusyServerIsAsked"),
		story("slow imports take the places of their organization", "importwork.go", "s.Slots.Beside(jobs.Imports)", "s.Slots", "TestSlowImportsKeep"),
		story("a body that breaks off behind its form is taken", "form.go", "return fields, meter.drain()", "return fields, nil", "TestAFormIsReadToTheEnd"),
		story("a broken body is answered as a stop", "form.go", "if m.err != nil && errors.Is(err, context.Canceled) {", "if m.err == nil && err != nil && errors.Is(err, context.Canceled) {", "TestAFormIsReadToTheEnd"),
		story("a file without a name is dropped", "recorder.go", `{"file", "file_name",`, `{"file_name",`, "TestRecorderConnectionTest"),
		story("a recorder's file is stored before its sender is known", "recorder.go", `if _, sent := before["secret"]; sent {`, `if _, sent := before[""]; sent {`, "TestRecorderKeepsNothingOfStrangers"),
		story("a recorder's retry makes another recording", "recorder.go", "return s.bind(tx, row, key, same)", "return nil", "TestRacingRecorders|TestRecorder$"),
		story("a recorder's late retry makes another recording", "recorder.go", "earlier == 0 && said.date != nil", "earlier == 0 && said.any && said.date == nil", "TestRecorderKnowsADate"),
		story("a lost job stays lost", "recorder.go", "if err != nil || there {", "if err != nil || row.ID > 0 || there {", "TestARetryRevivesALostJob"),
		story("a delivery is accepted twice", "deliver.go", "return s.remember(tx, seen)", "return nil", "TestADeliveryIsAcceptedOnce"),
		story("deliveries are kept for ever", "deliver.go", `"integration_id = ? AND expires_at <= ?"`, `"integration_id = -? AND expires_at <= ?"`, "TestDeliveriesAreForgotten"),
		story("an address is not judged when it is asked for", "import.go", `Judge(ctx, wish.Address, true); reason != "" {`, `Judge(ctx, wish.Address, true); reason == "-" {`, "TestImportsAreJudged"),
		story("an address is stored as it is", "import.go", "Address: address}", "Address: address[:0] + wish.Address}", "TestImport$"),
		story("an import is followed elsewhere", "importwork.go", "case status >= 300 && status < 400:", "case status == 399:", "TestImportsFail"),
		story("a declared size is not looked at", "importwork.go", "answer.ContentLength > most", "false", "TestImportsFail"),
		story("a silent server is waited for", "importwork.go", "time.AfterFunc(s.Imports.Stall, cancel)", "time.AfterFunc(s.Imports.Stall, func() {})", "TestImportsFail"),
		story("an imported address is never forgotten", "importwork.go", `return tx.Where("recording_id = ?", job.Args.RecordingID).Delete(&models.RecordingImport{}).Error`, "return nil", "TestImportsFail"),

		keys("anybody manages the organization's integrations", "if p.May(auth.ManageIntegrations) {", "if p.UserID() != 0 {", "TestWhoMayManage"),
		keys("anybody makes one of the organization", "if err := p.Permit(auth.ManageIntegrations); err != nil {", "if err := error(nil); err != nil {", "TestWhoMayManage"),
		keys("integrations have no cap", "if count >= MaxEach {", "if count < 0 {", "TestIntegrationsAreBounded"),
		keys("a disabled account's key counts", " AND users.disabled_at IS NULL", "", "TestKeys"),
		keys("a key counts while its integration is off", " AND integrations.enabled", "", "TestKeys"),
		keys("an old key counts for ever", " && i.now().Before(*row.PreviousUntil) {\n		counting", " {\n		counting", "TestKeys"),
	}
}
