package models_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

// beforeCounts is the number of the last migration that knows no counts.
const beforeCounts = 6

// Recordings and accounts of before the counts are counted when they come, and accounts of afterwards begin with none.
func TestCountsBeginWithWhatIsThere(t *testing.T) {
	t.Parallel()
	for name, newURL := range modelstest.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			db := modelstest.Open(t, newURL(t), false)
			dialect := map[models.Dialect]goose.Dialect{models.SQLite: goose.DialectSQLite3, models.Postgres: goose.DialectPostgres}[db.Dialect]
			provider, err := goose.NewProvider(dialect, db.JobsSQL(), os.DirFS("migrations/"+string(db.Dialect)), goose.WithLogger(goose.NopLogger()))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := provider.UpTo(ctx, beforeCounts); err != nil {
				t.Fatal(err)
			}
			org := createOrganization(t, db, "o")
			first, second := createAccount(t, db, org.ID, "first"), createAccount(t, db, org.ID, "second")
			for i, status := range []string{"PENDING", "COMPLETED", "COMPLETED", "FAILED"} {
				createRecording(t, db, first, status, i == 2)
			}
			if _, err := provider.UpTo(ctx, beforeCounts+1); err != nil {
				t.Fatal(err)
			}
			third := createAccount(t, db, org.ID, "third")
			createRecording(t, db, first, "QUEUED", false)
			want := map[int64]models.RecordingCounts{
				first.ID:  {UserID: first.ID, Pending: 1, Queued: 1, Completed: 2, Failed: 1, AudioBytes: 40},
				second.ID: {UserID: second.ID}, third.ID: {UserID: third.ID},
			}
			var rows []models.RecordingCounts
			if err := db.Read.Find(&rows).Error; err != nil || len(rows) != len(want) {
				t.Fatalf("there are %d rows of counts, want %d, %v", len(rows), len(want), err)
			}
			for _, row := range rows {
				if row != want[row.UserID] {
					t.Errorf("got %+v, want %+v", row, want[row.UserID])
				}
			}
		})
	}
}

// An account without recordings goes with its counts and tombstones.
func TestCountsGoWithTheirAccount(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		user := createAccount(t, db, createOrganization(t, db, "o").ID, "gone")
		createRecording(t, db, user, "COMPLETED", false)
		err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
			if err := tx.Create(&models.RecordingTombstone{UserID: user.ID, RecordingID: 1, Reason: "deleted", DeletedAt: time.Now()}).Error; err != nil {
				return err
			}
			if err := tx.Where("user_id = ?", user.ID).Delete(&models.Recording{}).Error; err != nil {
				return err
			}
			return tx.Delete(&user).Error
		})
		var left int64
		if err == nil {
			err = db.Read.Raw("SELECT (SELECT count(*) FROM recording_counts) + (SELECT count(*) FROM recording_tombstones)").Scan(&left).Error
		}
		if err != nil || left != 0 {
			t.Errorf("%d rows are left, %v", left, err)
		}
	})
}

// createAccount makes one by the columns that tables have had from the first.
func createAccount(t *testing.T, db *models.DB, organization int64, name string) models.User {
	t.Helper()
	user := models.User{
		OrganizationID: organization, Email: name + "@example.org", Username: name, PasswordHash: "-", Role: "editor", CreatedAt: time.Now(),
	}
	if err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
		return tx.Omit("SummaryPrompt", "OutputLanguage", "ExtractEvents", "ErasingAt").Create(&user).Error
	}); err != nil {
		t.Fatal(err)
	}
	return user
}

// createRecording makes one of 10 bytes by the columns that tables have had from the first.
func createRecording(t *testing.T, db *models.DB, user models.User, status string, silent bool) {
	t.Helper()
	var deleted *time.Time
	if silent {
		at := time.Now()
		deleted = &at
	}
	err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
		return tx.Exec(`INSERT INTO recordings (organization_id, user_id, title_by_user, status, file_size, sha256, storage_key, audio_deleted_at,
				is_inbox, is_highlighted, is_archived, job_id, work_token, ai_charged, created_at, updated_at)
			VALUES (?, ?, false, ?, 10, ?, '', ?, false, false, false, 0, '', false, ?, ?)`,
			user.OrganizationID, user.ID, status, fmt.Sprintf("%064d", 0), deleted, time.Now(), time.Now()).Error
	})
	if err != nil {
		t.Fatal(err)
	}
}
