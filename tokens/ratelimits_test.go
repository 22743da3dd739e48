package tokens_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tokens"
)

// reading is a read limit of tokens of 120 per minute, with every other limit off.
func reading() *limits.InForce {
	figures := authtest.NoFigures()
	figures[limits.TokenRead] = []limits.Rate{{Limit: 120, Period: time.Minute}}
	return limits.NewInForce(figures, nil)
}

// lowered is what the guard is told of a token's read limit.
func lowered(t testing.TB, store *tokens.Tokens, plaintext string) string {
	t.Helper()
	found, ok, err := store.FindToken(context.Background(), sha256.Sum256([]byte(plaintext)))
	if err != nil || !ok {
		t.Fatalf("found %v, %v", ok, err)
	}
	var rates []string
	for _, rate := range found.RateLimits[limits.TokenRead] {
		rates = append(rates, fmt.Sprintf("%d/%s", rate.Limit, rate.Period))
	}
	return strings.Join(rates, ";")
}

// The owner of a token may want less for it: the guard is told so, a change is counted so that every process hears of
// it, and what is wanted no longer is gone.
func TestATokenHasLowerLimitsOfItsOwn(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		user := newUser(t, db, "ann")
		store := tokens.New(db, tokens.Options{Figures: reading()})
		wish := tokens.Wish{UserID: user.ID, RateLimits: map[string]string{"read": "60/minute;1000 per day", "process": "1-H"}}
		plaintext, token := create(t, store, wish)
		if got := lowered(t, store, plaintext); got != "60/1m0s;1000/24h0m0s" {
			t.Errorf("the guard is told %q", got)
		}
		if got := fmt.Sprint(token.RateLimits.Written()); got != "map[process:1 per hour read:60 per minute;1000 per day]" {
			t.Errorf("the owner is told %s", got)
		}
		before := counted(t, store)
		altered, err := store.Alter(context.Background(), user.ID, token.ID, tokens.Change{RateLimits: map[string]string{}})
		if err != nil || altered.RateLimits.Written() != nil || lowered(t, store, plaintext) != "" {
			t.Errorf("taken away: %v, %v, the guard is told %q", altered.RateLimits, err, lowered(t, store, plaintext))
		}
		if counted(t, store) == before {
			t.Error("the change was not counted")
		}
	})
}

// Limits of a token that are wrong, or above what is in force in the same window, are refused by name and change
// nothing.
func TestATokensOwnLimitsCanOnlyBeLower(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	user := newUser(t, db, "ann")
	store := tokens.New(db, tokens.Options{Figures: reading()})
	plaintext, token := create(t, store, tokens.Wish{UserID: user.ID, RateLimits: map[string]string{"read": "120/minute"}})
	for _, wrong := range []struct{ category, text, told string }{
		{"read", "121 per minute", "rate_limits.read: 121 per minute is above the 120 per minute"},
		{"read", "5/second;500/minute", "500 per minute is above the 120 per minute"},
		{"read", "0", "cannot be 0"},
		{"read", "", "leave the category out"},
		{"read", "lots", "must be a limit such as"},
		{"write", "1 per 7 seconds", "a second, a minute, an hour or a day"},
		{"read", strings.Repeat("1/second;", 30), "at most 200 characters"},
		{"admin", "1/minute", "may name read, write and process"},
	} {
		written := map[string]string{wrong.category: wrong.text}
		_, err := store.Alter(context.Background(), user.ID, token.ID, tokens.Change{RateLimits: written})
		if problem := expectProblem(t, err, problems.InvalidParameter, wrong.text); problem != nil && !strings.Contains(problem.Message, wrong.told) {
			t.Errorf("%v: %s", written, problem.Message)
		}
		_, _, err = store.Create(context.Background(), tokens.Wish{UserID: user.ID, RateLimits: written})
		expectProblem(t, err, problems.InvalidParameter, wrong.text)
	}
	if got := lowered(t, store, plaintext); got != "120/1m0s" {
		t.Errorf("after refused changes the guard is told %q", got)
	}
	if list := names(t, store, user.ID); len(list) != 1 {
		t.Errorf("refused creates left %v", list)
	}
}

// A token that manages tokens keeps itself and what it makes within its own limits.
func TestATokenDoesNotShedItsLimits(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	user, ctx := newUser(t, db, "ann"), context.Background()
	store := tokens.New(db, tokens.Options{Figures: reading()})
	plaintext, maker := create(t, store, tokens.Wish{UserID: user.ID, RateLimits: map[string]string{"read": "10/minute"}})
	made, _ := create(t, store, tokens.Wish{UserID: user.ID, By: maker.ID, RateLimits: map[string]string{"read": "50/minute;3/second"}})
	if got := lowered(t, store, made); got != "10/1m0s;3/1s" {
		t.Errorf("what it made: %q", got)
	}
	other, free := create(t, store, tokens.Wish{UserID: user.ID})
	for _, id := range []int64{maker.ID, free.ID} {
		if _, err := store.Alter(ctx, user.ID, id, tokens.Change{RateLimits: map[string]string{}, By: maker.ID}); err != nil {
			t.Fatal(err)
		}
	}
	if itself, another := lowered(t, store, plaintext), lowered(t, store, other); itself != "10/1m0s" || another != "10/1m0s" {
		t.Errorf("itself %q, another %q", itself, another)
	}
	successor, _, err := store.Rotate(ctx, user.ID, maker.ID, 0, maker.ID)
	if err != nil || lowered(t, store, successor) != "10/1m0s" {
		t.Errorf("its successor: %v", err)
	}
}

// What an administrator gave a token goes to its successor: nobody sheds a figure by rotating.
func TestRotationKeepsTheAdministratorsFigures(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		user, ctx := newUser(t, db, "ann"), context.Background()
		store := tokens.New(db, tokens.Options{Figures: reading()})
		_, token := create(t, store, tokens.Wish{UserID: user.ID})
		write(t, db, func(tx *gorm.DB) error {
			return tx.Create(&models.LimitFigure{TokenID: &token.ID, Plan: "token_read", Figures: "3 per minute"}).Error
		})
		_, successor, err := store.Rotate(ctx, user.ID, token.ID, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		var inherited models.LimitFigure
		if err := db.Read.Where("token_id = ?", successor.ID).Take(&inherited).Error; err != nil || inherited.Figures != "3 per minute" {
			t.Errorf("the successor has %+v, %v", inherited, err)
		}
		var counter models.ChangeCounter
		if err := db.Read.Where("name = ?", models.FiguresCounter).Take(&counter).Error; err != nil || counter.Value != 1 {
			t.Errorf("the change of figures was counted %d times, %v", counter.Value, err)
		}
	})
}

// A row whose limits cannot be read lets nobody in without them.
func TestLimitsThatCannotBeReadAreAnError(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	user := newUser(t, db, "ann")
	store := tokens.New(db, tokens.Options{Figures: reading()})
	plaintext, token := create(t, store, tokens.Wish{UserID: user.ID})
	for _, broken := range []string{"", "{", `{"read":"lots"}`, `{"reed":"1 per minute"}`, `[]`} {
		write(t, db, func(tx *gorm.DB) error {
			return tx.Model(&models.APIToken{}).Where("id = ?", token.ID).Update("rate_limits", broken).Error
		})
		if _, ok, err := store.FindToken(context.Background(), sha256.Sum256([]byte(plaintext))); err == nil || ok {
			t.Errorf("%q: found %v, %v", broken, ok, err)
		}
	}
}
