package models_test

import (
	"context"
	"fmt"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

// Rule: two neighboring versions run side by side. The newer one adds columns while the older one works, and what the
// older one has asked before it asks again: PostgreSQL refuses a prepared statement whose result got another column.
func TestAColumnOfTheNextVersionDisturbsNobody(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := context.Background()
		made := createOrganization(t, db, "acme")
		ask := func() error {
			return db.Transaction(ctx, func(tx *gorm.DB) error {
				var listed []models.Organization
				var taken models.Organization
				if err := tx.Where("slug = ?", "acme").Find(&listed).Error; err != nil || len(listed) != 1 {
					return fmt.Errorf("list: %d, %w", len(listed), err)
				}
				if err := tx.Take(&taken, made.ID).Error; err != nil {
					return fmt.Errorf("take: %w", err)
				}
				columns := models.Columns(tx, &models.Organization{}) + ", 1 AS more"
				if err := tx.Model(&models.Organization{}).Select(columns).Find(&listed).Error; err != nil || len(listed) != 1 {
					return fmt.Errorf("list with more: %d, %w", len(listed), err)
				}
				_, err := models.RaiseCounter(tx, models.FiguresCounter)
				return err
			})
		}
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		err := db.Transaction(ctx, func(tx *gorm.DB) error {
			for _, table := range []string{"organizations", "change_counters"} {
				if err := tx.Exec("ALTER TABLE " + table + " ADD COLUMN of_the_next_version text").Error; err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// Every connection of the pool may have prepared it.
		for range 8 {
			if err := ask(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
