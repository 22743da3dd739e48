// Package orgs keeps what belongs to organizations and their members: the organizations themselves, what their members
// have in common, their vocabulary, and the figures of limits that an administrator gave single organizations, accounts
// and tokens. A change of figures holds at once in the process that made it, and in every other within a second.
package orgs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/resting"
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
// stands on the way of every request: all of them are read at Start, and again when the counter has changed.
type Figures struct {
	db      *models.DB
	options FiguresOptions
	known   atomic.Pointer[known]

	reading sync.Mutex // held while the table is read, so that an older reading never replaces a later one
	watch   resting.Watch
	failing bool // the last poll failed; polls never overlap
}

// known is one reading of the table.
type known struct {
	count int64
	rates map[figureKey]config.Rates
}

type figureKey struct {
	plan *limits.Plan
	id   int64
}

var _ limits.Overrides = (*Figures)(nil)

// NewFigures makes the store over a migrated database. Without Start it knows of no figures.
func NewFigures(db *models.DB, options FiguresOptions) *Figures {
	if options.PollEvery == 0 {
		options.PollEvery = 300 * time.Millisecond
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	return &Figures{db: db, options: options}
}

// Rates implements limits.Overrides.
func (f *Figures) Rates(plan *limits.Plan, id int64) ([]limits.Rate, bool) {
	known := f.known.Load()
	if known == nil || len(known.rates) == 0 {
		return nil, false
	}
	rates, found := known.rates[figureKey{plan, id}]
	return rates, found
}

// Start reads the figures and goes on to poll for changes, until Stop. A second Start without a Stop between begins
// nothing.
func (f *Figures) Start(ctx context.Context) error {
	if err := f.Read(ctx); err != nil {
		return err
	}
	f.watch.Start(ctx, f.options.PollEvery, f.poll)
	return nil
}

// Stop ends what Start began and waits for it. It may be called without Start and more than once.
func (f *Figures) Stop() { f.watch.Stop() }

// poll reads the figures when they have changed. While the database does not answer those of before hold; requests
// are then refused anyway, for their credentials cannot be checked.
func (f *Figures) poll(ctx context.Context) time.Duration {
	err := f.Read(ctx)
	if err != nil && !f.failing && ctx.Err() == nil {
		f.options.Logger.ErrorContext(ctx, "the figures of limits can't be read", "error", err)
	}
	f.failing = err != nil
	return f.options.PollEvery
}

// Read makes sure that every change committed before its call is known.
func (f *Figures) Read(ctx context.Context) error {
	f.reading.Lock()
	defer f.reading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	db := f.db.Read.WithContext(ctx)
	var counter models.ChangeCounter
	if err := db.Where("name = ?", models.FiguresCounter).Take(&counter).Error; err != nil {
		return fmt.Errorf("read the counter of changed figures: %w", err)
	}
	if known := f.known.Load(); known != nil && known.count == counter.Value {
		return nil
	}
	// Rows that are younger than the counter are read again at the next change: nothing is ever missed.
	var rows []models.LimitFigure
	if err := db.Find(&rows).Error; err != nil {
		return fmt.Errorf("read the figures of limits: %w", err)
	}
	rates, err := ratesOf(rows)
	if err != nil {
		return fmt.Errorf("read the figures of limits: %w", err)
	}
	f.known.Store(&known{count: counter.Value, rates: rates})
	return nil
}

// readTimeout bounds one reading.
const readTimeout = 5 * time.Second

// ratesOf leaves out limits that this version does not know, such as those of a newer one that runs beside it. A figure
// that cannot be read is an error: the configured one might let more through than the administrator wants.
func ratesOf(rows []models.LimitFigure) (map[figureKey]config.Rates, error) {
	rates := make(map[figureKey]config.Rates, len(rows))
	for _, row := range rows {
		plan := limits.PlanNamed(row.Plan)
		if plan == nil {
			continue
		}
		parsed, err := config.ParseRates(row.Figures)
		if err != nil {
			return nil, fmt.Errorf("the figure of %s in row %d of limit_figures: %w", row.Plan, row.ID, err)
		}
		rates[figureKey{plan, subjectOf(row).ID}] = parsed
	}
	return rates, nil
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
