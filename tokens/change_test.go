package tokens_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tokens"
)

func expectRefusal(t testing.TB, err error) *limits.Refusal {
	t.Helper()
	var refusal *limits.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("the error is %v, want a refusal by a limit", err)
	}
	return refusal
}

// A token is renamed and narrowed; what would widen it changes nothing, not even the name beside it.
func TestATokenIsNarrowedAndNeverWidened(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		user, store := newUser(t, db, "ann"), tokens.New(db, tokens.Options{})
		_, token := create(t, store, tokens.Wish{UserID: user.ID, Name: named("before")})
		alter := func(change tokens.Change) (tokens.Token, error) { return store.Alter(ctx, user.ID, token.ID, change) }

		altered, err := alter(tokens.Change{Name: named("after"), Scopes: []string{"write", "read"}})
		if err != nil || altered.Name != "after" || altered.Scopes.Stored() != "read write" {
			t.Fatal(altered, err)
		}
		for about, scopes := range map[string][]string{
			"wider": {"read", "write", "upload"}, "full": {"full"}, "another": {"upload"}, "none": {}, "unknown": {"admin"},
		} {
			_, err := alter(tokens.Change{Name: named("mischief"), Scopes: scopes})
			expectProblem(t, err, problems.InvalidParameter, about)
		}
		if _, err := alter(tokens.Change{Scopes: []string{"read"}, Name: named("\n")}); err == nil {
			t.Error("a blank name was taken")
		}
		list, err := store.List(ctx, user.ID)
		if err != nil || list[0].Name != "after" || list[0].Scopes.Stored() != "read write" {
			t.Errorf("refused changes left %+v, %v", list, err)
		}
	})
}

// A rotation hands on name, scopes and end; the old token works through the overlap and no longer.
func TestRotationOverlaps(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx, clock := context.Background(), newClock()
		user := newUser(t, db, "ann")
		store := tokens.New(db, tokens.Options{MaxPerUser: 2, Now: clock.Now})
		old, token := create(t, store, tokens.Wish{UserID: user.ID, Name: named("bot"), Scopes: []string{"read"}, ExpiresInDays: 30})

		fresh, successor, err := store.Rotate(ctx, user.ID, token.ID, 2, 0)
		if err != nil {
			t.Fatal(err)
		}
		if successor.Name != "bot" || successor.Scopes.Stored() != "read" || !successor.ExpiresAt.Equal(*token.ExpiresAt) {
			t.Errorf("the successor is %+v", successor)
		}
		// The pair counts once: there is room for one other, as before, and no more.
		create(t, store, tokens.Wish{UserID: user.ID, Name: named("other")})
		_, _, err = store.Create(ctx, tokens.Wish{UserID: user.ID})
		expectProblem(t, err, problems.TokenLimitReached, "beside a rotating pair and another")

		clock.Advance(2*time.Hour - time.Second)
		if !works(t, store, old, clock.Now()) || !works(t, store, fresh, clock.Now()) {
			t.Error("within the overlap one of the pair does not work")
		}
		clock.Advance(time.Second)
		if works(t, store, old, clock.Now()) || !works(t, store, fresh, clock.Now()) {
			t.Error("after the overlap the old one works or the new one doesn't")
		}
		if list := names(t, store, user.ID); len(list) != 2 {
			t.Errorf("after the overlap %d tokens are listed", len(list))
		}
	})
}

// An overlap never outlives the token's own end, and without one the old token is dead at once.
func TestRotationBounds(t *testing.T) {
	t.Parallel()
	db, ctx, clock := modelstest.SQLite(t), context.Background(), newClock()
	user := newUser(t, db, "ann")
	store := tokens.New(db, tokens.Options{Now: clock.Now})
	old, token := create(t, store, tokens.Wish{UserID: user.ID, ExpiresInDays: 1})
	fresh, successor, err := store.Rotate(ctx, user.ID, token.ID, tokens.MaxOverlapHours, 0)
	if err != nil {
		t.Fatal(err)
	}
	if works(t, store, old, clock.Now().Add(24*time.Hour)) {
		t.Error("the overlap lengthened the life of the old token")
	}
	last, _, err := store.Rotate(ctx, user.ID, successor.ID, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if works(t, store, fresh, clock.Now()) || !works(t, store, last, clock.Now()) {
		t.Error("without an overlap the old token works or the new one doesn't")
	}
	for _, hours := range []int64{-1, tokens.MaxOverlapHours + 1} {
		_, _, err := store.Rotate(ctx, user.ID, successor.ID, hours, 0)
		expectProblem(t, err, problems.InvalidParameter, "overlap_hours")
	}
	clock.Advance(25 * time.Hour)
	_, _, err = store.Rotate(ctx, user.ID, token.ID+2, 0, 0)
	expectProblem(t, err, problems.Conflict, "rotating what has expired")
}

// Rotating again and again never makes more than a pair of one slot.
func TestRotationsDoNotPileUp(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx, clock := context.Background(), newClock()
		user := newUser(t, db, "ann")
		store := tokens.New(db, tokens.Options{MaxPerUser: 1, Now: clock.Now})
		plaintext, token := create(t, store, tokens.Wish{UserID: user.ID})
		all := []string{plaintext}
		for range 3 {
			next, successor, err := store.Rotate(ctx, user.ID, token.ID, 100, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = store.Rotate(ctx, user.ID, token.ID, 100, 0)
			expectProblem(t, err, problems.Conflict, "rotating what was rotated")
			all, token = append(all, next), successor
		}
		alive := 0
		for _, plaintext := range all {
			if works(t, store, plaintext, clock.Now()) {
				alive++
			}
		}
		if alive != 2 {
			t.Errorf("%d tokens of one slot work, want the last pair", alive)
		}
	})
}

