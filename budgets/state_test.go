package budgets_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
)

// Rule: what is set is what is stored and what holds; each change leaves the others, and bad ones change nothing.
func TestSettingABudget(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, nil)
		micros, tokens, seconds := int64(25_000_000), int64(3), int64(4)
		r.set(r.account(0), budgets.SetMicros(&micros), budgets.SetTokens(&tokens))
		r.set(r.account(0), budgets.SetSeconds(&seconds))
		r.set(r.account(0), budgets.SetTokens(nil))
		for _, change := range []budgets.Change{
			budgets.SetMicros(new(int64(-1))), budgets.SetTokens(new(int64(budgets.MaxTokens + 1))), budgets.SetSeconds(new(int64(budgets.MaxSeconds + 1))),
		} {
			if _, err := r.budgets.Set(t.Context(), r.account(0), budgets.SetMicros(new(int64(1))), change); !problems.Is(err, problems.InvalidParameter) {
				t.Errorf("out of bounds: %v", err)
			}
		}
		stored, err := r.budgets.Stored(t.Context(), r.account(0))
		if err != nil || !reflect.DeepEqual(stored, budgets.Stored{Micros: &micros, Seconds: &seconds}) {
			t.Errorf("stored is %+v, %v", stored, err)
		}
		if stored, err := r.budgets.Stored(t.Context(), r.organization()); err != nil || stored != (budgets.Stored{}) {
			t.Errorf("nothing was set for the organization, and it has %+v, %v", stored, err)
		}
		for _, nobody := range []budgets.Subject{{OrganizationID: 999}, {UserID: 999}} {
			if _, err := r.budgets.Set(t.Context(), nobody, budgets.SetMicros(nil)); !problems.Is(err, problems.NotFound) {
				t.Errorf("nobody has a budget: %v", err)
			}
			if _, err := r.budgets.Stored(t.Context(), nobody); !problems.Is(err, problems.NotFound) {
				t.Errorf("nobody has a budget: %v", err)
			}
		}
		for _, wrong := range []budgets.Subject{{}, {OrganizationID: r.org, UserID: r.users[0]}} {
			if _, err := r.budgets.Set(t.Context(), wrong, budgets.SetMicros(nil)); err == nil {
				t.Error("a budget of nobody, or of two, was set")
			}
		}
	})
}

// Rule: the state of a month tells what was spent, what is held, what is left and when it ends.
func TestTheStateOfAMonth(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, func(o *budgets.Options) { o.Default = new(int64(100)) })
		r.spend(0, 60)
		r.set(r.account(0), budgets.SetTokens(new(int64(40))))
		_, hold := r.hold(1, text(15))
		defer hold.Close()
		month, err := r.budgets.Month(t.Context(), r.org, "")
		if err != nil || month.Name != "2026-03" || month.Zone != "UTC" || month.ResetsAt.Format("2006-01-02T15:04") != "2026-04-01T00:00" {
			t.Fatalf("the month is %+v, %v", month, err)
		}
		state := func(user int64, month budgets.Month) budgets.State {
			t.Helper()
			state, err := r.budgets.State(t.Context(), r.org, user, month)
			if err != nil {
				t.Fatal(err)
			}
			return state
		}
		whole, ada := state(0, month), state(r.users[0], month)
		if whole.Money.Spent != 60 || whole.Money.Held != 15 || *whole.Money.Budget != 100 || *whole.Money.Left() != 25 || fmt.Sprint(whole.Alerted) != "[50]" {
			t.Errorf("the organization's state is %+v", whole)
		}
		if ada.Money.Spent != 60 || ada.Money.Left() != nil || ada.Tokens.Spent != 60 || *ada.Tokens.Left() != 0 || len(ada.Alerted) != 0 {
			t.Errorf("the account's state is %+v", ada)
		}
		before, err := r.budgets.Month(t.Context(), r.org, "2026-02")
		if err != nil || state(0, before).Money.Spent != 0 || before.ResetsAt.Format("01-02") != "03-01" {
			t.Errorf("the month before is %+v, %v", before, err)
		}
		for _, wrong := range []string{"2026-13", "2026-3", "march", "2026-03-01", "99999-01", " 2026-03"} {
			if _, err := r.budgets.Month(t.Context(), r.org, wrong); !problems.Is(err, problems.InvalidParameter) {
				t.Errorf("the month %q: %v", wrong, err)
			}
		}
	})
}

