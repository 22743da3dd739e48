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

// purses opens those of the accounts of every house, in whose organizations nothing is bounded but in that of account
// 9: its budget is spent. One database serves all tests; it goes with the process.
var purses = sync.OnceValues(func() (budgets.Purses, error) {
	folder, err := os.MkdirTemp("", "routes-budgets-")
	if err != nil {
		return budgets.Purses{}, err
	}
	defer os.RemoveAll(folder)
	db, err := models.Open(context.Background(), models.Options{URL: "sqlite://" + filepath.Join(folder, "b.db"), MaxConnections: 4})
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
