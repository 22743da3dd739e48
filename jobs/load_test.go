package jobs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/tests/jobstest"
)

// Twenty writers that read, write and enqueue in one transaction, readers, and workers that write beside them:
// on SQLite nobody is ever told that the database is locked, and nothing is lost.
func TestWritersReadersAndWorkersShareSQLite(t *testing.T) {
	t.Parallel()
	const writers, rounds, readers = 20, 15, 5
	var worked sync.WaitGroup
	worked.Add(writers * rounds)
	var db *models.DB
	ready := make(chan struct{})
	j, opened := start(t, jobstest.Migrated.SQLiteURL(t), options("all"), work{
		do: func(ctx context.Context, job *river.Job[task]) error {
			<-ready
			defer worked.Done()
			return count(ctx, db, "worked")
		},
		gaveUp: func(_ *river.Job[task], cause error) error { t.Error(cause); return nil },
	})
	db = opened
	close(ready)
	prepareCounters(t, db, "written", "worked")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	written := make(chan struct{})
	var reading, writing errgroup.Group
	for range readers {
		reading.Go(func() error {
			// Readers without a pause would measure how goroutines share two processors.
			for pause := time.NewTicker(time.Millisecond); ; {
				select {
				case <-written:
					return nil
				case <-pause.C:
				}
				if err := db.Read.WithContext(ctx).Find(&[]models.ChangeCounter{}).Error; err != nil {
					return fmt.Errorf("read: %w", err)
				}
			}
		})
	}
	for range writers {
		writing.Go(func() error {
			for range rounds {
				if err := countAndEnqueue(ctx, db, j); err != nil {
					return fmt.Errorf("write: %w", err)
				}
			}
			return nil
		})
	}
	if err := writing.Wait(); err != nil {
		t.Fatal(err)
	}
	close(written)
	if err := reading.Wait(); err != nil {
		t.Error(err)
	}
	worked.Wait()
	var counters []models.ChangeCounter
	if err := db.Read.Find(&counters, "name IN ?", []string{"written", "worked"}).Error; err != nil {
		t.Fatal(err)
	}
	for _, counter := range counters {
		if counter.Value != writers*rounds {
			t.Errorf("%s %d times, want %d", counter.Name, counter.Value, writers*rounds)
		}
	}
}

func prepareCounters(t *testing.T, db *models.DB, names ...string) {
	t.Helper()
	for _, name := range names {
		err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
			return tx.Create(&models.ChangeCounter{Name: name}).Error
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func count(ctx context.Context, db *models.DB, name string) error {
	return db.Transaction(ctx, func(tx *gorm.DB) error { return raise(tx, name) })
}

func countAndEnqueue(ctx context.Context, db *models.DB, j *jobs.Jobs) error {
	return db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := raise(tx, "written"); err != nil {
			return err
		}
		_, err := j.Enqueue(ctx, tx, task{}, nil)
		return err
	})
}

// raise reads first and then writes.
func raise(tx *gorm.DB, name string) error {
	var counter models.ChangeCounter
	if err := tx.First(&counter, "name = ?", name).Error; err != nil {
		return err
	}
	return tx.Model(&counter).Update("value", counter.Value+1).Error
}
