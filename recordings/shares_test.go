package recordings_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// publicly switches public links on.
func publicly(s *settings) { s.recordings.PublicSharing = true }

// share asks for a link.
func (r *rig) share(id int64, wish recordings.ShareWish) recordings.Publication {
	r.t.Helper()
	made, err := r.recordings.Share(context.Background(), r.owner, id, wish)
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

// The newest link is given again, also when it has expired; what it shows changes only where that was asked for; each
// new link is another secret, and is announced once.
func TestLinksAreGivenAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", publicly)
		id := r.upload(wav(1, 1)).Recording.ID
		before, _ := r.row(id)
		first := r.share(id, recordings.ShareWish{Summary: true, Days: 2})
		if first.Existing || first.Differs || !first.Share.Summary || first.Share.Notes || len(first.Share.Link) != 22 ||
			first.Share.ExpiresAt == nil || first.Share.ExpiresAt.Sub(first.Share.CreatedAt) != 48*time.Hour {
			t.Fatalf("made %+v", first)
		}
		r.write(func(tx *gorm.DB) error {
			return tx.Model(&models.PublicShare{}).Where("id = ?", first.Share.ID).UpdateColumn("expires_at", time.Now().UTC().Add(-time.Hour)).Error
		})
		if same := r.share(id, recordings.ShareWish{Summary: true, Days: 9}); !same.Existing || same.Differs || same.Share.Link != first.Share.Link || same.Share.ExpiresAt.After(time.Now()) {
			t.Errorf("an expired link is given again as %+v", same)
		}
		if other := r.share(id, recordings.ShareWish{Notes: true}); !other.Existing || !other.Differs || !other.Share.Summary || other.Share.Notes {
			t.Errorf("another wish changed the link: %+v", other)
		}
		if changed := r.share(id, recordings.ShareWish{Notes: true, UpdateExisting: true}); !changed.Existing || changed.Differs || changed.Share.Summary || !changed.Share.Notes {
			t.Errorf("the link was not changed: %+v", changed)
		}
		second := r.share(id, recordings.ShareWish{Summary: true, ForceNew: true})
		if second.Existing || second.Differs || second.Share.Link == first.Share.Link || second.Share.ExpiresAt != nil {
			t.Errorf("the second link is %+v", second)
		}
		if newest := r.share(id, recordings.ShareWish{Summary: true}); newest.Share.ID != second.Share.ID {
			t.Errorf("not the newest was given again: %+v", newest)
		}
		shares, err := r.recordings.Shares(context.Background(), r.owner, id)
		if err != nil || len(shares) != 2 || shares[0].ID != second.Share.ID || !shares[1].Notes {
			t.Errorf("the links are %+v, %v", shares, err)
		}
		if after, _ := r.row(id); r.events(id)["recording.share.created"] != 2 || !after.UpdatedAt.Equal(before.UpdatedAt) {
			t.Errorf("events are %v; the recording has moved to %v from %v", r.events(id), after.UpdatedAt, before.UpdatedAt)
		}
	})
}

// Two that share at once share one link; two that revoke it at once revoke it once.
func TestRacingSharersShareOneLink(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", publicly)
		id := r.upload(wav(1, 1)).Recording.ID
		for round := 1; round <= 5; round++ { // the first one finds few connections open
			made, failed := together(8, func() (recordings.Publication, error) {
				return r.recordings.Share(context.Background(), r.owner, id, recordings.ShareWish{Summary: true})
			})
			fresh := 0
			for _, one := range made {
				if !one.Existing {
					fresh++
				}
				if one.Share.Link != made[0].Share.Link {
					t.Errorf("two links: %d and %d", one.Share.ID, made[0].Share.ID)
				}
			}
			if fresh != 1 || len(failed) != 0 || r.events(id)["recording.share.created"] != round {
				t.Fatalf("%d links were made, %v failed, events are %v", fresh, failed, r.events(id))
			}
			_, failed = together(4, func() (struct{}, error) {
				return struct{}{}, r.recordings.RevokeShare(context.Background(), r.owner, made[0].Share.ID)
			})
			for _, err := range failed {
				expect(t, err, problems.NotFound)
			}
			if len(failed) != 3 || r.events(id)["recording.share.revoked"] != round {
				t.Fatalf("%d of 4 revocations failed, events are %v", len(failed), r.events(id))
			}
		}
	})
}

// together does the same at once so many times, and gives what succeeded and what failed.
func together[T any](times int, do func() (T, error)) (done []T, failed []error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range times {
		all.Go(func() {
			result, err := do()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, err)
				return
			}
			done = append(done, result)
		})
	}
	all.Wait()
	return done, failed
}

