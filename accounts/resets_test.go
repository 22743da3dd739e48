package accounts_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
)

const better = "a better sentence"

// Rule: a new password ends every session of the account, also those that are not told apart, and every link that was
// asked for before; other accounts go on.
func TestANewPasswordEndsWhatTheOldOneOpened(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		store := accounts.New(db, accounts.Options{Registration: accounts.Open})
		ann, bob := register(t, store, wish("ann")), register(t, store, wish("bob"))
		cookies := []string{open(t, store, "", ann), open(t, store, "", ann)}
		bobs := open(t, store, "", bob)
		link, err := store.MakeReset(ctx, ann.ID)
		if err != nil {
			t.Fatal(err)
		}
		claim, err := store.ClaimOf(ctx, ann.ID)
		if err != nil {
			t.Fatal(err)
		}
		expectProblem(t, store.ChangePassword(ctx, claim, "wrong horse", better), problems.InvalidCredentials, "a wrong password")
		expectProblem(t, store.ChangePassword(ctx, claim, password, "short"), problems.InvalidParameter, "a short one")
		expectProblem(t, store.ChangePassword(ctx, claim, password, "ANN@example.com"), problems.InvalidParameter, "the address")
		if !opens(t, store, cookies[0]) {
			t.Fatal("a refused change ended a session")
		}
		if err := store.ChangePassword(ctx, claim, password, better); err != nil {
			t.Fatal(err)
		}
		expectProblem(t, store.ChangePassword(ctx, claim, password, "a third one"), problems.InvalidCredentials, "a change that raced with it")
		if opens(t, store, cookies[0]) || opens(t, store, cookies[1]) || !opens(t, store, bobs) {
			t.Error("sessions: the account's must be over, another's must not")
		}
		if _, err := verify(t, store, "ann", password); err == nil {
			t.Error("the old password signs in")
		}
		if _, err := verify(t, store, "ann", better); err != nil {
			t.Error(err)
		}
		_, err = store.Reset(ctx, link, "another sentence")
		expectProblem(t, err, problems.InvalidLink, "a link from before")
	})
}

// Rule: a session that is opened while the password changes is over with it: its row is written after those of before are
// gone, and its epoch is that of before.
func TestANewPasswordEndsASessionThatRaced(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		store := accounts.New(db, accounts.Options{Registration: accounts.Open})
		ann := register(t, store, wish("ann"))
		cookie := open(t, store, "", ann)
		var row models.Session
		if err := db.Read.Take(&row).Error; err != nil {
			t.Fatal(err)
		}
		if err := store.SetPassword(ctx, ann.ID, better); err != nil {
			t.Fatal(err)
		}
		row.ID = 0
		write(t, db, func(tx *gorm.DB) error { return tx.Create(&row).Error })
		if opens(t, store, cookie) {
			t.Error("the session opens")
		}
	})
}

// Rule: who was let in by the old password while it was changed gets a session that opens nothing: verifying takes long, and
// waits its turn.
func TestANewPasswordEndsASignInThatRaced(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		store := accounts.New(db, accounts.Options{Registration: accounts.Open})
		ann := register(t, store, wish("ann"))
		claim, err := store.Claim(ctx, ann.Email)
		if err != nil {
			t.Fatal(err)
		}
		verified, err := store.Verify(ctx, claim, wish("ann").Password)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.SetPassword(ctx, ann.ID, better); err != nil {
			t.Fatal(err)
		}
		if opens(t, store, open(t, store, "", verified)) {
			t.Error("the old password opened a session")
		}
		now, err := store.Find(ctx, ann.ID)
		if err != nil || !opens(t, store, open(t, store, "", now)) {
			t.Errorf("no session opens any more: %v", err)
		}
	})
}

