package modelstest

import (
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// Account is an account of an organization, both under these names and made if need be. The role counts where it is made.
func Account(t testing.TB, db *models.DB, organization, name, role string) models.User {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Microsecond)
	user := models.User{Email: name + "@example.org", Username: name, PasswordHash: "-", Role: role, CreatedAt: now}
	err := db.Transaction(t.Context(), func(tx *gorm.DB) error {
		row := models.Organization{Slug: organization, Name: organization, TimeZone: "UTC", CreatedAt: now}
		if err := tx.Where("slug = ?", organization).FirstOrCreate(&row).Error; err != nil {
			return err
		}
		user.OrganizationID = row.ID
		return tx.Where("username = ?", name).FirstOrCreate(&user).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	return user
}
