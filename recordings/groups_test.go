package recordings_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// as is the account in a role, by a token of these scopes.
func (r *rig) as(user models.User, role, scopes string) auth.Principal {
	return authtest.By(r.t, auth.Token{
		ID: user.ID + 1000, UserID: user.ID, OrganizationID: user.OrganizationID, Role: role, Scopes: auth.ParseScopes(scopes),
	})
}

// common is a tag of the owner's organization; a flag that is not named is as it is by itself.
func (r *rig) common(name string) recordings.TagEdit {
	edit := called(name)
	edit.GroupID = becomes(r.user.OrganizationID)
	return edit
}

func (r *rig) commonFolder(name string) recordings.FolderEdit {
	edit := calledFolder(name)
	edit.GroupID = becomes(r.user.OrganizationID)
	return edit
}

func tagNames(t testing.TB, r *rig, p auth.Principal) string {
	t.Helper()
	tags, err := r.recordings.Tags(t.Context(), p, "")
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(tags))
	for i, tag := range tags {
		names[i] = *tag.Name
	}
	return strings.Join(names, " ")
}

// Rule: what an organization shares is seen by every member and changed by those who may publish; others are told so, and
// nothing is changed. Whoever is outside does not find it.
func TestWhoChangesWhatIsShared(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		r := newRig(t, url, "", nil)
		user, _ := r.member("member")
		stranger := r.principal(r.account("stranger"), "full")
		tag, err := r.recordings.CreateTag(ctx, r.owner, r.common("shared"))
		if err != nil || tag.GroupID == nil || *tag.GroupID != r.user.OrganizationID || *tag.GroupName != "owner" || !tag.AutoShare || !tag.ShareWithLead {
			t.Fatalf("made %+v, %v", tag, err)
		}
		folder, err := r.recordings.CreateFolder(ctx, r.owner, r.commonFolder("shared"))
		if err != nil || folder.GroupID == nil {
			t.Fatalf("made %+v, %v", folder, err)
		}
		for _, role := range append([]string{"superuser", ""}, roleNames()...) {
			p := r.as(user, role, "full")
			tags, err := r.recordings.Tags(ctx, p, "")
			if err != nil || len(tags) == 0 || tags[0].CanEdit != p.May(auth.Publish) || tags[0].Lead != p.May(auth.AdministerMembers) {
				t.Errorf("%q sees %+v, %v", role, tags, err)
			}
			_, created := r.recordings.CreateTag(ctx, p, r.common("of "+role))
			_, filed := r.recordings.CreateFolder(ctx, p, r.commonFolder("of "+role))
			_, changed := r.recordings.UpdateTag(ctx, p, tag.ID, called("by "+role))
			_, refiled := r.recordings.UpdateFolder(ctx, p, folder.ID, calledFolder("by "+role))
			for story, err := range map[string]error{"create tag": created, "create folder": filed, "tag": changed, "folder": refiled} {
				if may := p.May(auth.Publish); may != (err == nil) || !may && !problems.Is(err, problems.InsufficientPermission) {
					t.Errorf("%s by %q: %v", story, role, err)
				}
			}
			if p.May(auth.Publish) {
				continue
			}
			expect(t, r.recordings.DeleteTag(ctx, p, tag.ID), problems.InsufficientPermission)
			expect(t, r.recordings.DeleteFolder(ctx, p, folder.ID), problems.InsufficientPermission)
		}
		if names := tagNames(t, r, r.owner); strings.Contains(names, "viewer") || strings.Contains(names, "superuser") {
			t.Errorf("a refusal left %q", names)
		}
		if names := tagNames(t, r, stranger); names != "" {
			t.Errorf("a stranger sees %q", names)
		}
		_, err = r.recordings.CreateTag(ctx, stranger, r.common("foreign"))
		expect(t, err, problems.NotFound)
		_, err = r.recordings.UpdateTag(ctx, stranger, tag.ID, called("foreign"))
		expect(t, err, problems.NotFound)
		_, err = r.recordings.Folder(ctx, stranger, folder.ID)
		expect(t, err, problems.NotFound)
		expect(t, r.recordings.DeleteFolder(ctx, stranger, folder.ID), problems.NotFound)
	})
}

func roleNames() []string {
	var names []string
	for _, role := range auth.Roles() {
		names = append(names, role.Name)
	}
	return names
}

// Rule: a name is once among an account's own, and once among what its organization shares; its own come first.
func TestNamesOfWhatIsShared(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		r := newRig(t, url, "", nil)
		_, other := r.member("member")
		own, shared := r.tag(r.owner, called("a")), r.tag(r.owner, r.common("a"))
		r.tag(other, called("a"))
		r.tag(r.owner, called("z"))
		if names := tagNames(t, r, r.owner); names != "a z a" {
			t.Errorf("the order is %q", names)
		}
		_, err := r.recordings.CreateTag(ctx, other, r.common("a"))
		expect(t, err, problems.InvalidParameter)
		second := r.tag(other, r.common("b"))
		_, err = r.recordings.UpdateTag(ctx, r.owner, second, called("a"))
		expect(t, err, problems.Conflict)
		move := recordings.TagEdit{HoldingEdit: recordings.HoldingEdit{GroupID: becomes(r.user.OrganizationID)}}
		_, err = r.recordings.UpdateTag(ctx, r.owner, own, move)
		expect(t, err, problems.Conflict)
		_, err = r.recordings.UpdateTag(ctx, r.owner, shared, recordings.TagEdit{HoldingEdit: recordings.HoldingEdit{GroupID: none[int64]()}})
		expect(t, err, problems.Conflict)
		move.GroupID = becomes(r.user.OrganizationID + 1000)
		_, err = r.recordings.UpdateTag(ctx, r.owner, own, move)
		expect(t, err, problems.NotFound)
	})
}

