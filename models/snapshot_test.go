package models_test

import (
	"context"
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

// Rule: a table is read again when its counter has been raised, and not before; what cannot be read leaves what was read.
func TestASnapshotFollowsItsCounter(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		taken, broken := 0, errors.New("no such row")
		var failure error
		s := models.NewSnapshot(db, models.SnapshotOptions[int]{
			Name: "the figures", Counter: models.FiguresCounter, Before: -1,
			Take: func(context.Context, *gorm.DB) (int, error) {
				if failure == nil {
					taken++
				}
				return taken, failure
			},
		})
		raise := func() {
			t.Helper()
			err := db.Transaction(t.Context(), func(tx *gorm.DB) error {
				_, err := models.RaiseCounter(tx, models.FiguresCounter)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		read := func(want int, fails error) {
			t.Helper()
			if err := s.Read(t.Context()); !errors.Is(err, fails) || s.Latest() != want {
				t.Errorf("%d, error %v, want %d and %v", s.Latest(), err, want, fails)
			}
		}
		if s.Latest() != -1 {
			t.Errorf("%d before the first reading", s.Latest())
		}
		read(1, nil)
		read(1, nil)
		raise()
		failure = broken
		read(1, broken)
		failure = nil
		read(2, nil)
		read(2, nil)
	})
}
