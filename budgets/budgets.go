// Package budgets keeps the bill bounded. The most that work at a provider can cost is held against the month's budget
// of the organization and of the account before a call, in one conditional statement each; after the call what it did
// cost is spent, and the call is written into the ledger. However calls interleave, and whatever process dies when,
// spent plus held never exceeds a budget. The README has the theory.
//
// Money is whole micro-dollars everywhere.
package budgets

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// Options is what Budgets are made of. All of it is required but Default and Announcer.
type Options struct {
	// Default is the budget of every organization without its own, in micro-dollars; nil bounds none.
	Default *int64
	Prices  *Prices
	// Engines are what work of each price is done by unless a request names another model: the door asks with them
	// whether anything is left.
	Engines map[Price]Engine
	// Lease is how long a hold is believed in without renewal.
	Lease time.Duration
	// SweepEvery is the pause between two looks for holds of dead processes.
	SweepEvery time.Duration
	Announcer  Announcer
	Now        func() time.Time
	Logger     *slog.Logger
}

// Engine is a provider and one of its models.
type Engine struct{ Provider, Model string }

// Announcer writes the event of an alert in the transaction in which its cause is written. The account is the one whose
// work reached the threshold.
type Announcer interface {
	BudgetThreshold(tx *gorm.DB, organizationID, userID int64, data map[string]any, at time.Time) error
}

// Budgets decides about money.
type Budgets struct {
	db *models.DB
	Options

	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// New makes the budgets. It starts nothing.
func New(db *models.DB, options Options) *Budgets { return &Budgets{db: db, Options: options} }

// Payer is who pays for work: found by the guard, never by what a request says.
type Payer struct {
	OrganizationID, UserID int64
	TokenID                int64 // 0 for none
	RecordingID            int64 // 0 for none
}

// period is the month of an organization at one moment.
type period struct {
	month string // "2026-03"
	day   string // "2026-03-31"
	// next is when the next month begins.
	next time.Time
	zone *time.Location
}

// period is that of the organization now.
func (b *Budgets) period(ctx context.Context, organizationID int64) (period, error) {
	zone, err := zoneOf(b.db.Read.WithContext(ctx), organizationID)
	if err != nil {
		return period{}, err
	}
	return periodOf(b.Now(), zone), nil
}

// zoneOf is where an organization is.
func zoneOf(db *gorm.DB, organizationID int64) (*time.Location, error) {
	var organization models.Organization
	err := db.Select("time_zone").Where("id = ?", organizationID).Take(&organization).Error
	if err != nil {
		return nil, fmt.Errorf("read the time zone of organization %d: %w", organizationID, err)
	}
	zone, err := time.LoadLocation(organization.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("read the time zone of organization %d: %w", organizationID, err)
	}
	return zone, nil
}

// periodOf is that of a moment in a zone.
func periodOf(now time.Time, zone *time.Location) period {
	local := now.In(zone)
	return period{
		month: local.Format("2006-01"), day: local.Format(time.DateOnly), zone: zone,
		next: time.Date(local.Year(), local.Month()+1, 1, 0, 0, 0, 0, zone),
	}
}
