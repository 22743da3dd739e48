package budgets_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/budgets/budgetstest"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// tariff makes sums easy to read: a token and a second of audio cost a micro-dollar each.
const tariff = "currency: USD\ntext:\n  - {model: plain, input: 1, output: 1}\n  - {model: uneven, input: 1, output: 10}\naudio:\n  - {model: plain, per_minute: 0.00006}\n"

// rig is a database with one organization and two accounts of it.
type rig struct {
	t       testing.TB
	db      *models.DB
	budgets *budgets.Budgets
	org     int64
	users   []int64
	now     time.Time
}

func newRig(t testing.TB, db *models.DB, change func(*budgets.Options)) *rig {
	t.Helper()
	r := &rig{t: t, db: db, now: time.Date(2026, time.March, 15, 12, 0, 0, 0, time.UTC)}
	organization := models.Organization{Slug: "ours", Name: "Ours", TimeZone: "UTC"}
	r.write(func(tx *gorm.DB) error { return tx.Create(&organization).Error })
	r.org = organization.ID
	for _, name := range []string{"ada", "bob"} {
		user := models.User{OrganizationID: r.org, Email: name + "@example.org", Username: name, PasswordHash: "x", Role: "editor"}
		r.write(func(tx *gorm.DB) error { return tx.Create(&user).Error })
		r.users = append(r.users, user.ID)
	}
	r.budgets = budgetstest.New(t, db, tariff, func(o *budgets.Options) {
		o.Now = func() time.Time { return r.now }
		o.Engines = map[budgets.Price]budgets.Engine{budgets.Transcription: audio(0).Engine, budgets.Text: text(0).Engine}
		if change != nil {
			change(o)
		}
	})
	return r
}

func (r *rig) write(change func(tx *gorm.DB) error) {
	r.t.Helper()
	if err := r.db.Transaction(context.Background(), change); err != nil {
		r.t.Fatal(err)
	}
}

// organization and account are whose budget is set.
func (r *rig) organization() budgets.Subject { return budgets.Subject{OrganizationID: r.org} }
func (r *rig) account(i int) budgets.Subject { return budgets.Subject{UserID: r.users[i]} }

func (r *rig) set(subject budgets.Subject, changes ...budgets.Change) {
	r.t.Helper()
	if _, err := r.budgets.Set(context.Background(), subject, changes...); err != nil {
		r.t.Fatal(err)
	}
}

// purse is that of an account.
func (r *rig) purse(i int) budgets.Purse {
	return r.budgets.Purses().Of(budgets.Payer{OrganizationID: r.org, UserID: r.users[i]})
}

// text is work of so many micro-dollars and tokens; audio of so many micro-dollars and seconds.
func text(tokens int64) budgets.Work {
	return budgets.Work{Operation: budgets.Chatting, Engine: budgets.Engine{Provider: "there", Model: "plain"}, Most: input(tokens)}
}

func audio(seconds int64) budgets.Work {
	return budgets.Work{
		Operation: budgets.Transcribing, Engine: budgets.Engine{Provider: "there", Model: "plain"},
		Most: budgets.Measure{Audio: time.Duration(seconds) * time.Second},
	}
}

func input(tokens int64) budgets.Measure { return budgets.Measure{Input: tokens} }

// hold holds what must have room, and closes it at the end of the test at the latest.
func (r *rig) hold(i int, work budgets.Work) (context.Context, *budgets.Hold) {
	r.t.Helper()
	ctx, hold, err := r.purse(i).Hold(r.t.Context(), work)
	if err != nil {
		r.t.Fatal(err)
	}
	return ctx, hold
}

// call sends and settles one call.
func (r *rig) call(hold *budgets.Hold, most int64, reported *budgets.Measure, estimate int64) {
	r.t.Helper()
	if err := hold.Send(r.t.Context(), input(most)); err != nil {
		r.t.Fatal(err)
	}
	if err := hold.Settle(r.t.Context(), budgets.Done, reported, input(estimate)); err != nil {
		r.t.Fatal(err)
	}
}

// spend makes one call that costs what it says.
func (r *rig) spend(i int, micros int64) {
	r.t.Helper()
	_, hold := r.hold(i, text(micros))
	r.call(hold, micros, new(input(micros)), 0)
	hold.Close()
}

// month is what is spent and held, of the organization where user is 0.
func (r *rig) month(user int64) models.BudgetMonth {
	r.t.Helper()
	var rows []models.BudgetMonth
	err := r.db.Read.Where("organization_id = ? AND user_id = ?", r.org, user).Order("month DESC").Limit(1).Find(&rows).Error
	if err != nil {
		r.t.Fatal(err)
	}
	if len(rows) == 0 {
		return models.BudgetMonth{}
	}
	return rows[0]
}

// stands expects the micro-dollars that the organization has spent and that are held.
func (r *rig) stands(spent, held int64) {
	r.t.Helper()
	row := r.month(0)
	if row.Spent.Micros != spent || row.Held.Micros != held {
		r.t.Errorf("%d spent and %d held, want %d and %d", row.Spent.Micros, row.Held.Micros, spent, held)
	}
}

func (r *rig) ledger() []models.LedgerEntry {
	r.t.Helper()
	var rows []models.LedgerEntry
	if err := r.db.Read.Order("id").Find(&rows).Error; err != nil {
		r.t.Fatal(err)
	}
	return rows
}

func (r *rig) holds() int64 {
	r.t.Helper()
	count, err := r.budgets.Holds(context.Background(), r.org, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	return count
}

// die lets the lease of every hold run out.
func (r *rig) die() {
	r.write(func(tx *gorm.DB) error {
		return tx.Model(&models.BudgetHold{}).Where("id > 0").UpdateColumn("held_until", time.Unix(0, 0).UTC()).Error
	})
}

// refused expects budget_exceeded with these members.
func refused(t testing.TB, err error, want map[string]any) *problems.Error {
	t.Helper()
	if !problems.Is(err, problems.BudgetExceeded) {
		t.Fatalf("want budget_exceeded, got %v", err)
	}
	refusal := problems.Of(err)
	for name, value := range want {
		if got := fmt.Sprint(refusal.Fields[name]); got != fmt.Sprint(value) {
			t.Errorf("%s is %v, want %v: %v", name, got, value, refusal)
		}
	}
	return refusal
}