// A recording has at most 100 links; what is another account's does not exist.
func TestLinksAreBoundedAndTheirOwners(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, sqliteURL(t), "", publicly)
	id := r.upload(wav(1, 1)).Recording.ID
	var last recordings.Publication
	for range 100 {
		last = r.share(id, recordings.ShareWish{ForceNew: true})
	}
	_, err := r.recordings.Share(ctx, r.owner, id, recordings.ShareWish{ForceNew: true})
	expect(t, err, problems.Conflict)
	if again := r.share(id, recordings.ShareWish{}); again.Share.ID != last.Share.ID {
		t.Errorf("at the bound the newest is not given again: %+v", again)
	}
	stranger := r.principal(r.account("stranger"), "full")
	_, err = r.recordings.Share(ctx, stranger, id, recordings.ShareWish{})
	expect(t, err, problems.NotFound)
	expect(t, r.recordings.MayShare(ctx, stranger, id, true), problems.NotFound)
	_, err = r.recordings.Shares(ctx, stranger, id)
	expect(t, err, problems.NotFound)
	expect(t, r.recordings.RevokeShare(ctx, stranger, last.Share.ID), problems.NotFound)
	if _, err := r.recordings.Shared(ctx, last.Share.Link); err != nil {
		t.Errorf("a stranger's revocation ended the link: %v", err)
	}
}

// Rule: a public link dies with its owner's verb or account, with its end, its recording, its revocation, and with the
// feature; page and audio alike, and in the same words as one that never was.
func TestLinksDie(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", publicly)
		file := wav(1, 1)
		id := r.upload(file, "title", "Talk", "notes", "private").Recording.ID
		link := r.share(id, recordings.ShareWish{Summary: true}).Share
		never := expect(t, second(r.recordings.Shared(ctx, strings.Repeat("A", 22))), problems.NotFound)
		lives := func() {
			t.Helper()
			shown, err := r.recordings.Shared(ctx, link.Link)
			if err != nil || shown.Title == nil || *shown.Title != "Talk" || shown.Notes != nil || !shown.HasAudio {
				t.Fatalf("the link shows %+v, %v", shown, err)
			}
			audio, err := r.recordings.OpenShared(ctx, link.Link)
			if err != nil || audio.Name != "Talk.wav" {
				t.Fatalf("the audio is %+v, %v", audio, err)
			}
			content, err := io.ReadAll(audio)
			_ = audio.Close()
			if err != nil || string(content) != string(file) {
				t.Fatalf("read %d bytes, %v", len(content), err)
			}
		}
		dead := func(why string) {
			t.Helper()
			for _, err := range []error{second(r.recordings.Shared(ctx, link.Link)), second(r.recordings.OpenShared(ctx, link.Link))} {
				if problem := expect(t, err, problems.NotFound); problem.Message != never.Message {
					t.Errorf("%s: it says %q, want %q", why, problem.Message, never.Message)
				}
			}
		}
		user := func(column string, value any) {
			t.Helper()
			r.write(func(tx *gorm.DB) error {
				return tx.Model(&models.User{}).Where("id = ?", r.user.ID).UpdateColumn(column, value).Error
			})
		}
		lives()
		for _, role := range []string{"viewer", "contributor"} {
			user("role", role)
			dead(role)
		}
		user("role", "manager")
		lives()
		user("disabled_at", time.Now().UTC())
		dead("disabled")
		user("disabled_at", nil)
		lives()
		r.write(func(tx *gorm.DB) error {
			return tx.Model(&models.PublicShare{}).Where("id = ?", link.ID).UpdateColumn("expires_at", time.Now().UTC()).Error
		})
		dead("expired")
		link = r.share(id, recordings.ShareWish{ForceNew: true}).Share
		lives()
		r.recordings.PublicSharing = false
		dead("switched off")
		r.recordings.PublicSharing = true
		if err := r.recordings.RevokeShare(ctx, r.owner, link.ID); err != nil {
			t.Fatal(err)
		}
		dead("revoked")
		link = r.share(id, recordings.ShareWish{ForceNew: true}).Share
		if err := r.recordings.Delete(ctx, r.owner, id); err != nil {
			t.Fatal(err)
		}
		dead("deleted")
	})
}

// What cannot be a link is refused in the words of one that is unknown.
func TestWhatIsNoLinkIsUnknown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", publicly)
		a := func(n int) string { return strings.Repeat("A", n) }
		never := expect(t, second(r.recordings.Shared(context.Background(), a(22))), problems.NotFound)
		for _, malformed := range []string{"", "short", a(23), a(21) + "%", a(21) + "\x00", strings.Repeat("é", 11)} {
			if problem := expect(t, second(r.recordings.Shared(context.Background(), malformed)), problems.NotFound); problem.Message != never.Message {
				t.Errorf("%q: it says %q", malformed, problem.Message)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }
