package models_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

func TestOpenRefusesOtherSchemesAndHidesTheURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "mysql://user:hunter2@host/db", "postgres//user:hunter2@host", "postgres://user:hunter2@ho st:bad/db"} {
		_, err := models.Open(context.Background(), models.Options{URL: url})
		if err == nil {
			t.Errorf("Open(%q) succeeded", url)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Open(%q) shows the password: %v", url, err)
		}
	}
}

func TestSQLiteFilesAreForTheirOwnerAlone(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data with space & 100%?#")
	db := modelstest.Open(t, "sqlite://"+filepath.Join(folder, "stenometer.db"), true)
	createOrganization(t, db, "acme")
	info, err := os.Stat(folder)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("folder has mode %o, want 700", got)
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 3 { // the database, its log and the log's index
		t.Errorf("found only %v", files)
	}
	for _, file := range files {
		info, err := file.Info()
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s has mode %o, want 600", file.Name(), got)
		}
	}
}

func TestSQLiteReadersCannotWrite(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	if err := db.Read.Create(&models.Organization{Slug: "a", Name: "A", TimeZone: "UTC"}).Error; err == nil {
		t.Error("the read handle wrote a row")
	}
}

func TestTransactionKeepsAllOrNothing(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		refused := errors.New("refused")
		err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
			if err := tx.Create(&models.Organization{Slug: "a", Name: "A", TimeZone: "UTC"}).Error; err != nil {
				return err
			}
			return refused
		})
		if !errors.Is(err, refused) {
			t.Errorf("got %v, want the error of the change", err)
		}
		if n := count(t, db, &models.Organization{}); n != 0 {
			t.Errorf("%d rows were kept", n)
		}
	})
}

// The busy writer is a transaction of the job queue's handle, that is, of another process.
func TestTransactionEndsWithItsContextWhileAnotherWrites(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	other, err := db.JobsSQL().BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	err = db.Transaction(ctx, func(tx *gorm.DB) error { return nil })
	if !models.IsBusy(err) {
		t.Errorf("got %v, want an error that is busy", err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("returned after %s, its deadline was 300ms", took)
	}
}

func TestTransactionInsideATransactionEndsWithTheContext(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	err := db.Transaction(ctx, func(*gorm.DB) error {
		return db.Transaction(ctx, func(*gorm.DB) error { return nil })
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
	if err := db.Transaction(context.Background(), func(*gorm.DB) error { return nil }); err != nil {
		t.Errorf("the writer is not free afterwards: %v", err)
	}
}

func TestExpiredContextBeginsNoTransaction(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err := db.Transaction(ctx, func(*gorm.DB) error { t.Error("the change ran"); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want canceled", err)
		}
		if models.IsBusy(err) {
			t.Error("a caller that left is no busy database")
		}
	})
}

func TestSQLTxNeedsATransaction(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		if _, err := models.SQLTx(db.Read); err == nil {
			t.Error("found a transaction outside one")
		}
		err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
			return tx.Transaction(func(inner *gorm.DB) error {
				sqlTx, err := models.SQLTx(inner)
				if err != nil {
					return err
				}
				var one int
				return sqlTx.QueryRow("SELECT 1").Scan(&one)
			})
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestUnreachableServerIsBusy(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = models.Open(context.Background(), models.Options{URL: "postgres://user:hunter2@" + nobody + "/db"})
	if !models.IsBusy(err) {
		t.Errorf("%v is not told to be busy", err)
	}
	if err != nil && strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error shows the password: %v", err)
	}
}

func createOrganization(t testing.TB, db *models.DB, slug string) models.Organization {
	t.Helper()
	row := models.Organization{Slug: slug, Name: slug, TimeZone: "UTC"}
	// Only these columns: some tests stop at an older migration.
	err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
		return tx.Select("Slug", "Name", "TimeZone", "CreatedAt").Create(&row).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func count(t testing.TB, db *models.DB, model any) int64 {
	t.Helper()
	var n int64
	if err := db.Read.Model(model).Count(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}

// A file or folder that cannot be used is no database that comes back: whoever waits for that would wait forever.
func TestAMissingFileIsNotBusy(t *testing.T) {
	t.Parallel()
	_, err := os.ReadFile(filepath.Join(t.TempDir(), "nowhere"))
	if err = fmt.Errorf("reading the certificates: %w", err); models.IsBusy(err) {
		t.Errorf("%v is told to be busy", err)
	}
}
