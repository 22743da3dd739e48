package recordings_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// sharedWith tells who sees a recording by which share: "lead+group_tag" may change it, "viewer-manual" may not.
func (r *rig) sharedWith(id int64) string {
	r.t.Helper()
	var rows []struct {
		Username, Source string
		CanEdit          bool
	}
	err := r.db.Read.Table("internal_shares").Joins("JOIN users ON users.id = internal_shares.user_id").
		Select("users.username, internal_shares.source, internal_shares.can_edit").
		Where("internal_shares.recording_id = ?", id).Order("users.username").Scan(&rows).Error
	if err != nil {
		r.t.Fatal(err)
	}
	told := make([]string, len(rows))
	for i, row := range rows {
		told[i] = row.Username + map[bool]string{true: "+", false: "-"}[row.CanEdit] + row.Source
	}
	return strings.Join(told, " ")
}

// crew are a lead, a member, one who is disabled and a stranger, beside the owner.
func (r *rig) crew() (lead, member models.User) {
	lead, _ = r.member("lead")
	member, _ = r.member("member")
	gone, _ := r.member("gone")
	r.account("stranger")
	r.write(func(tx *gorm.DB) error {
		if err := tx.Model(&models.User{}).Where("id = ?", lead.ID).UpdateColumn("role", "admin").Error; err != nil {
			return err
		}
		return tx.Model(&models.User{}).Where("id = ?", gone.ID).UpdateColumn("disabled_at", time.Now()).Error
	})
	return lead, member
}

func shares(all, leads bool) recordings.HoldingEdit {
	return recordings.HoldingEdit{AutoShare: becomes(all), ShareWithLead: becomes(leads)}
}

// Rule: a shared tag or folder shares what is COMPLETED with all active members or with those who administer the
// organization, who may change it; and ends with the tag, the folder and the wish. What was shared by hand stays.
func TestWhatATagShares(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		r := newRig(t, url, "", sharing)
		lead, member := r.crew()
		id := r.said(r.user, "talk", time.Now(), "x")
		edit := r.common("all")
		all := r.tag(r.owner, edit)
		edit = r.common("leads")
		edit.AutoShare = becomes(false)
		leads := r.tag(r.owner, edit)
		folder, err := r.recordings.CreateFolder(ctx, r.owner, r.commonFolder("folder"))
		if err != nil {
			t.Fatal(err)
		}
		own := r.tag(r.owner, called("own"))
		steps := []struct {
			what string
			do   func() error
			want string
		}{
			{"a tag of one's own", func() error { return r.replaceTags(id, own) }, ""},
			{"leads", func() error { return r.replaceTags(id, leads) }, "lead+group_tag"},
			{"all", func() error { return r.replaceTags(id, all) }, "lead+group_tag member-group_tag"},
			{"by hand", func() error {
				r.shareWith(r.owner, id, member, true, true)
				return nil
			}, "lead+group_tag member+manual"},
			{"leads again", func() error { return r.replaceTags(id, leads) }, "lead+group_tag member+manual"},
			{"folder", func() error {
				_, err := r.recordings.Patch(ctx, r.owner, id, nil, filed(folder.ID))
				return err
			}, "lead+group_tag member+manual"},
			{"folder alone", func() error { return r.recordings.RemoveTag(ctx, r.owner, id, leads) }, "lead+group_folder member+manual"},
			{"a folder that shares no more", func() error {
				_, err := r.recordings.UpdateFolder(ctx, r.owner, folder.ID, recordings.FolderEdit{HoldingEdit: shares(false, false)})
				return err
			}, "member+manual"},
			{"and shares again", func() error {
				_, err := r.recordings.UpdateFolder(ctx, r.owner, folder.ID, recordings.FolderEdit{HoldingEdit: shares(true, false)})
				return err
			}, "lead+group_folder member+manual"},
			{"no folder", func() error { return r.recordings.DeleteFolder(ctx, r.owner, folder.ID) }, "member+manual"},
			{"a tag that is deleted", func() error {
				if err := r.replaceTags(id, all); err != nil {
					return err
				}
				return r.recordings.DeleteTag(ctx, r.owner, all)
			}, "member+manual"},
			{"a tag that joins the group", func() error {
				if err := r.replaceTags(id, own); err != nil {
					return err
				}
				_, err := r.recordings.UpdateTag(ctx, r.owner, own, recordings.TagEdit{HoldingEdit: recordings.HoldingEdit{GroupID: becomes(r.user.OrganizationID)}})
				return err
			}, "lead+group_tag member+manual"},
			{"and leaves it", func() error {
				_, err := r.recordings.UpdateTag(ctx, r.owner, own, recordings.TagEdit{HoldingEdit: recordings.HoldingEdit{GroupID: none[int64]()}})
				return err
			}, "member+manual"},
		}
		for _, step := range steps {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.what, err)
			}
			if got := r.sharedWith(id); got != step.want {
				t.Errorf("%s: shared with %q, want %q", step.what, got, step.want)
			}
		}
		seen := r.as(lead, "admin", "full")
		if err := r.replaceTags(id, leads); err != nil {
			t.Fatal(err)
		}
		if _, err := r.recordings.Find(ctx, seen, id, false); err != nil {
			t.Errorf("the lead does not see it: %v", err)
		}
		rename := recordings.Patch{Title: becomes("renamed")}
		if _, err := r.recordings.Patch(ctx, seen, id, nil, rename); err != nil {
			t.Errorf("the lead may not change it: %v", err)
		}
		r.hideFromDemoted(lead, id)
	})
}

