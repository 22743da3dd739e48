package main

// groupMutations take out what keeps the things of an organization its own, and shares by tags within bounds.
func groupMutations() []mutation {
	story := func(name, file, standing, instead, noticed string) mutation {
		return mutation{"group: " + name, "recordings/" + file, standing, instead, noticed, []string{"./recordings"}}
	}
	word := func(name, file, standing, instead, noticed string) mutation {
		return mutation{"group: " + name, "orgs/" + file, standing, instead, noticed, []string{"./orgs"}}
	}
	return []mutation{
		story("anybody makes what the organization shares", "groups.go", "return holder{p.UserID(), p.OrganizationID()}, p.Permit(auth.Publish)", "return holder{p.UserID(), p.OrganizationID()}, nil", "TestWhoChangesWhatIsShared"),
		story("anybody changes what the organization shares", "groups.go", "	if from.groupID != 0 {\n		if err := p.Permit(auth.Publish)", "	if from.groupID < 0 {\n		if err := p.Permit(auth.Publish)", "TestWhoChangesWhatIsShared"),
		story("another's organization is a group", "groups.go", "	case p.OrganizationID():", "	case p.OrganizationID(), given(groupID):", "TestWhoChangesWhatIsShared"),
		story("another organization's tags are to be had", "groups.go", " OR organization_id = ?)\", p.UserID(), p.OrganizationID())", " OR organization_id > 0)\", p.UserID())", "TestUseOfWhatIsShared"),
		story("who may change a recording shares it by a tag", "groups.go", "	case p.May(auth.AdministerMembers):", "	case p.UserID() != 0:", "TestTagsOnRecordingsOfOthers"),
		story("an editor takes off the tags of the owner", "tagging.go", "		Where(\"tag_id IN (?)\", usable(tx.Session(&gorm.Session{NewDB: true}).Model(&models.Tag{}), p).Select(\"id\")).\n", "", "TestTagsOnRecordingsOfOthers"),
		story("a replacement loses the tags of the owner", "tagging.go", "	after = append(after, unseen...)\n", "", "TestTagsOnRecordingsOfOthers"),
		story("a tag that left the group stays on others' recordings", "tags.go", "if edit.GroupID.Given && given(edit.GroupID.Value) == 0 {", "if edit.GroupID.Given && given(edit.GroupID.Value) < 0 {", "TestUseOfWhatIsShared"),
		story("a token shares by a tag without the scope", "groupshares.go", "	if !shared {\n		return nil\n	}\n	return p.Require(auth.Share)", "	if !shared {\n		return nil\n	}\n	return p.Require(auth.Read)", "TestATokenSharesByItsScope"),
		story("a token shares by a tag and waits", "groupshares.go", "shared = shared || !pending[person]", "shared = shared && !pending[person]", "TestATokenSharesNothingByWaiting"),
		story("a batch shares in part", "batch.go", "if len(batch.AddTags) > 0 || batch.FolderID.Value != nil {", "if len(batch.AddTags) < 0 {", "TestATokenSharesByItsScope"),
		story("a tag begins to share without the scope", "groupshares.go", "to.groupID == 0 || !s.InternalSharing ||", "to.groupID == 0 || s.InternalSharing ||", "TestATokenSharesByItsScope"),
		story("what is not complete is shared", "groupshares.go", " || now.Status != StatusCompleted", "", "TestWhenATagShares"),
		story("a tag shares while sharing is off", "groupshares.go", "!grow || !s.InternalSharing || now", "!grow || now", "TestWhenATagShares"),
		story("a disabled account is shared with", "groupshares.go", "organization_id = ? AND disabled_at IS NULL AND id <> ?", "organization_id = ? AND id <> ?", "TestWhatATagShares"),
		story("members may change what a tag shares", "groupshares.go", "canEdit: lead, source", "canEdit: true, source", "TestWhatATagShares"),
		story("who administers no more sees what is for who does", "scope.go", "	return \" AND \" + models.SharedWithEverybody", "	return \"\"", "TestWhatATagShares"),
		story("a stream outlives the share", "chatstream.go", "if asked.foreign {", "if asked.foreign && id == 0 {", "TestAStreamEndsWithTheShare"),
		story("who administers no more may still change what a tag shares", "groupshares.go", "(share.Source == ByHand || p.May(auth.AdministerMembers))", "p.UserID() != 0", "TestWhatATagShares"),
		story("hotwords have no end", "vocabulary.go", "length > room {\n			continue\n		}\n		joined", "length > room+1000000 {\n			continue\n		}\n		joined", "TestWordsGoToTheEngine"),
		word("a member accepts its own words out", "vocabulary.go", "		if row.AcceptedAt != nil || row.ProposedBy == nil", "		if row.ProposedBy == nil", "TestVocabulary"),
		word("another organization's word is found", "vocabulary.go", `tx.Where("id = ? AND organization_id = ?", id, p.OrganizationID())`, `tx.Where("id = ?", id)`, "TestVocabulary"),
		word("a proposal counts", "profile.go", "organization_id = ? AND accepted_at IS NOT NULL", "organization_id = ?", "TestVocabulary"),
		word("a word has several lines", "vocabulary.go", " || strings.ContainsFunc(text, partsWords)", "", "TestWordsHaveBounds"),
		word("the vocabulary grows without end", "vocabulary.go", "	if count >= MaxWords {", "	if count >= 10*MaxWords {", "TestTheVocabularyIsBounded"),
		{"group: a word stands unquoted", "llm/prompts/vocabulary.go", "lines[i] = strconv.Quote(word)", "lines[i] = strconv.Quote(word)[1:]", "TestGoldenRequests", []string{"./llm/prompts"}},
	}
}
