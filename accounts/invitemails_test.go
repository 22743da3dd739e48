package accounts_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/mail"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
)

// Rule: however often an address is invited, or the invite withdrawn between, it is mailed one of an organization in
// InviteMailEvery, and who invites is told which.
func TestAnInboxIsNotFilledWithInvites(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		if err := jobs.Migrate(ctx, db); err != nil {
			t.Fatal(err)
		}
		mailer, err := mail.New(mail.Options{URL: "smtp://localhost:1?starttls=off", From: "notes@example.org"})
		if err != nil {
			t.Fatal(err)
		}
		queue, err := jobs.New(db, jobs.Options{
			Role: "web", MaxWorkers: 1, MaxAttempts: 1, Heartbeat: time.Second, DeadAfter: 3 * time.Second, RetryBase: time.Second,
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		store := accounts.New(db, accounts.Options{
			// So long that no test stands where one stretch ends and the next begins.
			SecretKey: "0123456789abcdef", PublicURL: "https://notes.example.org", Mail: mailer, Queue: queue, InviteMailEvery: 1000 * time.Hour,
		})
		accounts.RegisterWorkers(queue, store)
		boss, err := store.Create(ctx, wish("boss"))
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range []string{"grace@example.com", "ada@example.com"} {
			if made, _ := invite(t, store, boss, address, ""); !made.Mailed {
				t.Errorf("the first invite of %s is not mailed", address)
			}
			again, _ := invite(t, store, boss, address, "")
			if again.Mailed {
				t.Error("a second one is mailed")
			}
			if err := store.Withdraw(ctx, boss.OrganizationID, again.ID); err != nil {
				t.Fatal(err)
			}
			if again, _ = invite(t, store, boss, address, ""); again.Mailed {
				t.Error("one after a withdrawal is mailed")
			}
		}
		var queued int64
		if err := db.Read.Raw("SELECT count(*) FROM river_job WHERE kind = 'send_invite'").Scan(&queued).Error; err != nil || queued != 2 {
			t.Errorf("%d mails are queued, %v", queued, err)
		}
	})
}

// Rule: an organization has so many open invites and no more; those that expired are in nobody's way.
func TestExpiredInvitesKeepNobodyOut(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	ctx := context.Background()
	store, clock, boss := inviting(t, db)
	write(t, db, func(tx *gorm.DB) error {
		rows := make([]models.TeamInvite, 1000)
		for i := range rows {
			rows[i] = models.TeamInvite{
				OrganizationID: boss.OrganizationID, Email: fmt.Sprintf("user-%d@example.com", i), Role: "viewer", TokenHash: fmt.Sprintf("%064d", i),
				CreatedAt: clock.Now(), ExpiresAt: clock.Now().Add(time.Hour),
			}
		}
		return tx.CreateInBatches(rows, 100).Error
	})
	_, _, err := store.Invite(ctx, as(boss), accounts.NewInvite{Email: "ada@example.com"})
	expectProblem(t, err, problems.Conflict, "one invite too many")
	clock.Advance(2 * time.Hour)
	invite(t, store, boss, "ada@example.com", "")
	if _, total, err := store.Invites(ctx, boss.OrganizationID, 0, 10); err != nil || total != 1 {
		t.Errorf("%d invites are left, %v", total, err)
	}
}