// Rule: members put their recordings under shared tags and folders. What is deleted, or taken out of the group, leaves
// everybody's recordings, or those of others; each is told.
func TestUseOfWhatIsShared(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		r := newRig(t, url, "", nil)
		user, member := r.member("member")
		stranger := r.account("stranger")
		mine, theirs := r.said(r.user, "mine", time.Now(), "x"), r.said(user, "theirs", time.Now(), "x")
		foreign := r.said(stranger, "foreign", time.Now(), "x")
		kept, gone := r.tag(r.owner, r.common("kept")), r.tag(r.owner, r.common("gone"))
		folder, err := r.recordings.CreateFolder(ctx, r.owner, r.commonFolder("folder"))
		if err != nil {
			t.Fatal(err)
		}
		for id, p := range map[int64]auth.Principal{mine: r.owner, theirs: member} {
			tagged, err := r.recordings.AddTags(ctx, p, id, []int64{kept, gone})
			if err != nil || len(tagged.Added) != 2 {
				t.Fatalf("tagged %+v, %v", tagged, err)
			}
			if _, err := r.recordings.Patch(ctx, p, id, nil, filed(folder.ID)); err != nil {
				t.Fatal(err)
			}
		}
		other := r.principal(stranger, "full")
		if tagged, err := r.recordings.AddTags(ctx, other, foreign, []int64{kept}); err != nil || !slices.Equal(tagged.Unknown, []int64{kept}) {
			t.Errorf("a stranger got %+v, %v", tagged, err)
		}
		_, err = r.recordings.Patch(ctx, other, foreign, nil, filed(folder.ID))
		expect(t, err, problems.NotFound)

		r.moves(theirs, func() error { return r.recordings.DeleteTag(ctx, r.owner, gone) }, "tags")
		own := recordings.HoldingEdit{GroupID: none[int64]()}
		r.moves(theirs, func() error {
			tag, err := r.recordings.UpdateTag(ctx, r.owner, kept, recordings.TagEdit{HoldingEdit: own})
			if err == nil && tag.GroupID != nil {
				t.Errorf("it is still the organization's: %+v", tag)
			}
			return err
		}, "tags")
		r.moves(theirs, func() error {
			_, err := r.recordings.UpdateFolder(ctx, r.owner, folder.ID, recordings.FolderEdit{HoldingEdit: own})
			return err
		}, "folder_id")
		if tags := r.tagsOn(mine); !slices.Equal(tags, []int64{kept}) {
			t.Errorf("the owner's has the tags %v", tags)
		}
		if row, _ := r.row(mine); row.FolderID == nil || *row.FolderID != folder.ID {
			t.Error("the owner's has left its folder")
		}
		if row, _ := r.row(theirs); row.FolderID != nil {
			t.Error("the member's is in a folder that is another's")
		}
		if names := tagNames(t, r, member); names != "" {
			t.Errorf("the member still sees %q", names)
		}
		r.moves(mine, func() error {
			return r.recordings.DeleteFolder(ctx, r.owner, folder.ID)
		}, "folder_id")
	})
}

// Rule: who may change a recording of another puts on it what the organization shares, if they administer it, and never
// sees or loses the tags of its owner.
func TestTagsOnRecordingsOfOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		r := newRig(t, url, "", sharing)
		user, editor := r.member("member")
		id := r.said(r.user, "talk", time.Now(), "x")
		r.shareWith(r.owner, id, user, true, false)
		secret, shared, theirs := r.tag(r.owner, called("secret")), r.tag(r.owner, r.common("shared")), r.tag(editor, called("theirs"))
		if _, err := r.recordings.AddTags(ctx, r.owner, id, []int64{secret}); err != nil {
			t.Fatal(err)
		}
		tagged, err := r.recordings.AddTags(ctx, editor, id, []int64{secret, shared, theirs})
		if err != nil || len(tagged.Added) != 0 || len(tagged.Unknown) != 3 {
			t.Errorf("an editor put on %+v, %v", tagged, err)
		}
		expect(t, r.recordings.RemoveTag(ctx, editor, id, secret), problems.NotFound)
		lead := r.as(user, "admin", "full")
		done, err := r.recordings.ReplaceTags(ctx, lead, id, nil, []int64{shared})
		if err != nil || !slices.Equal(done.Added, []int64{shared}) || len(done.Removed) != 0 || len(done.Tags) != 1 {
			t.Errorf("replaced %+v, %v", done, err)
		}
		if tags := r.tagsOn(id); !slices.Equal(tags, []int64{shared, secret}) {
			t.Errorf("the tags are %v", tags)
		}
		if done, err = r.recordings.ReplaceTags(ctx, editor, id, nil, []int64{shared}); err != nil || len(done.Added)+len(done.Removed) != 0 {
			t.Errorf("what is there was replaced: %+v, %v", done, err)
		}
		if done, err = r.recordings.ReplaceTags(ctx, editor, id, nil, nil); err != nil || !slices.Equal(done.Removed, []int64{shared}) {
			t.Errorf("emptied %+v, %v", done, err)
		}
		if tags := r.tagsOn(id); !slices.Equal(tags, []int64{secret}) {
			t.Errorf("the owner is left with %v", tags)
		}
	})
}
