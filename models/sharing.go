package models

// SharedWithEverybody is true of an internal share s that does not hang on its person's administering the organization: one
// by hand, or of a recording that a tag or its folder shares with every member. The others are for who administers it now,
// so that a role that was taken away is felt at once.
const SharedWithEverybody = "(s.source = 'manual' OR " +
	"EXISTS (SELECT 1 FROM recording_tags g JOIN tags t ON t.id = g.tag_id WHERE g.recording_id = s.recording_id " +
	"AND t.organization_id IS NOT NULL AND t.auto_share_on_apply) OR " +
	"EXISTS (SELECT 1 FROM recordings h JOIN folders f ON f.id = h.folder_id WHERE h.id = s.recording_id " +
	"AND f.organization_id IS NOT NULL AND f.auto_share_on_apply))"
