package recordings_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/tests/clocktest"
)

const settle = 2 * time.Second

// feedRig is a rig by a clock of the test's. It begins ahead of the database's, whose mark of the feed's beginning would
// turn earlier cursors away.
func feedRig(t *testing.T, url string) (*rig, *clocktest.Clock) {
	t.Helper()
	c := clocktest.New(time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond))
	r := newRig(t, url, "", func(s *settings) {
		s.recordings.Now, s.recordings.ChangesSettle, s.recordings.TombstoneLife = c.Now, settle, 24*time.Hour
	})
	return r, c
}

// put makes a recording or writes over its title, at the moment of the clock.
func (r *rig) put(id int64, title string, at time.Time) int64 {
	r.t.Helper()
	row := models.Recording{
		UserID: r.user.ID, OrganizationID: r.user.OrganizationID, Title: &title, Status: recordings.StatusCompleted,
		SHA256: strings.Repeat("0", 64), CreatedAt: at, UpdatedAt: at,
	}
	err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error {
		if id == 0 {
			return tx.Create(&row).Error
		}
		row.ID = id
		return tx.Model(&models.Recording{}).Where("id = ?", id).UpdateColumns(map[string]any{"title": title, "updated_at": at}).Error
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return row.ID
}

func (r *rig) drop(id int64) {
	r.t.Helper()
	if err := r.recordings.Delete(context.Background(), r.owner, id); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) follow(cursor string, limit int) recordings.Changes {
	r.t.Helper()
	page, err := r.recordings.Follow(context.Background(), r.owner, recordings.Following{Cursor: cursor, Limit: limit})
	if err != nil {
		r.t.Fatal(err)
	}
	return page
}

// told writes a page in short: "+a" for a recording by its title, "-3" for a deletion by its id.
func told(page recordings.Changes) string {
	var words []string
	for _, change := range page.Changes {
		if change.Recording != nil {
			words = append(words, "+"+*change.Recording.Title)
		} else {
			words = append(words, fmt.Sprintf("-%d", change.Gone.ID))
		}
	}
	return strings.Join(words, " ")
}

// Changes come by moment, at one moment upserts before deletions, each by id; the page that ends is told apart, and
// nothing is told before it has settled.
func TestFeedOrderAndSettling(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, c := feedRig(t, url)
		a, b := r.put(0, "a", c.Now()), r.put(0, "b", c.Now())
		c.Advance(time.Second)
		r.put(a, "A", c.Now())
		if page := r.follow("", 10); told(page) != "" || page.More || page.Next == "" {
			t.Errorf("before it has settled %q is told", told(page))
		}
		c.Advance(settle - time.Second)
		if got := told(r.follow("", 10)); got != "+b" {
			t.Errorf("told is %q, want b alone", got)
		}
		c.Advance(time.Second)
		first := r.follow("", 1)
		second := r.follow(first.Next, 1)
		if told(first) != "+b" || !first.More || told(second) != "+A" || second.More {
			t.Fatalf("told are %q (more: %v), %q (more: %v)", told(first), first.More, told(second), second.More)
		}
		r.put(a, "a2", c.Now().Add(time.Microsecond))
		r.drop(b)
		at := r.tombstone(b).DeletedAt
		r.put(a, "a3", at)
		c.Advance(settle + time.Second)
		third := r.follow(second.Next, 1)
		fourth := r.follow(third.Next, 1)
		if told(third) != "+a3" || told(fourth) != fmt.Sprintf("-%d", b) || fourth.More {
			t.Errorf("at one moment told are %q, then %q", told(third), told(fourth))
		}
		if gone := fourth.Changes[0].Gone; gone.Reason != recordings.ReasonDeleted || !gone.DeletedAt.Equal(at) {
			t.Errorf("the deletion is told as %+v", gone)
		}
		if again := r.follow(fourth.Next, 1); told(again) != "" || again.More {
			t.Errorf("at the end %q is told", told(again))
		}
		if fresh := told(r.follow("", 10)); fresh != "+a3" {
			t.Errorf("a later full pass tells %q", fresh)
		}
	})
}