// Rule: a link sets a password once, whoever races with it, ends the sessions, and its token is not in the database.
func TestAResetWorksOnce(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		store := accounts.New(db, accounts.Options{Registration: accounts.Open})
		ann := register(t, store, wish("ann"))
		cookie := open(t, store, "", ann)
		token, err := store.MakeReset(ctx, ann.ID)
		if err != nil {
			t.Fatal(err)
		}
		var row models.PasswordReset
		if err := db.Read.Take(&row).Error; err != nil || strings.Contains(row.TokenHash, token) {
			t.Errorf("kept is %+v, %v", row, err)
		}
		_, err = store.Reset(ctx, token, "short")
		expectProblem(t, err, problems.InvalidParameter, "a short password")
		var racers sync.WaitGroup
		var mu sync.Mutex
		set := 0
		for _, wanted := range []string{"sentence one", "sentence two", "sentence three"} {
			racers.Go(func() {
				_, err := store.Reset(ctx, token, wanted)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					set++
				} else if !problems.Is(err, problems.InvalidLink) {
					t.Error(err)
				}
			})
		}
		racers.Wait()
		if set != 1 || opens(t, store, cookie) {
			t.Errorf("%d of the racers set a password; the session opens: %v", set, opens(t, store, cookie))
		}
	})
}

// Rule: a link of an account that was disabled, and one that has expired, sets nothing.
func TestAResetThatIsOver(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		clock := newClock()
		store := accounts.New(db, accounts.Options{Registration: accounts.Open, ResetLife: time.Minute, Now: clock.Now})
		ann := register(t, store, wish("ann"))
		token, err := store.MakeReset(ctx, ann.ID)
		if err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Minute)
		_, err = store.Reset(ctx, token, better)
		expectProblem(t, err, problems.InvalidLink, "after its time")
		if token, err = store.MakeReset(ctx, ann.ID); err != nil {
			t.Fatal(err)
		}
		write(t, db, func(tx *gorm.DB) error {
			return tx.Model(&models.User{}).Where("id = ?", ann.ID).UpdateColumn("disabled_at", clock.Now()).Error
		})
		_, err = store.Reset(ctx, token, better)
		expectProblem(t, err, problems.InvalidLink, "a disabled account")
	})
}

// Rule: an account's own sessions are listed with where they were opened, the current one is marked, and one that was
// ended, or another's, is not there.
func TestSessionsAreListedAndEnded(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		store := accounts.New(db, accounts.Options{Registration: accounts.Open})
		ann, bob := register(t, store, wish("ann")), register(t, store, wish("bob"))
		phone, _, err := store.OpenSession(ctx, "", ann, accounts.Browser{Address: "192.0.2.7", UserAgent: "Phone\x00\n" + strings.Repeat("é", 300)})
		if err != nil {
			t.Fatal(err)
		}
		desk := open(t, store, "", ann)
		list, total, err := store.Sessions(ctx, ann.ID, desk, 0, 10)
		if err != nil || total != 2 || len(list) != 2 || !list[0].Current || list[1].Current {
			t.Fatalf("listed are %+v of %d, %v", list, total, err)
		}
		if list[1].Address != "192.0.2.7" || list[1].UserAgent != "Phone"+strings.Repeat("é", 195) || list[1].SeenAt == nil || list[1].CreatedAt == nil {
			t.Errorf("the phone is %+v", list[1])
		}
		expectProblem(t, store.EndSession(ctx, bob.ID, list[1].ID), problems.NotFound, "another's session")
		if err := store.EndSession(ctx, ann.ID, list[1].ID); err != nil {
			t.Fatal(err)
		}
		expectProblem(t, store.EndSession(ctx, ann.ID, list[1].ID), problems.NotFound, "an ended session")
		if opens(t, store, phone) || !opens(t, store, desk) {
			t.Error("the ended session opens, or the other does not")
		}
		write(t, db, func(tx *gorm.DB) error {
			return tx.Model(&models.User{}).Where("id = ?", ann.ID).UpdateColumn("session_epoch", 1).Error
		})
		if list, _, _ := store.Sessions(ctx, ann.ID, desk, 0, 10); len(list) != 0 {
			t.Errorf("sessions of an earlier epoch are listed: %+v", list)
		}
	})
}