// hideFromDemoted takes the role that a share of a tag is for: what was for who administers is gone at once, what the tag
// shares with every member can be seen and no more.
func (r *rig) hideFromDemoted(lead models.User, id int64) {
	r.t.Helper()
	ctx, demoted, rename := r.t.Context(), r.as(lead, "editor", "full"), recordings.Patch{Title: becomes("again")}
	_, err := r.recordings.Patch(ctx, demoted, id, nil, rename)
	expect(r.t, err, problems.NotFound)
	theirs := recordings.Filter{Scope: recordings.ScopeShared}
	if page, err := r.recordings.List(ctx, demoted, theirs); err != nil || page.Total != 0 {
		r.t.Errorf("the demoted lead still lists %d, %v", page.Total, err)
	}
	if err := r.replaceTags(id, r.tag(r.owner, r.common("everybody"))); err != nil {
		r.t.Fatal(err)
	}
	_, err = r.recordings.Patch(ctx, demoted, id, nil, rename)
	expect(r.t, err, problems.InsufficientPermission)
}

func (r *rig) replaceTags(id int64, tags ...int64) error {
	_, err := r.recordings.ReplaceTags(r.t.Context(), r.owner, id, nil, tags)
	return err
}

// Rule: what is not COMPLETED is shared once it is; while sharing is switched off nothing is, and a tag that is taken off
// meanwhile does not come back with the switch.
func TestWhenATagShares(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		r := newRig(t, url, "", sharing)
		r.crew()
		all := r.tag(r.owner, r.common("all"))
		accepted := r.upload(wav(1, 1), "tag_ids[0]", fmt.Sprint(all))
		id := accepted.Recording.ID
		if got := r.sharedWith(id); got != "" {
			t.Errorf("shared before it is transcribed with %q", got)
		}
		more := r.tag(r.owner, r.common("more"))
		if _, err := r.recordings.AddTags(ctx, r.owner, id, []int64{more}); err != nil {
			t.Fatal(err)
		}
		if got := r.sharedWith(id); got != "" {
			t.Errorf("shared by a tag that was put on before it is transcribed with %q", got)
		}
		if err := r.recordings.RemoveTag(ctx, r.owner, id, more); err != nil {
			t.Fatal(err)
		}
		r.start()
		r.await(id, recordings.StatusCompleted)
		if got := r.sharedWith(id); got != "lead+group_tag member-group_tag" {
			t.Errorf("shared with %q", got)
		}
		off := newRig(t, url, r.folder, nil)
		second := r.said(r.user, "second", time.Now(), "x")
		if _, err := off.recordings.AddTags(ctx, off.owner, second, []int64{all}); err != nil {
			t.Fatal(err)
		}
		if err := off.recordings.RemoveTag(ctx, off.owner, id, all); err != nil {
			t.Fatal(err)
		}
		if got := r.sharedWith(id) + r.sharedWith(second); got != "" {
			t.Errorf("with sharing switched off %q", got)
		}
	})
}

