package models_test

import (
	"context"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

// While a transaction writes its age is told, at least since its first statement; before and afterwards there is none.
func TestWritingTellsOfTheOldestTransaction(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		age := func() time.Duration {
			t.Helper()
			age, err := db.Writing(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return age
		}
		if got := age(); got != 0 {
			t.Errorf("nothing writes, and for %s something has", got)
		}
		err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
			if err := tx.Exec("INSERT INTO change_counters (name, value) VALUES ('a', 0)").Error; err != nil {
				return err
			}
			began := time.Now()
			for time.Since(began) < 20*time.Millisecond {
				age()
			}
			if lower := time.Since(began); age() < lower {
				t.Errorf("the transaction has written for %s, and less is told", lower)
			}
			return nil
		})
		if got := age(); got != 0 || err != nil {
			t.Errorf("after the transaction something has written for %s, %v", got, err)
		}
		if err := db.Transaction(context.Background(), func(*gorm.DB) error { return context.Canceled }); err == nil || age() != 0 {
			t.Error("a transaction that was taken back still counts")
		}
	})
}