func (r *rig) tombstone(id int64) models.RecordingTombstone {
	r.t.Helper()
	var row models.RecordingTombstone
	if err := r.db.Read.Where("recording_id = ?", id).Take(&row).Error; err != nil {
		r.t.Fatal(err)
	}
	return row
}

// follower is a client that keeps what the feed told it.
type follower struct {
	cursor  string
	pass    bool // on a full pass
	seen    map[int64]bool
	mirror  map[int64]string
	lastHad bool
}

func (f *follower) step(r *rig, limit int) {
	r.t.Helper()
	if f.cursor == "" {
		f.pass, f.seen = true, map[int64]bool{}
	}
	page := r.follow(f.cursor, limit)
	for _, change := range page.Changes {
		if change.Recording == nil {
			delete(f.mirror, change.Gone.ID)
			continue
		}
		f.mirror[change.Recording.ID] = *change.Recording.Title
		f.seen[change.Recording.ID] = true
	}
	if !page.More && f.pass {
		maps.DeleteFunc(f.mirror, func(id int64, _ string) bool { return !f.seen[id] })
		f.pass = false
	}
	f.cursor, f.lastHad = page.Next, page.More || len(page.Changes) > 0
}

// Clients that page through the feed while recordings come, change and go, beginning full passes now and then, all
// end with what is there.
func TestFollowersEndWithTheTruth(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, c := feedRig(t, url)
		seed := uint64(time.Now().UnixNano())
		random := rand.New(rand.NewPCG(seed, 0))
		truth := map[int64]string{}
		followers := make([]follower, 4)
		for i := range followers {
			followers[i].mirror = map[int64]string{}
		}
		for turn := range 250 {
			switch random.IntN(6) {
			case 0, 1:
				title := fmt.Sprint("new ", turn)
				truth[r.put(0, title, c.Now())] = title
			case 2:
				for id := range truth { // a random one
					truth[id] = fmt.Sprint("changed ", turn)
					r.put(id, truth[id], c.Now())
					break
				}
			case 3:
				for id := range truth {
					r.drop(id)
					delete(truth, id)
					break
				}
			case 4:
				c.Advance(time.Duration(random.Int64N(int64(2 * settle))))
			case 5:
				f := &followers[random.IntN(len(followers))]
				if random.IntN(12) == 0 {
					f.cursor = ""
				}
				f.step(r, 1+random.IntN(4))
			}
			c.Advance(time.Microsecond)
		}
		c.Advance(settle + time.Second)
		for i := range followers {
			for f := &followers[i]; ; {
				f.step(r, 3)
				if !f.lastHad {
					break
				}
			}
			if !maps.Equal(followers[i].mirror, truth) {
				t.Fatalf("seed %d: client %d has %v, there is %v", seed, i, followers[i].mirror, truth)
			}
		}
	})
}

// A change whose transaction takes longer than the settle window is not passed by.
func TestFeedWaitsForASlowTransaction(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", func(s *settings) {
			s.recordings.ChangesSettle, s.recordings.TombstoneLife = 10*time.Millisecond, time.Hour
		})
		r.put(0, "before", time.Now().UTC().Add(-time.Minute))
		var page recordings.Changes
		err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error {
			title, at := "slow", time.Now().UTC().Truncate(time.Microsecond)
			row := models.Recording{
				UserID: r.user.ID, OrganizationID: r.user.OrganizationID, Title: &title, Status: recordings.StatusCompleted,
				SHA256: strings.Repeat("0", 64), CreatedAt: at, UpdatedAt: at,
			}
			if err := tx.Create(&row).Error; err != nil {
				return err
			}
			r.until("the settle window is over", func() bool { return time.Since(at) > 50*time.Millisecond })
			page = r.follow("", 10)
			return nil
		})
		if err != nil || told(page) != "+before" {
			t.Fatalf("beside the transaction %q is told, %v", told(page), err)
		}
		var later string
		r.until("the slow change is told", func() bool {
			later = told(r.follow(page.Next, 10))
			return later != ""
		})
		if later != "+slow" {
			t.Errorf("after the transaction %q is told", later)
		}
	})
}

