package idempotency_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/idempotency"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
)

// rig is a database with one account that has recordings, and keys under a clock that tests set.
type rig struct {
	t          *testing.T
	db         *models.DB
	keys       *idempotency.Keys
	now        time.Time
	account    int64
	recordings []int64
}

var (
	asked   = strings.Repeat("a", 64)
	another = strings.Repeat("b", 64)
	ok200   = idempotency.Answer{Status: 200, ContentType: "application/json", Body: []byte(`{"job_id":7}`)}
)

func each(t *testing.T, hold time.Duration, check func(t *testing.T, r *rig)) {
	t.Helper()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := &rig{t: t, db: db, now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
		r.keys = idempotency.New(db, idempotency.Options{Life: 24 * time.Hour, Hold: hold, Now: func() time.Time { return r.now }})
		r.seed()
		check(t, r)
	})
}

func (r *rig) seed() {
	r.t.Helper()
	err := r.db.Transaction(r.t.Context(), func(tx *gorm.DB) error {
		org := models.Organization{Slug: "o", Name: "O", TimeZone: "UTC", CreatedAt: r.now}
		if err := tx.Create(&org).Error; err != nil {
			return err
		}
		user := models.User{OrganizationID: org.ID, Email: "a@example.org", Username: "a", Role: "editor", CreatedAt: r.now}
		if err := tx.Create(&user).Error; err != nil {
			return err
		}
		r.account = user.ID
		for range 2 {
			row := models.Recording{
				OrganizationID: org.ID, UserID: user.ID, Status: "COMPLETED", SHA256: strings.Repeat("0", 64), CreatedAt: r.now, UpdatedAt: r.now,
			}
			if err := tx.Create(&row).Error; err != nil {
				return err
			}
			r.recordings = append(r.recordings, row.ID)
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) claim(key, fingerprint string) *idempotency.Claim {
	r.t.Helper()
	claim, err := r.keys.Claim(r.t.Context(), r.account, key, fingerprint, r.recordings[0], 0)
	if err != nil {
		r.t.Fatal(err)
	}
	return claim
}

func (r *rig) refused(key, fingerprint string, kind problems.Kind) {
	r.t.Helper()
	if _, err := r.keys.Claim(r.t.Context(), r.account, key, fingerprint, 0, 0); !problems.Is(err, kind) {
		r.t.Fatalf("%v, want %s", err, kind.Code())
	}
}

// make queues a job for a recording under a claim, as a story does.
func (r *rig) make(claim *idempotency.Claim, recording, job int64) error {
	ctx := idempotency.With(r.t.Context(), claim)
	return r.db.Transaction(ctx, func(tx *gorm.DB) error { return idempotency.Note(ctx, tx, recording, job) })
}

// The same request gets the kept answer; the key says no to every other, and to everybody while it is worked on.
func TestAnAnswerIsKeptForTheSameRequest(t *testing.T) {
	t.Parallel()
	each(t, time.Minute, func(t *testing.T, r *rig) {
		claim := r.claim("k", asked)
		if claim.Kept != nil {
			t.Fatal("a first request has an answer already")
		}
		r.refused("k", asked, problems.IdempotencyInProgress)
		r.refused("k", another, problems.IdempotencyKeyReused)
		if err := claim.Keep(t.Context(), ok200); err != nil {
			t.Fatal(err)
		}
		if kept := r.claim("k", asked).Kept; kept == nil || kept.Status != 200 || string(kept.Body) != string(ok200.Body) || kept.ContentType != ok200.ContentType {
			t.Errorf("kept %+v, want %+v", kept, ok200)
		}
		r.refused("k", another, problems.IdempotencyKeyReused)
	})
}

// A key is the account's own, dies after its life and with its recording.
func TestAKeyDies(t *testing.T) {
	t.Parallel()
	each(t, time.Minute, func(t *testing.T, r *rig) {
		keep := func(key string) {
			t.Helper()
			if err := r.claim(key, asked).Keep(t.Context(), ok200); err != nil {
				t.Fatal(err)
			}
		}
		keep("life")
		r.now = r.now.Add(24*time.Hour - time.Second)
		if r.claim("life", asked).Kept == nil {
			t.Error("the answer is gone before its time")
		}
		r.now = r.now.Add(time.Second)
		if r.claim("life", another).Kept != nil {
			t.Error("the answer outlives its time")
		}
		keep("recording")
		err := r.db.Transaction(t.Context(), func(tx *gorm.DB) error {
			return tx.Delete(&models.Recording{}, r.recordings[0]).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.claim("recording", another).Kept != nil {
			t.Error("the answer outlives its recording")
		}
		if pruned, err := r.keys.Prune(t.Context(), 100); err != nil || pruned != 0 {
			t.Errorf("pruned %d, %v; nothing is old", pruned, err)
		}
		r.now = r.now.Add(25 * time.Hour)
		if pruned, err := r.keys.Prune(t.Context(), 1); err != nil || pruned != 1 {
			t.Errorf("pruned %d, %v; want the 1 that was allowed", pruned, err)
		}
	})
}

// A process that dies after it has queued a job and before it has answered leaves a claim that ends by itself; the
// next attempt finds the job instead of queueing one, and the dead one, should it still live, makes nothing more.
func TestWhatADeadProcessHasMadeIsFound(t *testing.T) {
	t.Parallel()
	each(t, 0, func(t *testing.T, r *rig) {
		dead := r.claim("k", asked)
		if err := r.make(dead, r.recordings[0], 41); err != nil {
			t.Fatal(err)
		}
		next := r.claim("k", asked)
		ctx := idempotency.With(t.Context(), next)
		if job, ok := idempotency.Made(ctx, r.recordings[0]); !ok || job != 41 {
			t.Errorf("the next attempt finds job %d, %v; want 41", job, ok)
		}
		if _, ok := idempotency.Made(ctx, r.recordings[1]); ok {
			t.Error("the next attempt finds a job that nobody made")
		}
		if err := r.make(dead, r.recordings[1], 42); !problems.Is(err, problems.IdempotencyInProgress) {
			t.Errorf("the dead one makes more: %v", err)
		}
		if err := dead.Keep(t.Context(), ok200); err != nil {
			t.Fatal(err)
		}
		if r.claim("k", asked).Kept != nil {
			t.Error("the dead one's answer was kept")
		}
	})
}

// What fails is released at once, and goes on with what it has made.
func TestAReleasedKeyIsFree(t *testing.T) {
	t.Parallel()
	each(t, time.Minute, func(t *testing.T, r *rig) {
		claim := r.claim("nothing", asked)
		if err := claim.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.claim("nothing", another).Kept != nil {
			t.Error("a released key has an answer")
		}
		claim = r.claim("half", asked)
		if err := r.make(claim, r.recordings[0], 41); err != nil {
			t.Fatal(err)
		}
		if err := claim.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.refused("half", another, problems.IdempotencyKeyReused)
		if job, _ := idempotency.Made(idempotency.With(t.Context(), r.claim("half", asked)), r.recordings[0]); job != 41 {
			t.Errorf("job %d, want 41", job)
		}
	})
}

// An answer that is too large ends its claim and is not kept.
func TestALargeAnswerIsNotKept(t *testing.T) {
	t.Parallel()
	each(t, time.Minute, func(t *testing.T, r *rig) {
		large := idempotency.Answer{Status: 200, Body: make([]byte, idempotency.MaxAnswer+1)}
		if err := r.claim("k", asked).Keep(t.Context(), large); err != nil {
			t.Fatal(err)
		}
		if r.claim("k", asked).Kept != nil {
			t.Error("it was kept")
		}
	})
}

// Of many first requests at once exactly one is worked.
func TestOneOfManyFirstRequestsIsWorked(t *testing.T) {
	t.Parallel()
	each(t, time.Minute, func(t *testing.T, r *rig) {
		var worked, told sync.Map
		var racers sync.WaitGroup
		for n := range 12 {
			racers.Go(func() {
				claim, err := r.keys.Claim(context.WithoutCancel(t.Context()), r.account, "k", asked, 0, 0)
				switch {
				case err == nil && claim.Kept == nil:
					worked.Store(n, true)
				case problems.Is(err, problems.IdempotencyInProgress):
					told.Store(n, true)
				default:
					t.Errorf("claim %+v, %v", claim, err)
				}
			})
		}
		racers.Wait()
		count := func(m *sync.Map) (n int) { m.Range(func(any, any) bool { n++; return true }); return n }
		if count(&worked) != 1 || count(&told) != 11 {
			t.Errorf("%d worked and %d were told to wait, want 1 and 11", count(&worked), count(&told))
		}
	})
}
