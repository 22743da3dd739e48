package recordings_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
)

// followBy is a page of a caller's feed in short, with the reasons of deletions.
func (r *rig) followBy(p auth.Principal, scope recordings.Scope, cursor string) (page recordings.Changes, short string) {
	r.t.Helper()
	page, err := r.recordings.Follow(r.t.Context(), p, recordings.Following{Cursor: cursor, Limit: 100, Scope: scope})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, change := range page.Changes {
		if change.Recording == nil {
			short += fmt.Sprintf("-%d:%s ", change.Gone.ID, change.Gone.Reason)
		} else {
			short += "+" + *change.Recording.Title + " "
		}
	}
	return page, strings.TrimSpace(short)
}

// Rule: a new share arrives as an upsert, its end as access_revoked and the recording's end as deleted, each in the feeds
// of what is shared alone; what was the caller's own is told to those who follow their own.
func TestFeedsOfWhatIsShared(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, c := feedRig(t, url)
		r.recordings.InternalSharing = true
		grace, by := r.member("grace")
		talk, call := r.put(0, "talk", c.Now()), r.put(0, "call", c.Now())
		mine := r.user
		r.user = grace
		own := r.put(0, "own", c.Now())
		r.user = mine
		c.Advance(settle)
		cursors := map[recordings.Scope]string{}
		told := func(when string, want map[recordings.Scope]string) {
			t.Helper()
			c.Advance(settle + time.Millisecond)
			for scope, wanted := range want {
				page, short := r.followBy(by, scope, cursors[scope])
				if short != wanted {
					t.Errorf("%s, scope %s: %q, want %q", when, scope, short, wanted)
				}
				cursors[scope] = page.Next
			}
		}
		told("at first", map[recordings.Scope]string{recordings.ScopeOwn: "+own", recordings.ScopeShared: "", recordings.ScopeAll: "+own"})
		r.shareWith(r.owner, talk, grace, false, false)
		r.shareWith(r.owner, call, grace, false, false)
		c.Advance(time.Second)
		told("shared", map[recordings.Scope]string{recordings.ScopeOwn: "", recordings.ScopeShared: "+talk +call", recordings.ScopeAll: "+talk +call"})
		if _, err := r.recordings.EndInternalShareWith(t.Context(), r.owner, talk, grace.ID); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Second)
		r.drop(call)
		if err := r.recordings.Delete(t.Context(), by, own); err != nil {
			t.Fatal(err)
		}
		ends := fmt.Sprintf("-%d:access_revoked -%d:deleted", talk, call)
		told("ended", map[recordings.Scope]string{
			recordings.ScopeOwn: fmt.Sprintf("-%d:deleted", own), recordings.ScopeShared: ends, recordings.ScopeAll: ends + fmt.Sprintf(" -%d:deleted", own),
		})
		r.shareWith(r.owner, talk, grace, false, false)
		told("shared again", map[recordings.Scope]string{recordings.ScopeOwn: "", recordings.ScopeShared: "+talk"})
		r.put(talk, "TALK", c.Now())
		told("changed", map[recordings.Scope]string{recordings.ScopeOwn: "", recordings.ScopeShared: "+TALK"})
		r.recordings.InternalSharing = false
		r.put(talk, "off", c.Now())
		told("switched off", map[recordings.Scope]string{recordings.ScopeShared: "", recordings.ScopeAll: ""})
	})
}

// listBy lists what a caller sees in short.
func (r *rig) listBy(p auth.Principal, filter recordings.Filter) string {
	r.t.Helper()
	page, err := r.recordings.List(r.t.Context(), p, filter)
	if err != nil {
		r.t.Fatal(err)
	}
	var titles []string
	for _, shown := range page.Recordings {
		titles = append(titles, *shown.Title)
	}
	return fmt.Sprintf("%s of %d", strings.Join(titles, " "), page.Total)
}

