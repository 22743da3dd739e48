package routes_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
)

// pursesFolder holds the database of purses until the last test is over: a connection that is opened later needs the
// file, too.
var pursesFolder string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "routes-budgets-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	pursesFolder = folder
	code := m.Run()
	if err := os.RemoveAll(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// purses opens those of the accounts of every house, in whose organizations nothing is bounded but in that of account
// 9: its budget is spent. One database serves all tests.
var purses = sync.OnceValues(func() (budgets.Purses, error) {
	db, err := models.Open(context.Background(), models.Options{URL: "sqlite://" + filepath.Join(pursesFolder, "b.db"), MaxConnections: 4})
	if err != nil {
		return budgets.Purses{}, err
	}
	if err := db.Migrate(context.Background()); err != nil {
		return budgets.Purses{}, err
	}
	err = db.Transaction(context.Background(), func(tx *gorm.DB) error {
		for account := int64(1); account <= 20; account++ {
			org := models.Organization{ID: 10 * account, Slug: fmt.Sprint("o", account), Name: "O", TimeZone: "UTC", CreatedAt: time.Now()}
			if err := tx.Create(&org).Error; err != nil {
				return err
			}
		}
		spent, nothing := int64(90), int64(0)
		return tx.Create(&models.Budget{OrganizationID: &spent, Micros: &nothing}).Error
	})
	if err != nil {
		return budgets.Purses{}, err
	}
	prices, err := budgets.LoadPrices("")
	if err != nil {
		return budgets.Purses{}, err
	}
	return budgets.New(db, budgets.Options{
		Prices:  prices,
		Engines: map[budgets.Price]budgets.Engine{budgets.Transcription: {Provider: "openai", Model: "whisper-1"}},
		Lease:   time.Minute, SweepEvery: time.Hour, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	}).Purses(), nil
})

func pursesFor(t testing.TB) budgets.Purses {
	t.Helper()
	opened, err := purses()
	if err != nil {
		t.Fatal(err)
	}
	return opened
}
