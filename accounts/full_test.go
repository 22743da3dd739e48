package accounts_test

import (
	"context"
	"fmt"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
)

// Rule: a full disk is told as one, 507, here as everywhere.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	store := accounts.New(db, accounts.Options{SecretKey: "0123456789abcdef"})
	write(t, db, func(tx *gorm.DB) error { return tx.Exec("PRAGMA max_page_count = 1").Error }) // no lower than the pages in use
	write(t, db, func(tx *gorm.DB) error {
		return tx.Exec("INSERT INTO organizations (slug, name, time_zone, created_at) VALUES ('first', 'First', 'UTC', '2026-01-01')").Error
	})
	var err error
	for i := 0; i < 1000 && err == nil; i++ {
		_, _, err = store.Invite(context.Background(), accounts.Operator(), accounts.NewInvite{OrganizationID: 1, Email: fmt.Sprintf("user-%d@example.org", i)})
	}
	expectProblem(t, err, problems.StorageFull, "an invite on a full disk")
}
