// Package orgs keeps what belongs to organizations and their members: the organizations themselves, what their members
// have in common, their vocabulary, and the figures of limits that an administrator gave single organizations, accounts
// and tokens. A change of figures holds at once in the process that made it, and in every other within a second.
package orgs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
)

// FiguresOptions say how figures are kept.
type FiguresOptions struct {
	// PollEvery is how often the change counter is read once started; 0 means 300 ms. A change elsewhere holds here
	// after that and the time of two queries.
	PollEvery time.Duration
	// Logger is told of what fails in the background; nil tells nobody.
	Logger *slog.Logger
}

// Figures are the figures of single organizations, accounts and tokens. Rates answers from memory alone, because it
// stands on the way of every request. While the database does not answer those of before hold; requests are then refused
// anyway, for their credentials cannot be checked.
type Figures struct {
	*models.Snapshot[figures]

	db *models.DB
}

// figures are those of one reading of the table.
type figures map[figureKey]config.Rates

type figureKey struct {
	plan *limits.Plan
	id   int64
}

var _ limits.Overrides = (*Figures)(nil)

// NewFigures makes the store over a migrated database. Without Start it knows of no figures.
func NewFigures(db *models.DB, options FiguresOptions) *Figures {
	return &Figures{db: db, Snapshot: models.NewSnapshot(db, models.SnapshotOptions[figures]{
		Name: "the figures of limits", Counter: models.FiguresCounter, Take: takeFigures, PollEvery: options.PollEvery, Logger: options.Logger,
	})}
}

// Rates implements limits.Overrides.
func (f *Figures) Rates(plan *limits.Plan, id int64) ([]limits.Rate, bool) {
	rates, found := f.Latest()[figureKey{plan, id}]
	return rates, found
}

// takeFigures leaves out limits that this version does not know, such as those of a newer one that runs beside it. A
// figure that cannot be read is an error: the configured one might let more through than the administrator wants.
func takeFigures(_ context.Context, db *gorm.DB) (figures, error) {
	var rows []models.LimitFigure
	if err := db.Find(&rows).Error; err != nil {
		return nil, err
	}
	taken := make(figures, len(rows))
	for _, row := range rows {
		plan := limits.PlanNamed(row.Plan)
		if plan == nil {
			continue
		}
		parsed, err := config.ParseRates(row.Figures)
		if err != nil {
			return nil, fmt.Errorf("the figure of %s in row %d of limit_figures: %w", row.Plan, row.ID, err)
		}
		taken[figureKey{plan, subjectOf(row).ID}] = parsed
	}
	return taken, nil
}

// Set gives a subject figures of its own, one for each plan named; nil rates return that plan to what is configured,
// and rates of none switch it off for the subject. All of them are kept, or none.
func (f *Figures) Set(ctx context.Context, subject Subject, figures map[*limits.Plan]*config.Rates) error {
	for plan := range figures {
		if plan.Subject != subject.Kind {
			return wrongSubject(plan)
		}
	}
	err := f.db.Transaction(ctx, func(tx *gorm.DB) error {
		// First, so that of two who set figures at once the second waits here, and not each for the other's rows.
		if _, err := models.RaiseCounter(tx, models.FiguresCounter); err != nil {
			return err
		}
		for plan, rates := range figures {
			if err := replaceFigure(tx, subject, plan, rates); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("set figures of limits: %w", err)
	}
	return f.Read(ctx)
}

func wrongSubject(plan *limits.Plan) error {
	if plan.Subject == limits.Address {
		return fmt.Errorf("%s counts by address: no single one has figures of its own", plan.Name)
	}
	return fmt.Errorf("%s counts by %s, and figures of it are set for one %s", plan.Name, plan.Subject, plan.Subject)
}