// Rule: who may not share does not do so by a tag or a folder, alone or in a batch: nothing is changed, and the refusal
// names the scope. What shares with nobody new is free.
func TestATokenSharesByItsScope(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		r := newRig(t, url, "", sharing)
		_, member := r.crew()
		id, plain := r.said(r.user, "talk", time.Now(), "x"), r.said(r.user, "plain", time.Now(), "x")
		all, own := r.tag(r.owner, r.common("all")), r.tag(r.owner, called("own"))
		folder, err := r.recordings.CreateFolder(ctx, r.owner, r.commonFolder("folder"))
		if err != nil {
			t.Fatal(err)
		}
		writer := r.as(r.user, "editor", "read write")
		_, added := r.recordings.AddTags(ctx, writer, id, []int64{own, all})
		_, replaced := r.recordings.ReplaceTags(ctx, writer, id, nil, []int64{all})
		_, patched := r.recordings.Patch(ctx, writer, id, nil, recordings.Patch{Title: becomes("changed"), FolderID: becomes(folder.ID)})
		_, batch := r.recordings.PatchBatch(ctx, writer, []int64{plain, id}, recordings.BatchPatch{IsArchived: new(true), AddTags: []int64{all}})
		_, filed := r.recordings.PatchBatch(ctx, writer, []int64{id}, recordings.BatchPatch{FolderID: becomes(folder.ID)})
		for story, err := range map[string]error{"add": added, "replace": replaced, "patch": patched, "batch": batch, "batch folder": filed} {
			refusal := problems.Of(err)
			if err == nil || refusal.Kind != problems.InsufficientScope || !slices.Equal(refusal.Fields["required_scopes"].([]string), []string{"share"}) {
				t.Errorf("%s: %v", story, err)
			}
		}
		for _, recording := range []int64{id, plain} {
			row, _ := r.row(recording)
			if got := r.sharedWith(recording); got != "" || len(r.tagsOn(recording)) != 0 || row.FolderID != nil || row.IsArchived || *row.Title == "changed" {
				t.Errorf("a refusal changed recording %d: shared with %q, %+v", recording, got, row)
			}
		}
		edit := recordings.TagEdit{HoldingEdit: recordings.HoldingEdit{GroupID: becomes(r.user.OrganizationID)}}
		_, err = r.recordings.UpdateTag(ctx, writer, own, edit)
		expect(t, err, problems.InsufficientScope)
		if _, err := r.recordings.AddTags(ctx, r.owner, id, []int64{all}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.recordings.Patch(ctx, writer, id, nil, recordings.Patch{FolderID: becomes(folder.ID)}); err != nil {
			t.Errorf("a folder that shares with nobody new: %v", err)
		}
		if _, err := r.recordings.ReplaceTags(ctx, writer, id, nil, []int64{own}); err != nil {
			t.Errorf("a tag that is taken off: %v", err)
		}
		if got, want := r.sharedWith(id), "lead+group_folder "+member.Username+"-group_folder"; got != want {
			t.Errorf("shared with %q, want %q", got, want)
		}
	})
}

// Rule: nor does it share by waiting: what is transcribed anew is shared as soon as that is done. What was to be shared
// before, and what shares nothing, is free.
func TestATokenSharesNothingByWaiting(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		r := newRig(t, url, "", sharing)
		r.crew()
		id := r.said(r.user, "talk", time.Now(), "x")
		r.rest(id, recordings.StatusQueued)
		all, own := r.tag(r.owner, r.common("all")), r.tag(r.owner, called("own"))
		folder, err := r.recordings.CreateFolder(ctx, r.owner, r.commonFolder("folder"))
		if err != nil {
			t.Fatal(err)
		}
		writer := r.as(r.user, "editor", "read write process")
		_, added := r.recordings.AddTags(ctx, writer, id, []int64{all})
		_, patched := r.recordings.Patch(ctx, writer, id, nil, recordings.Patch{FolderID: becomes(folder.ID)})
		_, batch := r.recordings.PatchBatch(ctx, writer, []int64{id}, recordings.BatchPatch{AddTags: []int64{all}})
		for story, err := range map[string]error{"add": added, "patch": patched, "batch": batch} {
			if !problems.Is(err, problems.InsufficientScope) {
				t.Errorf("%s: %v", story, err)
			}
		}
		if _, err := r.recordings.AddTags(ctx, writer, id, []int64{own}); err != nil {
			t.Errorf("a tag that shares nothing: %v", err)
		}
		if _, err := r.recordings.AddTags(ctx, r.owner, id, []int64{all}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.recordings.Patch(ctx, writer, id, nil, recordings.Patch{FolderID: becomes(folder.ID)}); err != nil {
			t.Errorf("a folder that will share with nobody new: %v", err)
		}
	})
}
