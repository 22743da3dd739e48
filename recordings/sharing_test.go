package recordings_test

import (
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// sharing lets accounts share with each other.
func sharing(s *settings) { s.recordings.InternalSharing = true }

// member makes an account in the owner's organization.
func (r *rig) member(name string) (models.User, auth.Principal) {
	r.t.Helper()
	user := models.User{
		OrganizationID: r.user.OrganizationID, Email: name + "@example.org", Username: name, PasswordHash: "-", Role: "editor", CreatedAt: time.Now().UTC(),
	}
	r.write(func(tx *gorm.DB) error { return tx.Create(&user).Error })
	return user, r.principal(user, "full")
}

// shareWith shares a recording as the owner does, unless it says who.
func (r *rig) shareWith(by auth.Principal, id int64, with models.User, canEdit, canReshare bool) recordings.InternalShare {
	r.t.Helper()
	made, err := r.recordings.ShareInternally(r.t.Context(), by, id, recordings.InternalShareWish{
		With: recordings.Person{ID: with.ID}, CanEdit: canEdit, CanReshare: canReshare,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

// story is something that a caller may want of a recording.
type story struct {
	name string
	run  func(r *rig, p auth.Principal, id int64) error
}

func seeingStories() []story {
	return []story{
		{"detail", func(r *rig, p auth.Principal, id int64) error {
			_, err := r.recordings.Find(r.t.Context(), p, id, true)
			return err
		}},
		{"status", func(r *rig, p auth.Principal, id int64) error {
			_, err := r.recordings.Status(r.t.Context(), p, id)
			return err
		}},
		{"texts", func(r *rig, p auth.Principal, id int64) error {
			_, err := r.recordings.Show(r.t.Context(), p, id)
			return err
		}},
		{"transcript", func(r *rig, p auth.Principal, id int64) error {
			_, err := r.recordings.Transcript(r.t.Context(), p, id)
			return err
		}},
		{"voices", func(r *rig, p auth.Principal, id int64) error {
			_, err := r.recordings.Voices(r.t.Context(), p, id)
			return err
		}},
		{"events", func(r *rig, p auth.Principal, id int64) error {
			_, _, err := r.recordings.Events(r.t.Context(), p, id)
			return err
		}},
		{"references", func(r *rig, p auth.Principal, id int64) error {
			_, err := r.recordings.Refs(r.t.Context(), p, id)
			return err
		}},
		{"own notes", func(r *rig, p auth.Principal, id int64) error {
			_, err := r.recordings.Patch(r.t.Context(), p, id, nil, recordings.Patch{Notes: recordings.Edit[string]{Given: true, Value: new("mine")}})
			return err
		}},
		{"own flags", func(r *rig, p auth.Principal, id int64) error {
			_, err := r.recordings.Patch(r.t.Context(), p, id, nil, recordings.Patch{IsInbox: new(false)})
			return err
		}},
	}
}

func editingStories() []story {
	return []story{
		{"title", func(r *rig, p auth.Principal, id int64) error {
			_, err := r.recordings.Patch(r.t.Context(), p, id, nil, recordings.Patch{Title: recordings.Edit[string]{Given: true, Value: new("ours")}})
			return err
		}},
		{"summary with notes", func(r *rig, p auth.Principal, id int64) error {
			_, err := r.recordings.Patch(r.t.Context(), p, id, nil, recordings.Patch{
				Notes: recordings.Edit[string]{Given: true, Value: new("m")}, Summary: recordings.Edit[string]{Given: true, Value: new("s")},
			})
			return err
		}},
		{"tags", func(r *rig, p auth.Principal, id int64) error {
			_, err := r.recordings.ReplaceTags(r.t.Context(), p, id, nil, nil)
			return err
		}},
		{"batch of tags", func(r *rig, p auth.Principal, id int64) error {
			outcomes, err := r.recordings.PatchBatch(r.t.Context(), p, []int64{id}, recordings.BatchPatch{RemoveTags: []int64{1}})
			if err == nil && outcomes[0].Err != nil {
				return outcomes[0].Err
			}
			return err
		}},
		{"reference", func(r *rig, p auth.Principal, id int64) error {
			_, _, err := r.recordings.AddRef(r.t.Context(), p, id, recordings.ExternalRef{System: "crm", Kind: "case", Ref: "1"})
			return err
		}},
		{"speakers", func(r *rig, p auth.Principal, id int64) error {
			_, _, err := r.recordings.AssignSpeakers(r.t.Context(), p, id, nil, []recordings.Assignment{{Label: "SPEAKER_00", Name: "Ada"}}, false)
			return err
		}},
	}
}

func owningStories() []story {
	return []story{
		{"audio", func(r *rig, p auth.Principal, id int64) error {
			_, err := r.recordings.DeleteAudio(r.t.Context(), p, id)
			return err
		}},
		{"deletion", func(r *rig, p auth.Principal, id int64) error { return r.recordings.Delete(r.t.Context(), p, id) }},
	}
}

// Rule: who has no share of a recording finds none; who sees it may not change it, who may change it does not end it, and
// the switch, the share and both accounts must stand for it.
func TestWhoMaySeeAndChange(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", sharing)
		viewer, seer := r.member("viewer")
		editor, changer := r.member("editor")
		_, nobody := r.member("nobody")
		stranger := r.principal(r.account("stranger"), "full")
		id := r.said(r.user, "talk", time.Now(), "hello")
		r.shareWith(r.owner, id, viewer, false, false)
		r.shareWith(r.owner, id, editor, true, false)

		missing := func(when string, p auth.Principal) {
			for _, stories := range [][]story{seeingStories(), editingStories(), owningStories()} {
				for _, s := range stories {
					if err := s.run(r, p, id); refusal(err) != problems.NotFound {
						t.Errorf("%s, %s: %v, want not_found", when, s.name, err)
					}
				}
			}
		}
		missing("a colleague without a share", nobody)
		missing("somebody of another organization", stranger)
		r.recordings.InternalSharing = false
		missing("sharing switched off", changer)
		r.recordings.InternalSharing = true
		r.disable(r.user, true)
		missing("the owner is disabled", changer)
		r.disable(r.user, false)
		r.disable(editor, true)
		missing("the recipient is disabled", changer)
		r.disable(editor, false)

		for _, s := range seeingStories() {
			if err := s.run(r, seer, id); err != nil {
				t.Errorf("who sees it, %s: %v", s.name, err)
			}
		}
		for _, stories := range [][]story{editingStories(), owningStories()} {
			for _, s := range stories {
				if err := s.run(r, seer, id); refusal(err) != problems.InsufficientPermission {
					t.Errorf("who only sees it, %s: %v, want insufficient_permission", s.name, err)
				}
			}
		}
		for _, s := range editingStories() {
			if err := s.run(r, changer, id); err != nil {
				t.Errorf("who may change it, %s: %v", s.name, err)
			}
		}
		for _, s := range owningStories() {
			if err := s.run(r, changer, id); refusal(err) != problems.InsufficientPermission {
				t.Errorf("who may change it, %s: %v, want insufficient_permission", s.name, err)
			}
		}
		if _, err := r.recordings.Share(t.Context(), changer, id, recordings.ShareWish{}); refusal(err) != problems.NotFound {
			t.Errorf("a public link of another's: %v, want not_found", err)
		}
	})
}

// Rule: notes, flags, references and private tags are everybody's own; the owner's are never shown, changed, or announced.
func TestWhatEverybodyHasForThemselves(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", sharing)
		editor, changer := r.member("editor")
		id := r.said(r.user, "talk", time.Now(), "A: hello")
		r.said(r.user, "the same bytes", time.Now(), "A: hello")
		if _, err := r.recordings.AddSpeaker(t.Context(), r.owner, recordings.SpeakerChange{Name: new("Ada"), Email: new("ada@example.org")}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.recordings.AssignSpeakers(t.Context(), r.owner, id, nil, []recordings.Assignment{{Label: "A", Name: "Ada"}}, false); err != nil {
			t.Fatal(err)
		}
		tag := r.makeTags(r.user, 1)[0]
		folder := r.makeFolder(r.user, "secret")
		if _, err := r.recordings.AddTags(t.Context(), r.owner, id, []int64{tag}); err != nil {
			t.Fatal(err)
		}
		_, err := r.recordings.Patch(t.Context(), r.owner, id, nil, recordings.Patch{
			Notes: recordings.Edit[string]{Given: true, Value: new("the owner's")}, IsHighlighted: new(true), IsInbox: new(false),
			FolderID: recordings.Edit[int64]{Given: true, Value: &folder},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.recordings.AddRef(t.Context(), r.owner, id, recordings.ExternalRef{System: "crm", Kind: "case", Ref: "owner"}); err != nil {
			t.Fatal(err)
		}
		r.shareWith(r.owner, id, editor, true, false)
		before := len(r.announced(id))
		shown, err := r.recordings.Find(t.Context(), changer, id, true)
		if err != nil {
			t.Fatal(err)
		}
		s := shown.Recording
		if s.Notes != nil || s.IsHighlighted || !s.IsInbox || s.FolderID != nil || s.Folder != nil || len(s.Tags) != 0 || len(s.ExternalRefs) != 0 {
			t.Errorf("the recipient sees what is the owner's: %+v", s)
		}
		voices, err := r.recordings.Voices(t.Context(), changer, id)
		if err != nil || len(voices.List) != 1 || voices.List[0].Label != "Ada" || voices.List[0].SpeakerID != nil || voices.List[0].Email != nil {
			t.Errorf("the recipient sees whom the owner knows: %+v, %v", voices, err)
		}
		transcript, err := r.recordings.Transcript(t.Context(), changer, id)
		if err != nil || *transcript.Segments[0].Speaker != "Ada" || transcript.Segments[0].SpeakerID != nil || len(shown.Copies) != 0 {
			t.Errorf("the recipient sees whom or what else the owner has: %+v, %v, %v", transcript, shown.Copies, err)
		}
		_, err = r.recordings.Patch(t.Context(), changer, id, nil, recordings.Patch{
			Notes: recordings.Edit[string]{Given: true, Value: new("the editor's")}, IsArchived: new(true),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.recordings.AddRef(t.Context(), changer, id, recordings.ExternalRef{System: "crm", Kind: "case", Ref: "editor"}); err != nil {
			t.Fatal(err)
		}
		row, _ := r.row(id)
		if *row.Notes != "the owner's" || row.IsArchived || !row.IsHighlighted || row.FolderID == nil {
			t.Errorf("the recipient has changed the owner's: %+v", row)
		}
		if told := len(r.announced(id)); told != before {
			t.Errorf("the owner is told of %d changes that are the recipient's own", told-before)
		}
		own, err := r.recordings.Show(t.Context(), changer, id)
		if err != nil || *own.Notes != "the editor's" || !own.IsArchived {
			t.Errorf("the recipient's own: %+v, %v", own, err)
		}
		if refs := r.refKeys(r.owner, id); len(refs) != 1 {
			t.Errorf("the owner's references: %v", refs)
		}
	})
}

// Rule: nobody gives more than they have, to nobody outside, twice to nobody; and what somebody gave on ends with their own.
func TestSharingOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", sharing)
		first, one := r.member("first")
		second, two := r.member("second")
		third, three := r.member("third")
		id := r.said(r.user, "talk", time.Now(), "hello")
		wish := func(with recordings.Person, canEdit bool) recordings.InternalShareWish {
			return recordings.InternalShareWish{With: with, CanEdit: canEdit, CanReshare: true}
		}
		refused := func(p auth.Principal, w recordings.InternalShareWish, kind problems.Kind) {
			t.Helper()
			if _, err := r.recordings.ShareInternally(t.Context(), p, id, w); refusal(err) != kind {
				t.Errorf("sharing with %+v: %v, want %s", w.With, err, kind.Code())
			}
		}
		stranger := r.account("stranger")
		refused(r.owner, wish(recordings.Person{ID: stranger.ID}, false), problems.NotFound)
		refused(r.owner, wish(recordings.Person{Email: stranger.Email}, false), problems.NotFound)
		refused(r.owner, wish(recordings.Person{ID: 999999}, false), problems.NotFound)
		refused(r.owner, wish(recordings.Person{ID: r.user.ID}, false), problems.InvalidParameter)
		given := r.shareWith(r.owner, id, first, false, true)
		refused(r.owner, wish(recordings.Person{Username: "first"}, false), problems.Conflict)
		refused(one, wish(recordings.Person{ID: second.ID}, true), problems.InsufficientPermission)
		refused(one, wish(recordings.Person{ID: r.user.ID}, false), problems.Conflict)
		refused(two, wish(recordings.Person{ID: third.ID}, false), problems.NotFound)
		r.shareWith(one, id, second, false, true)
		r.shareWith(two, id, third, false, false)
		refused(three, wish(recordings.Person{Email: "FIRST@example.org"}, false), problems.InsufficientPermission)
		if _, err := r.recordings.InternalShares(t.Context(), three, id); refusal(err) != problems.InsufficientPermission {
			t.Errorf("who may not share on lists: %v", err)
		}
		list, err := r.recordings.InternalShares(t.Context(), two, id)
		if err != nil || len(list) != 4 || !list[0].IsOwner || list[0].Person.ID != r.user.ID || list[3].GrantedBy != second.ID {
			t.Errorf("the shares are %+v, %v", list, err)
		}
		if _, err := r.recordings.EndInternalShare(t.Context(), two, id, given.ID); refusal(err) != problems.NotFound {
			t.Errorf("somebody else ends a share: %v", err)
		}
		ended, err := r.recordings.EndInternalShareWith(t.Context(), r.owner, id, first.ID)
		if err != nil || ended.Count != 3 {
			t.Errorf("ending the first: %+v, %v, want three", ended, err)
		}
		if _, err := r.recordings.Show(t.Context(), three, id); refusal(err) != problems.NotFound {
			t.Errorf("the third still sees it: %v", err)
		}
	})
}

// refusal is the kind of a refusal; the zero kind where there is none.
func refusal(err error) problems.Kind {
	if err == nil {
		return problems.Kind{}
	}
	return problems.Of(err).Kind
}
