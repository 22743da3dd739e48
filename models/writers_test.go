package models_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

// Twenty writers that read first and then write, readers, and the job queue's handle writing beside them: nobody
// is ever told that the database is locked, nothing is lost.
func TestWritersReadersAndTheJobQueueShareSQLite(t *testing.T) {
	t.Parallel()
	const writers, rounds, readers = 20, 25, 10
	db := modelstest.SQLite(t)
	createOrganization(t, db, "counter")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	written := make(chan struct{})
	var reading errgroup.Group
	for range readers {
		reading.Go(func() error { return readUntil(ctx, db, written) })
	}
	var writing errgroup.Group
	for range writers {
		writing.Go(func() error {
			for range rounds {
				if err := raiseName(ctx, db); err != nil {
					return fmt.Errorf("write: %w", err)
				}
			}
			return nil
		})
	}
	writing.Go(func() error {
		for i := range rounds * writers {
			_, err := db.JobsSQL().ExecContext(ctx, "INSERT INTO change_counters (name, value) VALUES (?, 0)", fmt.Sprint(i))
			if err != nil {
				return fmt.Errorf("write by the job queue's handle: %w", err)
			}
		}
		return nil
	})
	if err := writing.Wait(); err != nil {
		t.Error(err)
	}
	close(written)
	if err := reading.Wait(); err != nil {
		t.Error(err)
	}
	var row models.Organization
	if err := db.Read.First(&row).Error; err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprint(writers * rounds); row.Name != want {
		t.Errorf("%s transactions were kept, want %s", row.Name, want)
	}
}

// A transaction that has read may write, although another handle wants to write in between: it is let in after.
func TestReadingFirstKeepsTheRightToWrite(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	createOrganization(t, db, "counter")
	between := make(chan error, 1)
	err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
		if err := tx.First(&models.Organization{}).Error; err != nil {
			return err
		}
		go func() {
			_, err := db.JobsSQL().Exec("UPDATE change_counters SET value = value + 1")
			between <- err
		}()
		select {
		case err := <-between:
			t.Errorf("another handle wrote inside the transaction: %v", err)
			between <- nil
		case <-time.After(200 * time.Millisecond):
		}
		return tx.Model(&models.Organization{}).Where("slug = ?", "counter").Update("name", "1").Error
	})
	if err != nil {
		t.Error(err)
	}
	if err := <-between; err != nil {
		t.Errorf("the other handle was not let in: %v", err)
	}
}

// raiseName reads the number in the organization's name and writes the next one.
func raiseName(ctx context.Context, db *models.DB) error {
	return db.Transaction(ctx, func(tx *gorm.DB) error {
		var row models.Organization
		if err := tx.First(&row).Error; err != nil {
			return err
		}
		var n int
		if row.Name != row.Slug {
			if _, err := fmt.Sscan(row.Name, &n); err != nil {
				return err
			}
		}
		return tx.Model(&row).Update("name", fmt.Sprint(n+1)).Error
	})
}

func readUntil(ctx context.Context, db *models.DB, end <-chan struct{}) error {
	// Readers without a pause would measure how goroutines share two processors.
	for pause := time.NewTicker(time.Millisecond); ; {
		select {
		case <-end:
			return nil
		case <-pause.C:
		}
		var rows []models.Organization
		if err := db.Read.WithContext(ctx).Find(&rows).Error; err != nil {
			return fmt.Errorf("read: %w", err)
		}
	}
}
