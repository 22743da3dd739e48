package models_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

// migrateURL makes this test binary a process that only migrates.
const migrateURL = "STENOMETER_TEST_MIGRATE_URL"

func TestMain(m *testing.M) {
	if url := os.Getenv(migrateURL); url != "" {
		if err := migrateOnce(url); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func migrateOnce(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := models.Open(ctx, models.Options{URL: url})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Migrate(ctx, makeFurtherTable)
}

// makeFurtherTable looks first and makes then: of two processes inside at once both would make it, and one
// fail. The pause holds the door open for the second one.
func makeFurtherTable(ctx context.Context, db *models.DB) error {
	var one int
	if err := db.Read.WithContext(ctx).Raw("SELECT count(*) FROM further_table").Scan(&one).Error; err == nil {
		return nil
	}
	time.Sleep(300 * time.Millisecond) //nolint:forbidigo // the process that should be kept out cannot signal
	return db.Transaction(ctx, func(tx *gorm.DB) error { return tx.Exec("CREATE TABLE further_table (id integer)").Error })
}

func TestThreeProcessesMigrateOnce(t *testing.T) {
	t.Parallel()
	for name, newURL := range modelstest.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := newURL(t)
			var processes []*exec.Cmd
			for range 3 {
				process := exec.Command(os.Args[0])
				process.Env = append(os.Environ(), migrateURL+"="+url)
				process.Stdout, process.Stderr = t.Output(), t.Output()
				if err := process.Start(); err != nil {
					t.Fatal(err)
				}
				processes = append(processes, process)
			}
			for _, process := range processes {
				if err := process.Wait(); err != nil {
					t.Errorf("a process did not migrate: %v", err)
				}
			}
			db := modelstest.Open(t, url, false)
			var runs int64
			if err := db.Read.Raw("SELECT count(*) FROM goose_db_version WHERE version_id = 1").Scan(&runs).Error; err != nil {
				t.Fatal(err)
			}
			if runs != 1 {
				t.Errorf("the first migration ran %d times", runs)
			}
		})
	}
}

func TestWaitingToMigrateEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, newURL := range modelstest.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := modelstest.Open(t, newURL(t), false)
			err := db.Migrate(context.Background(), func(ctx context.Context, db *models.DB) error {
				ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
				if err := db.Migrate(ctx); !models.IsBusy(err) {
					t.Errorf("a second migration, while the first runs: %v, want an end by its deadline", err)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