// When the successor of a rotation is revoked, what is left of the pair takes the slot by itself.
func TestAWidowedPairStillCountsOnce(t *testing.T) {
	t.Parallel()
	db, ctx, clock := modelstest.SQLite(t), context.Background(), newClock()
	user := newUser(t, db, "ann")
	store := tokens.New(db, tokens.Options{MaxPerUser: 1, Now: clock.Now})
	old, token := create(t, store, tokens.Wish{UserID: user.ID})
	_, successor, err := store.Rotate(ctx, user.ID, token.ID, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Revoke(ctx, user.ID, successor.ID); err != nil {
		t.Fatal(err)
	}
	_, _, err = store.Create(ctx, tokens.Wish{UserID: user.ID})
	expectProblem(t, err, problems.TokenLimitReached, "while the old one lives")
	if !works(t, store, old, clock.Now()) {
		t.Error("revoking the successor ended the old token")
	}
	clock.Advance(time.Hour)
	create(t, store, tokens.Wish{UserID: user.ID})
}

// Revoked tokens are gone: from the list and from every further change. Another account's tokens never were there.
func TestRevokedAndForeignTokensAreNotThere(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		user, other, store := newUser(t, db, "ann"), newUser(t, db, "bob"), tokens.New(db, tokens.Options{})
		plaintext, foreign := create(t, store, tokens.Wish{UserID: other.ID})
		_, revoked := create(t, store, tokens.Wish{UserID: user.ID})
		if err := store.Revoke(ctx, user.ID, revoked.ID); err != nil {
			t.Fatal(err)
		}
		for about, id := range map[string]int64{"revoked": revoked.ID, "foreign": foreign.ID, "unknown": 1 << 60} {
			_, err := store.Alter(ctx, user.ID, id, tokens.Change{Name: named("x")})
			expectProblem(t, err, problems.NotFound, about+": Alter")
			_, _, err = store.Rotate(ctx, user.ID, id, 0, 0)
			expectProblem(t, err, problems.NotFound, about+": Rotate")
			expectProblem(t, store.Revoke(ctx, user.ID, id), problems.NotFound, about+": Revoke")
		}
		_, err := store.Current(ctx, user.ID, foreign.ID)
		expectProblem(t, err, problems.NotFound, "Current")
		if list := names(t, store, user.ID); list != nil {
			t.Errorf("listed are %v", list)
		}
		if !works(t, store, plaintext, time.Now()) {
			t.Error("a stranger ended a token")
		}
	})
}

// What a token makes, or rotates, never outlives it.
func TestATokenMakesNothingBeyondItself(t *testing.T) {
	t.Parallel()
	db, ctx, clock := modelstest.SQLite(t), context.Background(), newClock()
	user, other := newUser(t, db, "ann"), newUser(t, db, "bob")
	store := tokens.New(db, tokens.Options{Now: clock.Now})
	_, maker := create(t, store, tokens.Wish{UserID: user.ID, ExpiresInDays: 2})
	_, forever := create(t, store, tokens.Wish{UserID: user.ID})
	_, scoped := create(t, store, tokens.Wish{UserID: user.ID, Scopes: []string{"read"}})
	for _, days := range []int64{0, 1, 365} {
		_, made := create(t, store, tokens.Wish{UserID: user.ID, By: maker.ID, ExpiresInDays: days})
		if made.ExpiresAt == nil || made.ExpiresAt.After(*maker.ExpiresAt) {
			t.Errorf("%d days asked by a token that ends %v: made one that ends %v", days, maker.ExpiresAt, made.ExpiresAt)
		}
	}
	_, successor, err := store.Rotate(ctx, user.ID, forever.ID, 0, maker.ID)
	if err != nil || successor.ExpiresAt == nil || successor.ExpiresAt.After(*maker.ExpiresAt) {
		t.Errorf("a rotation by a token that ends made %+v, %v", successor, err)
	}
	_, _, err = store.Create(ctx, tokens.Wish{UserID: user.ID, By: scoped.ID})
	expectProblem(t, err, problems.InsufficientScope, "a scoped token makes a full one")
	_, _, err = store.Create(ctx, tokens.Wish{UserID: other.ID, By: maker.ID})
	expectProblem(t, err, problems.NotFound, "a token makes one for another account")
	clock.Advance(49 * time.Hour)
	_, _, err = store.Create(ctx, tokens.Wish{UserID: user.ID, By: maker.ID})
	expectProblem(t, err, problems.InvalidToken, "an expired token makes one")
}