// A cursor for which deletions may have been forgotten is turned away, others go on; forgetting does not reach those
// who followed lately, nor full passes that are under way.
func TestForgottenDeletionsExpireCursors(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, c := feedRig(t, url)
		ctx := context.Background()
		a, b := r.put(0, "a", c.Now()), r.put(0, "b", c.Now())
		r.put(0, "c", c.Now())
		c.Advance(settle)
		old, pass := r.follow("", 10).Next, r.follow("", 1).Next
		c.Advance(time.Second)
		r.drop(a)
		if n, err := r.recordings.PruneTombstones(ctx); n != 0 || err != nil {
			t.Fatalf("%d young tombstones are forgotten, %v", n, err)
		}
		if got := told(r.follow(old, 10)); got != "" {
			t.Errorf("before it has settled %q is told", got)
		}
		c.Advance(24 * time.Hour)
		r.drop(b)
		c.Advance(settle + time.Second)
		if n, err := r.recordings.PruneTombstones(ctx); n != 1 || err != nil {
			t.Fatalf("%d old tombstones are forgotten, %v", n, err)
		}
		for name, cursor := range map[string]string{"an old cursor": old, "an old full pass": pass} {
			_, err := r.recordings.Follow(ctx, r.owner, recordings.Following{Cursor: cursor, Limit: 10})
			if problem := expect(t, err, problems.CursorExpired); problem == nil {
				t.Errorf("%s goes on", name)
			}
		}
		if got := told(r.follow(r.follow("", 1).Next, 10)); got != "" {
			t.Errorf("a new pass goes on with %q", got)
		}
		ancient := base64.RawURLEncoding.EncodeToString([]byte(`{"u":"2020-01-01T00:00:00.000000Z","k":0,"i":0}`))
		_, err := r.recordings.Follow(ctx, r.owner, recordings.Following{Cursor: ancient, Limit: 10})
		expect(t, err, problems.CursorExpired)
	})
}

// A client never goes back: where the clock has been set back, or the cursor is made up, it stays where it stands.
func TestFeedNeverGoesBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, c := feedRig(t, url)
		r.put(0, "a", c.Now())
		c.Advance(settle)
		end := r.follow("", 10).Next
		c.Advance(-time.Minute)
		if page := r.follow(end, 10); page.Next != end || page.More || told(page) != "" {
			t.Errorf("with the clock set back %q is told", told(page))
		}
		c.Advance(2 * time.Minute)
		if page := r.follow(end, 10); told(page) != "" || page.Next == end {
			t.Errorf("afterwards %q is told", told(page))
		}
	})
}

// What another account has is not in the feed.
func TestFeedIsOfOneAccount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, c := feedRig(t, url)
		r.put(0, "mine", c.Now())
		r.drop(r.put(0, "gone", c.Now()))
		c.Advance(settle + time.Second)
		other := r.principal(r.account("other"), "full")
		cursor := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"u":"%s","k":0,"i":0}`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")))
		for _, cursor := range []string{"", cursor} {
			page, err := r.recordings.Follow(context.Background(), other, recordings.Following{Cursor: cursor, Limit: 10})
			if err != nil || len(page.Changes) != 0 {
				t.Errorf("another account is told %q, %v", told(page), err)
			}
		}
		page, err := r.recordings.Follow(context.Background(), r.owner, recordings.Following{Limit: 10, Scope: recordings.ScopeShared})
		if err != nil || len(page.Changes) != 0 || page.Next == "" {
			t.Errorf("of what is shared with nobody %q is told, %v", told(page), err)
		}
	})
}
