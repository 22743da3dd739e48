package main

// moneyMutations take out what keeps the bill bounded, and who may bound it.
func moneyMutations() []mutation {
	money := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "budgets/" + file, standing, instead, noticed, []string{"./budgets"}}
	}
	administration := func(name, file, standing, instead string) mutation {
		return mutation{name, file, standing, instead, walk, []string{"./tests"}}
	}
	return []mutation{
		money("money is held without looking whether it is there", "hold.go", "inForce.room(this(), asked).UpdateColumns(", "this().UpdateColumns(", "TestRoomForThreeOfThirty"),
		money("a model without a price is called under a budget", "hold.go", "		if !priced && inForce.micros != nil {", "		if !priced && inForce.micros != nil && user < 0 {", "TestAModelWithoutAPrice"),
		money("a call is settled twice", "call.go", `Where("id = ? AND sent AND calls = ?", hold.ID, hold.Calls)`, `Where("id = ?", hold.ID)`, "TestAnAnswerThatWasLostIsNotSettledTwice"),
		money("a charge goes beyond its hold", "call.go", "charged := least(used.amount(h.price), h.row.Call)", "charged := used.amount(h.price)", "TestAnEstimateIsCutInMoneyToo"),
		money("a provider's report is believed", "call.go", "reported.plausible() && within(reported.amount(h.price), h.row.Call)", "h.row.Sent", "TestWhatAProviderReports"),
		money("a call that died is free", "hold.go", "	if hold.Sent {", "	if hold.Sent && hold.ID < 0 {", "TestTheSweepEndsWhatDied"),
		money("a hold is swept that was renewed meanwhile", "sweep.go", `lockHold(tx.Where("id = ? AND held_until < "+b.db.Clock(0), hold.ID))`, `lockHold(tx.Where("id = ?", hold.ID))`, "TestAHoldThatIsRenewedMeanwhile"),
		money("a hold is not renewed", "hold.go", "return b.extend(tx, id, nil) })", "return nil })", "TestALongCallKeepsItsHold"),
		money("the month is that of UTC", "budgets.go", "local := now.In(zone)", "local := now.UTC()", "TestTheMonthOfTokyo"),
		administration("a role without the verb administers", "auth/authorize.go", "!p.May(row.Needs) || !p.administration", "!p.administration"),
		administration("a token without the mark administers", "auth/authorize.go", "!p.May(row.Needs) || !p.administration", "!p.May(row.Needs)"),
		{"an editor sees what the organization spends", "api/v1/usage.go", "if err := p.Permit(auth.ManageTeamBilling); err != nil {", "if err := p.Permit(auth.Publish); err != nil {", "TestUsageIsToldToWhoMaySeeIt", []string{"./api/v1"}},
		{"a member that is not known is passed over", "routes/strict.go", "	strict.DisallowUnknownFields()\n", "", "TestStrictBodiesNameWhatTheyDoNotKnow", []string{"./routes"}},
		{"an editor's token is made for administration", "tokens/create.go", "row.Administration && !auth.RoleMay(", "row.Administration && auth.RoleMay(\"\", auth.Publish) && !auth.RoleMay(", "TestTheMarkOfAdministration", []string{"./tokens"}},
		{"a token hands on a mark that it does not have", "tokens/create.go", " || made.Administration && !maker.Administration", "", "TestTheMarkOfAdministration", []string{"./tokens"}},
	}
}
