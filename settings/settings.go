// Package settings keeps what the administrator of the instance sets while it runs: one table of settings, each with its
// default and its bounds. A change holds at once in the process that made it, and in every other within a second.
package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/resting"
)

// Options say what bounds the settings and how they are kept.
type Options struct {
	// MaxUploadMB is the configuration's bound of a file, which no setting lifts.
	MaxUploadMB int
	// MaxTranscriptChars is how much of a transcript models can be given at most.
	MaxTranscriptChars int
	// PollEvery is how often the change counter is read once started; 0 means 300 ms.
	PollEvery time.Duration
	// Now is the clock; nil means time.Now. Logger is told of what fails in the background; nil tells nobody.
	Now    func() time.Time
	Logger *slog.Logger
}

// Settings answers from memory alone, because requests ask on their way: all rows are read at Start, and again when the
// counter has changed.
type Settings struct {
	db      *models.DB
	options Options
	table   []Setting
	known   atomic.Pointer[known]

	reading sync.Mutex // held while the table is read, so that an older reading never replaces a later one
	watch   resting.Watch
	failing bool // the last poll failed; polls never overlap
}

// known is one reading of the rows.
type known struct {
	count  int64
	values Values
	set    map[string]models.SystemSetting
}

// readTimeout bounds one reading.
const readTimeout = 5 * time.Second

// New makes the store over a migrated database. Without Start it knows of defaults only.
func New(db *models.DB, options Options) *Settings {
	if options.PollEvery == 0 {
		options.PollEvery = 300 * time.Millisecond
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Settings{db: db, options: options, table: table(options)}
	s.known.Store(&known{count: -1, values: defaults(s.table)})
	return s
}

// Values are those in force.
func (s *Settings) Values() Values { return s.known.Load().values }

// Start reads the settings and goes on to poll for changes, until Stop. A second Start without a Stop between begins
// nothing.
func (s *Settings) Start(ctx context.Context) error {
	if err := s.Read(ctx); err != nil {
		return err
	}
	s.watch.Start(ctx, s.options.PollEvery, s.poll)
	return nil
}

// Stop ends what Start began and waits for it. It may be called without Start and more than once.
func (s *Settings) Stop() { s.watch.Stop() }

// poll reads the settings when they have changed. While the database does not answer those of before hold.
func (s *Settings) poll(ctx context.Context) time.Duration {
	err := s.Read(ctx)
	if err != nil && !s.failing && ctx.Err() == nil {
		s.options.Logger.ErrorContext(ctx, "the system settings can't be read", "error", err)
	}
	s.failing = err != nil
	return s.options.PollEvery
}

// Read makes sure that every change committed before its call is known.
func (s *Settings) Read(ctx context.Context) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	db := s.db.Read.WithContext(ctx)
	var counter models.ChangeCounter
	if err := db.Where("name = ?", models.SettingsCounter).Take(&counter).Error; err != nil {
		return fmt.Errorf("read the counter of changed settings: %w", err)
	}
	if s.known.Load().count == counter.Value {
		return nil
	}
	// Rows that are younger than the counter are read again at the next change: nothing is ever missed.
	var rows []models.SystemSetting
	if err := db.Find(&rows).Error; err != nil {
		return fmt.Errorf("read the system settings: %w", err)
	}
	s.known.Store(s.readingOf(ctx, counter.Value, rows))
	return nil
}

// readingOf puts rows over the defaults. One that this version does not know, or would not take, such as one of a newer
// version or from before a bound was lowered, leaves its default: a server must not stop over a setting.
func (s *Settings) readingOf(ctx context.Context, count int64, rows []models.SystemSetting) *known {
	now := &known{count: count, values: defaults(s.table), set: map[string]models.SystemSetting{}}
	for _, row := range rows {
		setting := named(s.table, row.Name)
		if setting == nil {
			continue
		}
		tried := now.values
		if err := setting.write(&tried, json.RawMessage(row.Value)); err != nil {
			s.options.Logger.WarnContext(ctx, "a system setting is not taken; its default holds", "setting", row.Name, "error", err.Error())
			continue
		}
		now.values, now.set[row.Name] = tried, row
	}
	return now
}

// Change is what becomes of a setting: its default again where Value is nil.
type Change struct {
	Name  string
	Value any
}

// Set keeps the changes, in the name of an account; all of them, or none. What is out of bounds is an
// invalid_parameter that names it.
func (s *Settings) Set(ctx context.Context, by int64, changes []Change) error {
	rows := make([]models.SystemSetting, 0, len(changes))
	var cleared []string
	at := s.options.Now().UTC().Truncate(time.Microsecond)
	for _, change := range changes {
		row, err := s.judged(change)
		if err != nil {
			return err
		}
		if row.Value == "" {
			cleared = append(cleared, row.Name)
			continue
		}
		row.UpdatedAt, row.UpdatedBy = at, &by
		rows = append(rows, row)
	}
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		// First, so that of two who set at once the second waits here, and not each for the other's rows.
		if _, err := models.RaiseCounter(tx, models.SettingsCounter); err != nil {
			return err
		}
		if len(cleared) > 0 {
			if err := tx.Where("name IN ?", cleared).Delete(&models.SystemSetting{}).Error; err != nil {
				return err
			}
		}
		if len(rows) == 0 {
			return nil
		}
		return tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&rows).Error
	})
	if err != nil {
		err = fmt.Errorf("set system settings: %w", err)
		if models.IsBusy(err) {
			return problems.New(problems.DatabaseUnavailable, "The database did not answer. Try again.").After(time.Second).Because(err)
		}
		return err
	}
	return s.Read(ctx)
}

// judged is the row of a change, without a value where the default is to hold.
func (s *Settings) judged(change Change) (models.SystemSetting, error) {
	setting := named(s.table, change.Name)
	if setting == nil {
		return models.SystemSetting{}, fmt.Errorf("set %q, which is no setting", change.Name)
	}
	if change.Value == nil {
		return models.SystemSetting{Name: change.Name}, nil
	}
	raw, err := json.Marshal(change.Value)
	if err != nil {
		return models.SystemSetting{}, fmt.Errorf("write setting %s: %w", change.Name, err)
	}
	var checked Values
	if err := setting.write(&checked, raw); err != nil {
		return models.SystemSetting{}, err
	}
	// As it was taken: without the white space around it.
	if raw, err = json.Marshal(setting.in(&checked)); err != nil {
		return models.SystemSetting{}, fmt.Errorf("write setting %s: %w", change.Name, err)
	}
	return models.SystemSetting{Name: change.Name, Value: string(raw)}, nil
}

// Shown is a setting as it stands.
type Shown struct {
	Setting

	Value     any
	Set       bool // by an administrator; else it is the default
	UpdatedAt time.Time
	UpdatedBy *int64
}

// All lists every setting of the table in its order.
func (s *Settings) All() []Shown {
	now := s.known.Load()
	values := now.values
	shown := make([]Shown, len(s.table))
	for i := range s.table {
		setting := s.table[i]
		row, set := now.set[setting.Name]
		shown[i] = Shown{Setting: setting, Value: setting.value(&values), Set: set, UpdatedAt: row.UpdatedAt, UpdatedBy: row.UpdatedBy}
	}
	return shown
}