// Rule: the ledger is told by day, operation, model and token, in pages, and adds up however it is grouped. What belongs
// to a token that is gone is told without its name.
func TestTheLedgerIsGrouped(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, nil)
		token := models.APIToken{UserID: r.users[0], Name: "n8n", TokenHash: strings.Repeat("a", 64), Scopes: "full"}
		r.write(func(tx *gorm.DB) error { return tx.Create(&token).Error })
		with := func(user int, id int64, work budgets.Work, micros int64, settled bool) {
			t.Helper()
			purse := r.budgets.Purses().Of(budgets.Payer{OrganizationID: r.org, UserID: r.users[user], TokenID: id})
			_, hold, err := purse.Hold(t.Context(), work)
			if err == nil {
				err = hold.Send(t.Context(), work.Most)
			}
			if err == nil && settled {
				err = hold.Settle(t.Context(), budgets.Done, nil, budgets.Measure{Output: micros, Audio: work.Most.Audio})
			}
			if err != nil {
				t.Fatal(err)
			}
			hold.Close()
		}
		with(0, token.ID, text(10), 3, true)
		with(0, token.ID, text(10), 4, true)
		with(0, 999, text(10), 5, false)
		with(1, 0, audio(7), 0, true)
		r.now = r.now.AddDate(0, 0, 1)
		with(0, token.ID, text(10), 6, true)

		sums := r.sums(r.users[0], budgets.Groupings()...)
		if len(sums) != 3 {
			t.Fatalf("there are %d sums, want 3: %+v", len(sums), sums)
		}
		first, gone, last := sums[0], sums[1], sums[2]
		if *first.Day != "2026-03-15" || *first.Operation != "chat" || *first.Provider != "there" || *first.Model != "plain" || *first.TokenID != token.ID ||
			*first.TokenName != "n8n" || first.Calls != 2 || first.OutputTokens != 7 || first.ChargedMicros != 7 || first.Estimated != 2 || first.Unknown != 0 {
			t.Errorf("the first sum is %+v", first)
		}
		if *gone.TokenID != 999 || gone.TokenName != nil || gone.ChargedMicros != 10 || gone.Unknown != 1 || *last.Day != "2026-03-16" {
			t.Errorf("the others are %+v and %+v", gone, last)
		}
		for _, by := range [][]budgets.Grouping{{budgets.ByDay}, {budgets.ByOperation}, {budgets.ByModel}, {budgets.ByToken}, budgets.Groupings()} {
			var charged, calls int64
			for _, sum := range r.sums(0, by...) {
				charged, calls = charged+sum.ChargedMicros, calls+sum.Calls
			}
			if charged != 30 || calls != 5 {
				t.Errorf("by %v the ledger adds up to %d of %d calls", by, charged, calls)
			}
		}
		if byModel := r.sums(0, budgets.ByModel)[0]; byModel.Day != nil || byModel.TokenID != nil || byModel.AudioSeconds != 7 {
			t.Errorf("by model it tells %+v", byModel)
		}
		page, total, err := r.budgets.Ledger(t.Context(), r.query(0, 2, 2, budgets.Groupings()...))
		if err != nil || total != 4 || len(page) != 2 || *page[1].Day != "2026-03-16" {
			t.Errorf("the second page has %d of %d, %v", len(page), total, err)
		}
		heard, err := r.budgets.AudioCharged(t.Context(), r.org, r.users[1], r.query(0, 1, 1).Month)
		if err != nil || heard != 7 {
			t.Errorf("the audio came to %d, %v", heard, err)
		}
		used, err := r.budgets.Everywhere(t.Context(), r.query(0, 1, 1).Month)
		if whole, _ := r.budgets.State(t.Context(), r.org, 0, r.query(0, 1, 1).Month); err != nil || used.Audio != 7 ||
			used.Seconds != 7 || used.Tokens != whole.Tokens.Spent || used.Tokens == 0 {
			t.Errorf("everywhere %+v was used, %v", used, err)
		}
	})
}

func (r *rig) query(user int64, page, perPage int, by ...budgets.Grouping) budgets.LedgerQuery {
	r.t.Helper()
	month, err := r.budgets.Month(context.Background(), r.org, "")
	if err != nil {
		r.t.Fatal(err)
	}
	query := budgets.LedgerQuery{OrganizationID: r.org, UserID: user, Month: month, By: map[budgets.Grouping]bool{}, Page: page, PerPage: perPage}
	for _, grouping := range by {
		query.By[grouping] = true
	}
	return query
}

func (r *rig) sums(user int64, by ...budgets.Grouping) []budgets.LedgerSum {
	r.t.Helper()
	sums, total, err := r.budgets.Ledger(context.Background(), r.query(user, 1, 100, by...))
	if err != nil || total != int64(len(sums)) {
		r.t.Fatalf("%d sums of %d: %v", len(sums), total, err)
	}
	return sums
}
