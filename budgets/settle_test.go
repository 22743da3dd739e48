package budgets_test

import (
	"context"
	"math"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

// Rule (H-005, H-008): what a provider reports is hostile input. An explicit nothing is nothing; what is missing,
// negative or above what the call could use is estimated, cut to the call and marked. No charge is above the hold.
func TestWhatAProviderReports(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reported *budgets.Measure
		estimate int64
		charged  int64
		source   budgets.Source
	}{
		"what it used":                {&budgets.Measure{Input: 3, Output: 4}, 9, 7, budgets.Reported},
		"everything that it could":    {new(input(10)), 1, 10, budgets.Reported},
		"nothing, said explicitly":    {&budgets.Measure{}, 9, 0, budgets.Reported},
		"nothing said":                {nil, 6, 6, budgets.Estimated},
		"below nothing":               {&budgets.Measure{Input: -1, Output: 5}, 6, 6, budgets.Estimated},
		"more than it could":          {new(input(11)), 6, 6, budgets.Estimated},
		"so much that sums overflow":  {&budgets.Measure{Input: math.MaxInt64, Output: math.MaxInt64}, 6, 6, budgets.Estimated},
		"another kind of thing":       {&budgets.Measure{Audio: time.Hour}, 6, 6, budgets.Estimated},
		"nothing, and a wild guess":   {nil, math.MaxInt64, 10, budgets.Estimated},
		"nothing, and a guess below0": {nil, -5, 0, budgets.Estimated},
	}
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, nil)
		var spent int64
		for name, c := range cases {
			_, hold := r.hold(0, text(10))
			r.call(hold, 10, c.reported, c.estimate)
			hold.Close()
			spent += c.charged
			rows := r.ledger()
			entry := rows[len(rows)-1]
			if entry.ChargedMicros != c.charged || entry.Source != string(c.source) || entry.HeldMicros != 10 || entry.InputTokens+entry.OutputTokens != c.charged {
				t.Errorf("%s: the ledger has %+v, want a charge of %d, %s", name, entry, c.charged, c.source)
			}
		}
		r.stands(spent, 0)
	})
}

// Rule: every call is written into the ledger: who, with what, about what, by whom, at which price, how it ended.
func TestTheLedgerTellsEverythingOfACall(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, nil)
		purse := r.budgets.Purses().Of(budgets.Payer{OrganizationID: r.org, UserID: r.users[1], TokenID: 7}).About(8)
		_, hold, err := purse.Hold(t.Context(), audio(90))
		if err != nil {
			t.Fatal(err)
		}
		if err := hold.Send(t.Context(), audio(90).Most); err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		leave()
		// A caller that has left is charged all the same.
		if err := hold.Settle(ctx, budgets.Canceled, nil, budgets.Measure{Audio: 60500 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		hold.Close()
		got := r.ledger()[0]
		if got.UserID != r.users[1] || *got.TokenID != 7 || *got.RecordingID != 8 || got.Operation != "transcription" || got.Provider != "there" ||
			got.Model != "plain" || got.Price != "0.00006 USD per minute" || got.Month != "2026-03" || got.Day != "2026-03-15" || got.AudioSeconds != 60.5 ||
			got.HeldMicros != 90 || got.ChargedMicros != 61 || got.Source != "estimated" || got.Outcome != "canceled" || !got.OccurredAt.Equal(r.now) {
			t.Errorf("the ledger has %+v", got)
		}
		for _, user := range []int64{0, r.users[1]} {
			if month := r.month(user); month.Spent != (models.Amount{Micros: 61, Seconds: 61}) || month.Held != (models.Amount{}) {
				t.Errorf("the month of %d is %+v", user, month)
			}
		}
	})
}

// Rule: a change whose answer was lost is not done twice: what the database has kept is what counts.
func TestAnAnswerThatWasLostIsNotSettledTwice(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, nil)
		_, hold := r.hold(0, text(10))
		r.call(hold, 4, new(input(4)), 0)
		if err := hold.Settle(t.Context(), budgets.Done, new(input(4)), input(4)); err == nil {
			t.Error("a call was settled twice")
		}
		if err := hold.Send(t.Context(), input(6)); err != nil {
			t.Fatal(err)
		}
		// As if the process had settled the call and lost the answer: the row has gone on without it.
		r.write(func(tx *gorm.DB) error {
			return tx.Exec("UPDATE budget_holds SET sent = false, calls = calls + 1").Error
		})
		if err := hold.Settle(t.Context(), budgets.Done, new(input(6)), input(6)); err == nil {
			t.Error("a call was settled that the database has settled")
		}
		hold.Close()
		r.stands(4, 0)

		// As if the answer to Send was lost: then the call is not made, and nothing is charged for it.
		_, unsent := r.hold(0, text(10))
		r.write(func(tx *gorm.DB) error { return tx.Exec("UPDATE budget_holds SET sent = true, call_micros = 10").Error })
		unsent.Close()
		r.stands(4, 0)
	})
}

// Rule (H-008): tokens may cost more to write than to read; however an estimate is spread, no charge is above the hold.
func TestAnEstimateIsCutInMoneyToo(t *testing.T) {
	t.Parallel()
	r := newRig(t, modelstest.SQLite(t), nil)
	work := text(10)
	work.Model = "uneven"
	_, hold := r.hold(0, work)
	if err := hold.Send(t.Context(), input(10)); err != nil {
		t.Fatal(err)
	}
	if err := hold.Settle(t.Context(), budgets.Done, &budgets.Measure{Output: 10}, budgets.Measure{Output: 10}); err != nil {
		t.Fatal(err)
	}
	hold.Close()
	r.stands(10, 0)
	if entry := r.ledger()[0]; entry.ChargedMicros != 10 || entry.Source != "estimated" {
		t.Errorf("the ledger has %+v", entry)
	}
}
