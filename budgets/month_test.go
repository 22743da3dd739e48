package budgets_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

// Rule (H-004): the month is that of the organization's time zone, computed at the call. Nothing runs at its end.
func TestTheMonthOfTokyo(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, nil)
		r.write(func(tx *gorm.DB) error { return tx.Exec("UPDATE organizations SET time_zone = 'Asia/Tokyo'").Error })
		tokyo, err := time.LoadLocation("Asia/Tokyo")
		if err != nil {
			t.Fatal(err)
		}
		r.now = time.Date(2026, time.March, 31, 23, 59, 0, 0, tokyo)
		r.set(r.organization(), budgets.SetMicros(new(int64(10))))
		r.spend(0, 10)
		_, _, err = r.purse(0).Hold(t.Context(), text(1))
		refused(t, err, map[string]any{"resets_at": "2026-03-31T15:00:00Z"})

		r.now = time.Date(2026, time.April, 1, 0, 0, 1, 0, tokyo)
		r.spend(0, 7)
		rows := r.ledger()
		if rows[0].Month != "2026-03" || rows[0].Day != "2026-03-31" || rows[1].Month != "2026-04" || rows[1].Day != "2026-04-01" {
			t.Errorf("the ledger tells the days %s and %s", rows[0].Day, rows[1].Day)
		}
		r.stands(7, 0)
	})
}

// Rule: what was held before midnight is settled in the month in which it was held.
func TestACallOverTheEndOfTheMonth(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, nil)
		r.now = time.Date(2026, time.March, 31, 23, 59, 59, 0, time.UTC)
		_, hold := r.hold(0, text(10))
		r.now = r.now.Add(time.Minute)
		r.call(hold, 10, new(input(4)), 0)
		hold.Close()
		var rows []models.BudgetMonth
		if err := db.Read.Where("user_id = 0").Find(&rows).Error; err != nil {
			t.Fatal(err)
		}
		if len(rows) != 1 || rows[0].Month != "2026-03" || rows[0].Spent.Micros != 4 || rows[0].Held.Micros != 0 {
			t.Errorf("the months are %+v", rows)
		}
	})
}

// told remembers alerts.
type told struct {
	alerts []string
	fault  error
}

func (a *told) BudgetThreshold(_ *gorm.DB, _, user int64, data map[string]any, _ time.Time) error {
	a.alerts = append(a.alerts, fmt.Sprintf("%s %v by %d at %v of %v", data["scope"], data["threshold"], user, data["spent"], data["budget"]))
	return a.fault
}

// Rule: alerts are told at 50, 80 and 100 percent, once each per month, of the organization's budget and the account's.
func TestAlertsAreToldOnceAMonth(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		alerts := &told{}
		r := newRig(t, db, func(o *budgets.Options) { o.Announcer = alerts })
		expect := func(want ...string) {
			t.Helper()
			if !slices.Equal(alerts.alerts, want) {
				t.Errorf("told %q, want %q", alerts.alerts, want)
			}
			alerts.alerts = nil
		}
		r.set(r.organization(), budgets.SetMicros(new(int64(1000))))
		r.set(r.account(1), budgets.SetMicros(new(int64(100))))
		r.spend(0, 499)
		expect()
		r.spend(0, 1)
		expect("organization 50 by " + fmt.Sprint(r.users[0]) + " at 0.0005 of 0.001")
		r.spend(1, 90)
		expect("account 50 by "+fmt.Sprint(r.users[1])+" at 9e-05 of 0.0001", "account 80 by "+fmt.Sprint(r.users[1])+" at 9e-05 of 0.0001")
		r.spend(0, 10)
		r.set(r.organization(), budgets.SetMicros(new(int64(1100))))
		r.spend(0, 1)
		expect()
		// A hard budget is seldom spent to the last cent: what is refused because the rest does not suffice tells it too.
		refused(t, r.purse(1).Affords(t.Context(), text(11)), nil)
		_, _, err := r.purse(1).Hold(t.Context(), text(11))
		refused(t, err, map[string]any{"scope": "account"})
		expect("account 100 by " + fmt.Sprint(r.users[1]) + " at 9e-05 of 0.0001")
		// Work that is larger than what is left of a budget of which most is left says nothing of the month.
		r.set(r.account(0), budgets.SetMicros(new(int64(10_000))))
		_, _, err = r.purse(0).Hold(t.Context(), text(10_001))
		refused(t, err, nil)
		expect()

		r.now = r.now.AddDate(0, 1, 0)
		r.spend(0, 1100)
		expect("organization 50 by "+fmt.Sprint(r.users[0])+" at 0.0011 of 0.0011", "organization 80 by "+fmt.Sprint(r.users[0])+" at 0.0011 of 0.0011",
			"organization 100 by "+fmt.Sprint(r.users[0])+" at 0.0011 of 0.0011")
		r.set(r.organization(), budgets.SetMicros(nil))
		r.spend(1, 90)
		alerts.alerts = nil
		_, _, err = r.purse(1).Hold(t.Context(), text(11))
		refused(t, err, map[string]any{"scope": "account"})
		expect("account 100 by " + fmt.Sprint(r.users[1]) + " at 9e-05 of 0.0001")
	})
}

// Rule: an alert is kept with its cause or not at all, and an account that was deleted meanwhile is in nobody's way.
func TestAnAlertIsKeptWithItsCause(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		alerts := &told{fault: errors.New("no")}
		r := newRig(t, db, func(o *budgets.Options) { o.Announcer = alerts })
		r.set(r.organization(), budgets.SetMicros(new(int64(10))))
		_, hold := r.hold(0, text(10))
		if err := hold.Send(t.Context(), input(10)); err != nil {
			t.Fatal(err)
		}
		if err := hold.Settle(t.Context(), budgets.Done, new(input(10)), input(0)); err == nil {
			t.Error("settled without its alert")
		}
		r.stands(0, 10)
		alerts.alerts, alerts.fault = nil, nil
		r.write(func(tx *gorm.DB) error { return tx.Where("id = ?", r.users[0]).Delete(&models.User{}).Error })
		if err := hold.Settle(t.Context(), budgets.Done, new(input(10)), input(0)); err != nil {
			t.Fatal(err)
		}
		hold.Close()
		r.stands(10, 0)
		if len(alerts.alerts) != 0 {
			t.Errorf("an account that is gone was told %q", alerts.alerts)
		}
	})
}

// Rule: work that ends because what is left does not suffice for its next call tells the last threshold too.
func TestAnAlertInTheMiddleOfWork(t *testing.T) {
	t.Parallel()
	alerts := &told{}
	r := newRig(t, modelstest.SQLite(t), func(o *budgets.Options) { o.Announcer = alerts })
	r.set(r.organization(), budgets.SetMicros(new(int64(100))))
	_, hold := r.hold(0, text(60))
	defer hold.Close()
	r.call(hold, 60, new(input(60)), 0)
	refused(t, hold.Send(t.Context(), input(50)), nil)
	if len(alerts.alerts) != 3 {
		t.Errorf("told %q, want all three thresholds", alerts.alerts)
	}
}
