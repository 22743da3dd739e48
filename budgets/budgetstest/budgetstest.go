// Package budgetstest gives tests budgets and the purses that in the product only the door and the workers hand out.
package budgetstest

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
)

// New makes budgets on a database, without a default, with the prices that are built in and further ones in the form
// of PRICES_FILE. Both engines are the embedded ones unless change says otherwise. Nothing runs beside them.
func New(t testing.TB, db *models.DB, prices string, change func(*budgets.Options)) *budgets.Budgets {
	t.Helper()
	options := budgets.Options{
		Prices: Prices(t, prices),
		Engines: map[budgets.Price]budgets.Engine{
			budgets.Transcription: {Provider: "embedded", Model: "pocketsphinx"},
			budgets.Text:          {Provider: "embedded", Model: "embedded-extractive"},
		},
		Lease: 30 * time.Second, SweepEvery: time.Hour, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&options)
	}
	return budgets.New(db, options)
}

// Prices are those that are built in, and further ones.
func Prices(t testing.TB, further string) *budgets.Prices {
	t.Helper()
	file := ""
	if further != "" {
		file = filepath.Join(t.TempDir(), "prices.yaml")
		if err := os.WriteFile(file, []byte(further), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	prices, err := budgets.LoadPrices(file)
	if err != nil {
		t.Fatal(err)
	}
	return prices
}