// Rule: a list has what its scope says, in one order and in pages that repeat and skip nothing, by the caller's own marks
// and by tags and folders that the caller sees.
func TestListsOfWhatIsShared(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, c := feedRig(t, url)
		r.recordings.InternalSharing, r.recordings.ShowUsernames = true, true
		grace, by := r.member("grace")
		mine := r.user
		ids := map[string]int64{}
		for i, title := range []string{"a", "B", "c", "D", "e", "F"} { // capitals are Grace's own
			if r.user = mine; i%2 == 1 {
				r.user = grace
			}
			c.Advance(time.Second)
			ids[title] = r.put(0, title, c.Now())
		}
		r.user = mine
		for _, title := range []string{"a", "c"} {
			r.shareWith(r.owner, ids[title], grace, title == "a", false)
		}
		tag, folder := r.makeTags(r.user, 1)[0], r.makeFolder(r.user, "secret")
		r.write(func(tx *gorm.DB) error {
			if err := tx.Create(&models.RecordingTag{RecordingID: ids["a"], TagID: tag}).Error; err != nil {
				return err
			}
			return tx.Model(&models.Recording{}).Where("id = ?", ids["a"]).Update("folder_id", folder).Error
		})
		if _, err := r.recordings.Patch(t.Context(), by, ids["c"], nil, recordings.Patch{IsHighlighted: new(true), IsInbox: new(false)}); err != nil {
			t.Fatal(err)
		}
		shared, all := recordings.ScopeShared, recordings.ScopeAll
		for name, row := range map[string]struct {
			filter recordings.Filter
			want   string
		}{
			"own by itself":         {recordings.Filter{}, "F D B of 3"},
			"shared":                {recordings.Filter{Scope: shared}, "c a of 2"},
			"all":                   {recordings.Filter{Scope: all}, "F D c B a of 5"},
			"all, second page":      {recordings.Filter{Scope: all, PerPage: 2, Page: 2}, "c B of 5"},
			"all, last page":        {recordings.Filter{Scope: all, PerPage: 2, Page: 3}, "a of 5"},
			"all by title":          {recordings.Filter{Scope: all, SortBy: "title", Ascending: true, PerPage: 3}, "B D F of 5"},
			"all by meeting":        {recordings.Filter{Scope: all, SortBy: "meeting_date"}, "F D c B a of 5"},
			"starred":               {recordings.Filter{Scope: shared, Starred: new(true)}, "c of 1"},
			"in the inbox":          {recordings.Filter{Scope: shared, Inbox: new(true)}, "a of 1"},
			"not archived":          {recordings.Filter{Scope: all, Archived: new(false)}, "F D c B a of 5"},
			"text":                  {recordings.Filter{Scope: all, Text: "C"}, "c of 1"},
			"the owner's tag":       {recordings.Filter{Scope: shared, Tag: tag}, " of 0"},
			"the owner's folder":    {recordings.Filter{Scope: shared, Folder: folder}, " of 0"},
			"in no folder seen":     {recordings.Filter{Scope: shared, NoFolder: true}, "c a of 2"},
			"of the owner":          {recordings.Filter{Scope: all, Owner: &r.user.ID}, "c a of 2"},
			"of the caller":         {recordings.Filter{Scope: all, Owner: &grace.ID}, "F D B of 3"},
			"failed":                {recordings.Filter{Scope: all, Statuses: []string{recordings.StatusFailed}}, " of 0"},
			"nothing of a stranger": {recordings.Filter{Scope: all, Owner: new(int64(999999))}, " of 0"},
		} {
			if got := r.listBy(by, row.filter); got != row.want {
				t.Errorf("%s: %q, want %q", name, got, row.want)
			}
		}
		page, err := r.recordings.List(t.Context(), by, recordings.Filter{Scope: shared, SortBy: "title", Ascending: true})
		if err != nil {
			t.Fatal(err)
		}
		first := page.Recordings[0]
		if first.Owner == nil || first.Owner.ID != r.user.ID || *first.Owner.Username != "owner" || first.Share == nil || !first.Share.CanEdit || first.Share.Source != "manual" || len(first.Tags) != 0 || first.FolderID != nil {
			t.Errorf("the shared recording is shown as %+v", first)
		}
		r.write(func(tx *gorm.DB) error {
			return tx.Model(&models.Recording{}).Where("id = ?", ids["a"]).Update("status", "QUEUED").Error
		})
		if got := r.listBy(by, recordings.Filter{Scope: shared}); got != "c of 1" {
			t.Errorf("one at work is listed: %q", got)
		}
		r.disable(r.user, true)
		if got := r.listBy(by, recordings.Filter{Scope: all}); got != "F D B of 3" {
			t.Errorf("of a disabled owner: %q", got)
		}
		r.disable(r.user, false)
		r.recordings.InternalSharing = false
		if got := r.listBy(by, recordings.Filter{Scope: all}) + r.listBy(by, recordings.Filter{Scope: shared}); got != "F D B of 3 of 0" {
			t.Errorf("switched off: %q", got)
		}
	})
}

// Rule: what is shared is searched as it is seen: the caller's own notes, and never the owner's.
func TestSearchOfWhatIsShared(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", sharing)
		grace, by := r.member("grace")
		talk := r.said(r.user, "Owner's talk", time.Now(), "Ada: the pear is ripe")
		r.said(r.user, "kept", time.Now(), "Ada: the pear is mine")
		r.said(grace, "Grace's talk", time.Now(), "Bob: a pear tree")
		r.texts(talk, map[string]any{"notes": "secret apple"})
		r.shareWith(r.owner, talk, grace, false, false)
		for _, state := range []string{"behind", "indexed"} {
			if state == "indexed" {
				r.index()
			}
			found := func(scope recordings.Scope, text string) string {
				page, err := r.recordings.Search(t.Context(), by, recordings.Query{Text: text, Scope: scope})
				if err != nil {
					t.Fatal(err)
				}
				var hits []string
				for _, hit := range page.Hits {
					hits = append(hits, *hit.Title+":"+string(hit.Field)+":"+hit.Text)
				}
				return strings.Join(hits, "|")
			}
			patch := func(notes *string) {
				t.Helper()
				_, err := r.recordings.Patch(t.Context(), by, talk, nil, recordings.Patch{Notes: recordings.Edit[string]{Given: true, Value: notes}})
				if err != nil {
					t.Fatal(err)
				}
			}
			patch(nil)
			for _, row := range []struct {
				scope      recordings.Scope
				text, want string
			}{
				{recordings.ScopeOwn, "pear", "Grace's talk:transcript:a pear tree"},
				{recordings.ScopeShared, "pear", "Owner's talk:transcript:the pear is ripe"},
				{recordings.ScopeShared, "secret", ""},
				{recordings.ScopeAll, "secret apple", ""},
				{recordings.ScopeShared, "pear apple", ""}, // a word of the owner's notes makes no hit of another
			} {
				if got := found(row.scope, row.text); got != row.want {
					t.Errorf("%s, scope %s, %s: %q, want %q", state, row.scope, row.text, got, row.want)
				}
			}
			if got := found(recordings.ScopeAll, "pear"); strings.Count(got, "|") != 1 {
				t.Errorf("%s, both: %q", state, got)
			}
			patch(new("my cherry"))
			if got := found(recordings.ScopeShared, "cherry"); got != "Owner's talk:notes:my cherry" {
				t.Errorf("%s, the caller's notes: %q", state, got)
			}
			if got := found(recordings.ScopeShared, "apple"); got != "" {
				t.Errorf("%s, the owner's notes beside the caller's: %q", state, got)
			}
		}
	})
}
