package main

// disablingMutations take out what ends the work of accounts, and what keeps their erasure whole.
func disablingMutations() []mutation {
	story := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "recordings/" + file, standing, instead, noticed, []string{"./recordings"}}
	}
	return []mutation{
		story("work for a disabled account goes on", "watch.go", "users.disabled_at IS NULL AND users.id IN ?", "users.id IN ?", "TestWorkForADisabledAccountStops"),
		story("work for a disabled account begins", "watch.go", "err == nil && account.DisabledAt != nil {", "err == nil && account.ID < 0 {", "TestAnOldJobIsNotBegunAnew"),
		story("an account is erased that nobody marked", "eraseaccount.go", `Where("id = ? AND erasing_at IS NOT NULL", id).Count(&marked)`, `Where("id = ?", id).Count(&marked)`, "TestOnlyAMarkedAccountIsErased"),
		story("another organization's job is tried again", "givenup.go", "s.Queue.FindGivenUp(tx, organizationID, id)\n		if err != nil {", "s.Queue.FindGivenUp(tx, 0, id)\n		if err != nil {", "TestRetryingAJobThatGaveUp"),
		story("a job begins anew for a disabled account", "givenup.go", "	if owner.DisabledAt != nil {", "	if owner.DisabledAt != nil && owner.ID < 0 {", "TestRetryingAJobThatGaveUp"),
		story("a job begins anew whose recording is done", "givenup.go", "	if row.Status != StatusFailed {", "	if row.Status != StatusFailed && row.ID < 0 {", "TestAnOldSummaryIsNotBegunAnew"),
		{"the last administrator of the instance is erased", "accounts/erase.go", "if err == nil && others == 0 {", "if err == nil && others < 0 {", "TestTheLastAdministratorIsNotErased", []string{"./accounts"}},
	}
}

// settingMutations take out what holds system settings to their bounds, and what they do.
func settingMutations() []mutation {
	return []mutation{
		{"a setting is kept that is out of bounds", "settings/table.go", "	case value >= least && value <= most && value != 0:", "	case value != 0:", "TestASettingHasBounds", []string{"./settings"}},
		{"a text is kept that is too long", "settings/table.go", "utf8.RuneCountInString(value) > *s.Bounds.MaxLength", "utf8.RuneCountInString(value) > 1<<30", "TestASettingHasBounds", []string{"./settings"}},
		{"a table that changed is not read again", "models/snapshot.go", "last.count == counter.Value", "last.count <= counter.Value", "TestASnapshotFollowsItsCounter", []string{"./models"}},
		{"the bound of a text is gone", "problems/text.go", "utf8.RuneCountInString(text) > most", "utf8.RuneCountInString(text) > 1<<30", "TestWhatIsWrongWithAText", []string{"./problems"}},
		{"what never mends is waited for", "providers/failure.go", " || failure.Permanent {\n\t\treturn 0", " {\n\t\treturn 0", "TestAWaitIsForWhatMayBeMended", []string{"./providers"}},
		{"a change is not told to other processes", "settings/settings.go", "models.RaiseCounter(tx, models.SettingsCounter)", "models.RaiseCounter(tx, models.FiguresCounter)", "TestASettingIsHeardOfEverywhereWithinASecond", []string{"./settings"}},
		{"an upload is held to the configuration alone", "recordings/standing.go", "min(s.MaxUploadBytes, int64(s.standing().MaxFileSizeMB)<<20)", "s.MaxUploadBytes", "TestTheSettingOfTheLargestFile", []string{"./recordings"}},
		{"a model that is not listed is named", "recordings/standing.go", "	if nameable(standing, given(hints.Model)) {", "	if true {", "TestTheSettingOfModels", []string{"./recordings"}},
		{"a folder is made while they are switched off", "api/v1/foldersoff.go", "err != nil {", "err != nil && c == nil {", "TestFoldersAreSwitchedOff", []string{"./api/v1"}},
	}
}
