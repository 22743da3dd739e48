package main

// sharingMutations take out what keeps a recording its owner's, and what is shared within what was given.
func sharingMutations() []mutation {
	const who, own, on, feed, lists, found = "TestWhoMaySeeAndChange", "TestWhatEverybodyHasForThemselves", "TestSharingOn", "TestFeedsOfWhatIsShared", "TestListsOfWhatIsShared", "TestSearchOfWhatIsShared"
	sharing := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "recordings/" + file, standing, instead, noticed, []string{"./recordings"}}
	}
	return []mutation{
		sharing("a colleague sees without a share", "access.go", "	case !shared:", "	case !shared && share.ID != 0:", who),
		sharing("who sees changes", "access.go", "wanted == editing && !mayEdit(p, share)", "wanted == editing && !mayEdit(p, share) && share.ID < 0", who),
		sharing("who sees ends", "access.go", "case wanted == owning, ", "case wanted == owning && share.ID < 0, ", who),
		sharing("what is switched off is shared", "access.go", "	if s.InternalSharing {", "	if s.InternalSharing || id > 0 {", who),
		sharing("a disabled owner shares", "access.go", `Where("EXISTS (SELECT 1 FROM users WHERE id = ? AND disabled_at IS NULL)", row.UserID).`, `Where("0 <> ?", row.UserID).`, who),
		sharing("a disabled recipient sees", "access.go", `Where("EXISTS (SELECT 1 FROM users WHERE id = ? AND disabled_at IS NULL)", p.UserID()).`, `Where("0 <> ?", p.UserID()).`, who),
		sharing("who is shared with makes public links", "access.go", "	if err == nil && row.UserID != p.UserID() {", "	if err == nil && row.UserID != p.UserID() && id < 0 {", who),
		sharing("the owner's notes are shown", "access.go", "row.Notes, row.IsInbox, row.IsHighlighted, row.IsArchived = state.Notes, ", "_, row.IsInbox, row.IsHighlighted, row.IsArchived = state.Notes, ", own),
		sharing("the owner's folder is shown", "access.go", "			row.FolderID = nil", "			_ = row", own),
		sharing("the owner's notes are written over", "access.go", "		delete(columns, string(field))", "		_ = field", own),
		sharing("the owner is told of others' notes", "change.go", "slices.DeleteFunc(fields, isPersonal)", "slices.DeleteFunc(fields, func(f Field) bool { return isPersonal(f) && f == \"\" })", own),
		sharing("addresses of the owner's speakers are shown", "voices.go", "if row.UserID == p.UserID() {", "if row.UserID != 0 {", own),
		sharing("the owner's speakers are told", "transcript.go", "	if row.UserID != p.UserID() {", "	if row.UserID == 0 {", own),
		sharing("the owner's copies are told", "view.go", "	if row.UserID != p.UserID() {", "	if row.UserID == 0 {", own),
		sharing("somebody gives more than they have", "sharing.go", "own != nil && wish.CanEdit && !own.CanEdit", "own != nil && wish.CanEdit && !own.CanEdit && id < 0", on),
		sharing("who may not share on does", "sharing.go", "!shared || !share.CanReshare", "!shared", on),
		sharing("another organization is shared with", "sharing.go", `"organization_id = ? AND disabled_at IS NULL"`, `"organization_id <> -? AND disabled_at IS NULL"`, on),
		sharing("anybody ends a share", "sharing.go", " || row.UserID != p.UserID() && shares[at].GrantedBy != p.UserID()", "", on),
		sharing("what was shared on stays", "internalshares.go", " && (share.Source != ByHand || !over[share.GrantedBy])", "", on),
		sharing("the feed is not told of an end", "internalshares.go", "return ended, tell(tx, row.ID, people, ReasonAccessRevoked, row.UpdatedAt)", "return ended, tell(tx, row.ID, people[:0], ReasonAccessRevoked, row.UpdatedAt)", feed),
		sharing("the feed is not told of a deletion", "tombstones.go", "return at, tell(tx, row.ID, people, reason, at)", "return at, tell(tx, row.ID, people[:0], reason, at)", feed),
		sharing("a feed tells of the other scope", "changes.go", `Where("shared IN ?", whose).`, "", feed),
		sharing("what is at work is listed", "scope.go", "status = 'COMPLETED' AND id IN", "status <> '' AND id IN", lists),
		sharing("a disabled owner's are listed", "scope.go", "owner.disabled_at IS NOT NULL", "owner.id < 0", lists),
		sharing("a tag that is not seen keeps", "scope.go", "t.user_id = ? AND t.organization_id IS NULL OR", "t.user_id <> -? AND t.organization_id IS NULL OR", lists),
		sharing("the owner's notes are found", "search_shared.go", " || Field(part.Field) == FieldNotes && part.UserID != 0", "", found),
		sharing("what an erased account gave ends untold", "eraseaccount.go", "s.endSharesOf(ctx, id)", "s.endSharesOf(ctx, -id)", "TestSharesOfAnErasedAccount"),
		sharing("the owner pays", "asker.go", "UserID: by.account(row)", "UserID: row.UserID", "TestWhoAsksPays"),
		sharing("the model reads on", "inquire.go", "q.narrow(s.inScope(db.Model(&models.Recording{}), p, q.Scope), p)", `q.narrow(db.Model(&models.Recording{}).Where("organization_id = ?", p.OrganizationID()), p)`, "TestAShareEndsDuringAnAnswer"),
		sharing("the model reads the owner's notes", "inquiretools.go", "return rows[0], asSeen(at.db, at.p, rows)", "return rows[0], nil", "TestAShareEndsDuringAnAnswer"),
	}
}
