package budgets

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// What a budget may be at most, so that no sum overflows: beyond it a figure is a mistake.
const (
	MaxMicros  = 1_000_000_000_000_000 // a thousand million dollars
	MaxTokens  = 1_000_000_000_000
	MaxSeconds = 10_000_000_000
)

// Subject is whose budget it is: an organization's, or that of an account. Exactly one of the two is set.
type Subject struct{ OrganizationID, UserID int64 }

// column is where budgets name the subject.
func (s Subject) column() (name string, id int64) {
	if s.UserID != 0 {
		return "user_id", s.UserID
	}
	return "organization_id", s.OrganizationID
}

// Stored is what was set. What is nil is not: then nothing is bounded, but for an organization's money, for which the
// server's default holds.
type Stored struct{ Micros, Tokens, Seconds *int64 }

// Change replaces one figure of a budget by another; nil sets none.
type Change func(*Stored)

// SetMicros is the change of the micro-dollars in a month.
func SetMicros(to *int64) Change { return func(s *Stored) { s.Micros = to } }

// SetTokens is the change of the text models' tokens in a month.
func SetTokens(to *int64) Change { return func(s *Stored) { s.Tokens = to } }

// SetSeconds is the change of the seconds of audio in a month.
func SetSeconds(to *int64) Change { return func(s *Stored) { s.Seconds = to } }

// Stored is the budget of a subject as it was set. Who is not there is not_found.
func (b *Budgets) Stored(ctx context.Context, subject Subject) (Stored, error) {
	db := b.db.Read.WithContext(ctx)
	if err := exists(db, subject); err != nil {
		return Stored{}, err
	}
	return stored(db, subject)
}

// Set changes the budget of a subject and tells what is stored then. It holds from the next call on, in every process;
// work that is out is neither stopped nor charged less, so that a budget may be set below what is spent.
func (b *Budgets) Set(ctx context.Context, subject Subject, changes ...Change) (after Stored, err error) {
	err = b.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := exists(tx, subject); err != nil {
			return err
		}
		row := models.Budget{UserID: orNone(subject.UserID), OrganizationID: orNone(subject.OrganizationID)}
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
			return fmt.Errorf("begin the budget: %w", err)
		}
		column, id := subject.column()
		if after, err = stored(tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}), subject); err != nil {
			return err
		}
		for _, change := range changes {
			change(&after)
		}
		if err := after.check(); err != nil {
			return err
		}
		figures := map[string]any{"micros": after.Micros, "tokens": after.Tokens, "seconds": after.Seconds}
		return tx.Model(&models.Budget{}).Where(column+" = ?", id).UpdateColumns(figures).Error
	})
	if err != nil {
		return Stored{}, fmt.Errorf("set a budget: %w", err)
	}
	return after, nil
}

func stored(db *gorm.DB, subject Subject) (Stored, error) {
	column, id := subject.column()
	var rows []models.Budget
	if err := db.Where(column+" = ?", id).Limit(1).Find(&rows).Error; err != nil {
		return Stored{}, fmt.Errorf("read the budget: %w", err)
	}
	if len(rows) == 0 {
		return Stored{}, nil
	}
	return Stored{rows[0].Micros, rows[0].Tokens, rows[0].Seconds}, nil
}

// exists refuses a subject that is not there.
func exists(db *gorm.DB, subject Subject) error {
	if (subject.OrganizationID == 0) == (subject.UserID == 0) {
		return errors.New("a budget is that of an organization or of an account")
	}
	var count int64
	query := db.Model(&models.Organization{}).Where("id = ?", subject.OrganizationID)
	if subject.UserID != 0 {
		query = db.Model(&models.User{}).Where("id = ?", subject.UserID)
	}
	if err := query.Count(&count).Error; err != nil {
		return fmt.Errorf("find whose budget it is: %w", err)
	}
	if count == 0 {
		return problems.New(problems.NotFound, "There is no such organization or account.")
	}
	return nil
}

func (s Stored) check() error {
	for _, figure := range []struct {
		name  string
		value *int64
		most  int64
	}{{"The budget in micro-dollars", s.Micros, MaxMicros}, {"The budget of tokens", s.Tokens, MaxTokens}, {"The budget of seconds", s.Seconds, MaxSeconds}} {
		if figure.value != nil && (*figure.value < 0 || *figure.value > figure.most) {
			return problems.New(problems.InvalidParameter, "%s must be from 0 to %d.", figure.name, figure.most)
		}
	}
	return nil
}
