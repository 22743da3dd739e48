// Package settings keeps what the administrator of the instance sets while it runs: one table of settings, each with its
// default and its bounds. A change holds at once in the process that made it, and in every other within a second.
package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/models"
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

// Settings answers from memory alone, because requests ask on their way. Without Start it knows of defaults only.
type Settings struct {
	*models.Snapshot[*known]

	db      *models.DB
	options Options
	table   []Setting
}

// known is one reading of the rows.
type known struct {
	values Values
	set    map[string]models.SystemSetting
}

// New makes the store over a migrated database.
func New(db *models.DB, options Options) *Settings {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Settings{db: db, options: options, table: table(options)}
	s.Snapshot = models.NewSnapshot(db, models.SnapshotOptions[*known]{
		Name: "the system settings", Counter: models.SettingsCounter, Take: s.take, Before: &known{values: defaults(s.table)},
		PollEvery: options.PollEvery, Logger: options.Logger,
	})
	return s
}

// Values are those in force.
func (s *Settings) Values() Values { return s.Latest().values }

// take puts the rows over the defaults. One that this version does not know, or would not take, such as one of a newer
// version or from before a bound was lowered, leaves its default: a server must not stop over a setting.
func (s *Settings) take(ctx context.Context, db *gorm.DB) (*known, error) {
	var rows []models.SystemSetting
	if err := db.Find(&rows).Error; err != nil {
		return nil, err
	}
	now := &known{values: defaults(s.table), set: map[string]models.SystemSetting{}}
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
	return now, nil
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
		return models.Unavailable("set system settings", err) //nolint:wrapcheck // it says what was attempted
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
	now := s.Latest()
	values := now.values
	shown := make([]Shown, len(s.table))
	for i := range s.table {
		setting := s.table[i]
		row, set := now.set[setting.Name]
		shown[i] = Shown{Setting: setting, Value: setting.value(&values), Set: set, UpdatedAt: row.UpdatedAt, UpdatedBy: row.UpdatedBy}
	}
	return shown
}
