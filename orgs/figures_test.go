package orgs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/orgs"
)

// member makes an organization with one account and returns both ids.
func member(t testing.TB, db *models.DB, slug string) (organization, account int64) {
	t.Helper()
	user := modelstest.Account(t, db, slug, slug, "editor")
	return user.OrganizationID, user.ID
}

func rates(t testing.TB, text string) *config.Rates {
	t.Helper()
	parsed, err := config.ParseRates(text)
	if err != nil {
		t.Fatal(err)
	}
	return &parsed
}

func set(t testing.TB, figures *orgs.Figures, kind limits.Subject, id int64, wanted map[*limits.Plan]*config.Rates) {
	t.Helper()
	if err := figures.Set(context.Background(), orgs.Subject{Kind: kind, ID: id}, wanted); err != nil {
		t.Fatal(err)
	}
}

// told is what figures say of a plan and an id, "configured" where they have nothing.
func told(figures *orgs.Figures, plan *limits.Plan, id int64) string {
	own, found := figures.Rates(plan, id)
	if !found {
		return "configured"
	}
	return config.Rates(own).String()
}

// A figure holds for the one whom it was given to and for nobody else, can be changed, be 0, and be taken away again.
func TestAFigureIsOneSubjectsOwn(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		organization, user := member(t, db, "acme")
		_, other := member(t, db, "other")
		figures := orgs.NewFigures(db, orgs.FiguresOptions{})
		set(t, figures, limits.Account, user, map[*limits.Plan]*config.Rates{
			limits.AccountRead: rates(t, "500 per minute;9000 per day"), limits.UserAI: rates(t, "0"),
		})
		set(t, figures, limits.Organization, organization, map[*limits.Plan]*config.Rates{limits.OrganizationAI: rates(t, "7/minute")})
		for _, row := range []struct {
			plan *limits.Plan
			id   int64
			want string
		}{
			{limits.AccountRead, user, "500 per minute;9000 per day"},
			{limits.UserAI, user, "0"},
			{limits.AccountWrite, user, "configured"},
			{limits.AccountRead, other, "configured"},
			{limits.OrganizationAI, organization, "7 per minute"},
		} {
			if got := told(figures, row.plan, row.id); got != row.want {
				t.Errorf("%s of %d is %s, want %s", row.plan.Name, row.id, got, row.want)
			}
		}
		set(t, figures, limits.Account, user, map[*limits.Plan]*config.Rates{limits.AccountRead: rates(t, "9/minute"), limits.UserAI: nil})
		if a, b := told(figures, limits.AccountRead, user), told(figures, limits.UserAI, user); a != "9 per minute" || b != "configured" {
			t.Errorf("after the change: %s and %s", a, b)
		}
	})
}

// A change holds within a second in every other process that has started.
func TestAFigureIsHeardOfEverywhereWithinASecond(t *testing.T) {
	t.Parallel()
	for name, databaseURL := range modelstest.Migrated.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := databaseURL(t)
			db := modelstest.Open(t, url, false)
			_, user := member(t, db, "acme")
			here := orgs.NewFigures(db, orgs.FiguresOptions{})
			there := orgs.NewFigures(modelstest.Open(t, url, false), orgs.FiguresOptions{})
			if err := there.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(there.Stop)
			for i := 1; i <= 3; i++ {
				want := fmt.Sprintf("%d per minute", i)
				set(t, here, limits.Account, user, map[*limits.Plan]*config.Rates{limits.AccountRead: rates(t, want)})
				changed := time.Now()
				for told(there, limits.AccountRead, user) != want {
					if time.Since(changed) > time.Second {
						t.Fatalf("%s: not heard of after %v", want, time.Since(changed))
					}
					<-time.After(5 * time.Millisecond)
				}
			}
		})
	}
}

// A figure is set for whom its limit counts by, and for one who is there; a set that fails changes nothing.
func TestAFigureIsForWhomItsLimitCounts(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		_, user := member(t, db, "acme")
		figures := orgs.NewFigures(db, orgs.FiguresOptions{})
		for _, wrong := range []struct {
			kind limits.Subject
			id   int64
			plan *limits.Plan
		}{
			{limits.Account, user, limits.TokenRead},
			{limits.Organization, 1, limits.UserAI},
			{limits.Address, 1, limits.SessionAddress},
			{limits.Account, user + 1000, limits.AccountRead},
		} {
			err := figures.Set(context.Background(), orgs.Subject{Kind: wrong.kind, ID: wrong.id},
				map[*limits.Plan]*config.Rates{wrong.plan: rates(t, "1/minute"), limits.AccountWrite: rates(t, "1/minute")})
			if err == nil {
				t.Errorf("%s was set for %s %d", wrong.plan.Name, wrong.kind, wrong.id)
			}
		}
		if got := told(figures, limits.AccountWrite, user); got != "configured" {
			t.Errorf("a failed set left %s", got)
		}
	})
}

// A limit that this version does not know, such as one of a newer version beside it, is left out and takes nothing else
// with it. A figure that cannot be read is an error, and what was known goes on holding.
func TestFiguresThatCannotBeRead(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	_, user := member(t, db, "acme")
	write := func(plan, text string) {
		t.Helper()
		err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
			if _, err := models.RaiseCounter(tx, models.FiguresCounter); err != nil {
				return err
			}
			return tx.Create(&models.LimitFigure{UserID: &user, Plan: plan, Figures: text}).Error
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	figures := orgs.NewFigures(db, orgs.FiguresOptions{})
	write("account_telepathy", "in brackets")
	write("account_read", "5 per minute")
	if err := figures.Read(context.Background()); err != nil {
		t.Fatal(err)
	}
	write("account_write", "lots")
	if err := figures.Read(context.Background()); err == nil {
		t.Error("a figure that cannot be read was no error")
	}
	if got := told(figures, limits.AccountRead, user); got != "5 per minute" {
		t.Errorf("what was known is now %s", got)
	}
}

// Administrators may set figures of one subject at the same time: each set is kept whole, one after the other.
func TestSetsAtTheSameTime(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		_, user := member(t, db, "acme")
		plans := []*limits.Plan{limits.AccountRead, limits.AccountWrite, limits.AccountProcess, limits.UserAI, limits.Status, limits.Search}
		var sets sync.WaitGroup
		for i := range 16 {
			sets.Go(func() {
				wanted := make(map[*limits.Plan]*config.Rates)
				for _, plan := range plans {
					wanted[plan] = rates(t, fmt.Sprintf("%d per minute", i+1))
				}
				set(t, orgs.NewFigures(db, orgs.FiguresOptions{}), limits.Account, user, wanted)
			})
		}
		sets.Wait()
		figures := orgs.NewFigures(db, orgs.FiguresOptions{})
		if err := figures.Read(context.Background()); err != nil {
			t.Fatal(err)
		}
		for _, plan := range plans {
			if got, want := told(figures, plan, user), told(figures, plans[0], user); got != want || got == "configured" {
				t.Errorf("%s is %s and %s is %s: two sets are mixed", plan.Name, got, plans[0].Name, want)
			}
		}
	})
}
