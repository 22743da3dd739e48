package models_test

import (
	"context"
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
)

// A database without room is told apart, and is one that may answer later.
func TestAFullDatabaseIsToldApart(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
		// No lower than the pages in use, which is where the database stands now.
		if err := tx.Exec("PRAGMA max_page_count = 1").Error; err != nil {
			return err
		}
		return tx.Exec("CREATE TABLE big AS SELECT randomblob(1000000)").Error
	})
	if !models.IsFull(err) || !models.IsBusy(err) {
		t.Errorf("got %v, want an error that is full and busy", err)
	}
	if told := models.Unavailable("write", err); !problems.Is(told, problems.StorageFull) || !errors.Is(told, err) {
		t.Errorf("a full database is told as %v", told)
	}
	if _, err := db.JobsSQL().ExecContext(context.Background(), "SELECT nothing"); models.IsFull(err) || models.IsBusy(err) {
		t.Errorf("a wrong statement counts as full or busy: %v", err)
	} else if told := models.Unavailable("ask", err); problems.Of(told).Kind != problems.Internal {
		t.Errorf("a wrong statement is told as %v", told)
	}
	if told := models.Unavailable("ask", context.DeadlineExceeded); !problems.Is(told, problems.DatabaseUnavailable) {
		t.Errorf("a late database is told as %v", told)
	}
}
