package budgets_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
)

// Rule: no interleaving of holds, calls, crashes and sweeps brings spent plus held above a budget, settles a call twice,
// or loses what was spent: what is spent is the sum of the ledger, and is what the workers know that they used.
func TestNoInterleavingBreaksABudget(t *testing.T) {
	t.Parallel()
	const organization, account = 400, 300
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, nil)
		r.set(r.organization(), budgets.SetMicros(new(int64(organization))))
		r.set(r.account(0), budgets.SetMicros(new(int64(account))))
		most := map[int64]int64{0: organization, r.users[0]: account}
		var used [2]atomic.Int64
		var working, beside sync.WaitGroup
		for i := range 6 {
			working.Go(func() {
				w := worker{r, rand.New(rand.NewPCG(uint64(i), 5)), i % 2, int64(i) * 1000, &used[i%2]}
				for range 50 {
					w.work()
				}
			})
		}
		done := make(chan struct{})
		for range 2 {
			beside.Go(func() { until(done, r.sweep) })
		}
		beside.Go(func() { until(done, func() { r.within(most) }) })
		working.Wait()
		close(done)
		beside.Wait()
		r.die()
		r.sweep()
		r.addsUp(map[int64]int64{0: used[0].Load() + used[1].Load(), r.users[0]: used[0].Load(), r.users[1]: used[1].Load()})
	})
}

func until(done chan struct{}, again func()) {
	for {
		select {
		case <-done:
			return
		case <-time.After(2 * time.Millisecond):
			again()
		}
	}
}

// worker holds, calls and dies at random, and knows what its calls must be charged.
type worker struct {
	*rig

	random *rand.Rand
	user   int
	last   int64 // names its holds
	used   *atomic.Int64
}

func (w *worker) work() {
	w.last++
	ctx, abandon := context.WithCancel(context.Background())
	defer abandon()
	_, hold, err := w.purse(w.user).About(w.last).Hold(ctx, text(w.random.Int64N(120)))
	if err != nil {
		if !problems.Is(err, problems.BudgetExceeded) {
			w.t.Errorf("hold: %v", err)
		}
		return
	}
	for range w.random.IntN(3) {
		most := w.random.Int64N(80)
		if err := hold.Send(ctx, input(most)); err != nil {
			if !problems.Is(err, problems.BudgetExceeded) {
				w.t.Errorf("send: %v", err)
			}
			break
		}
		switch w.random.IntN(5) {
		case 0: // nobody settles it
			w.used.Add(most)
			hold.Close()
			return
		case 1: // its process dies
			w.dead()
			used := w.random.Int64N(most + 1)
			err := hold.Settle(context.Background(), budgets.Done, new(input(used)), input(0))
			switch {
			case err == nil:
				w.used.Add(used)
			case errors.Is(err, budgets.ErrHoldLost):
				w.used.Add(most)
			default:
				w.t.Errorf("settle: %v", err)
			}
			hold.Close()
			return
		case 2: // and never comes back: the sweep has it
			w.dead()
			w.used.Add(most)
			return
		}
		used := w.random.Int64N(most + 1)
		if err := hold.Settle(ctx, budgets.Done, new(input(used)), input(0)); err != nil {
			w.t.Errorf("settle: %v", err)
			return
		}
		w.used.Add(used)
	}
	if w.random.IntN(4) == 0 {
		w.dead()
	}
	hold.Close()
}

// dead lets the lease of the worker's hold run out.
func (w *worker) dead() {
	w.write(func(tx *gorm.DB) error {
		return tx.Model(&models.BudgetHold{}).Where("recording_id = ?", w.last).UpdateColumn("held_until", time.Unix(0, 0).UTC()).Error
	})
}

// within takes a sample of the months.
func (r *rig) within(most map[int64]int64) {
	var rows []models.BudgetMonth
	if err := r.db.Read.Find(&rows).Error; err != nil {
		r.t.Error(err)
	}
	for _, row := range rows {
		if bound, ok := most[row.UserID]; ok && row.Spent.Micros+row.Held.Micros > bound {
			r.t.Errorf("%d spent and %d held of %d", row.Spent.Micros, row.Held.Micros, bound)
		}
	}
}

// addsUp expects that nothing is held, and that months and ledger agree with what was used, in micro-dollars and tokens.
func (r *rig) addsUp(used map[int64]int64) {
	r.t.Helper()
	charged, tokens := map[int64]int64{}, map[int64]int64{}
	for _, entry := range r.ledger() {
		for _, user := range []int64{0, entry.UserID} {
			charged[user] += entry.ChargedMicros
			tokens[user] += entry.InputTokens + entry.OutputTokens
		}
	}
	for user, want := range used {
		row := r.month(user)
		if row.Held != (models.Amount{}) || row.Spent.Micros != want || charged[user] != want || tokens[user] != row.Spent.Tokens {
			r.t.Errorf("of %d the month is %+v and the ledger adds up to %d and %d tokens, want %d", user, row, charged[user], tokens[user], want)
		}
	}
	if r.holds() != 0 {
		r.t.Errorf("%d holds are left", r.holds())
	}
}
