package recordings_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/recordings"
)

var someStatuses = []string{
	recordings.StatusPending, recordings.StatusQueued, recordings.StatusProcessing,
	recordings.StatusSummarizing, recordings.StatusCompleted, recordings.StatusFailed,
}

// recounted is what the account's counts should be.
func recounted(t *testing.T, db *models.DB, userID int64) models.RecordingCounts {
	t.Helper()
	var rows []models.Recording
	if err := db.Read.Where("user_id = ?", userID).Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	counts := models.RecordingCounts{UserID: userID}
	by := map[string]*int64{
		"PENDING": &counts.Pending, "QUEUED": &counts.Queued, "PROCESSING": &counts.Processing,
		"SUMMARIZING": &counts.Summarizing, "COMPLETED": &counts.Completed, "FAILED": &counts.Failed,
	}
	for _, row := range rows {
		*by[row.Status]++
		if row.AudioDeletedAt == nil {
			counts.AudioBytes += row.FileSize
		}
	}
	return counts
}

func kept(t *testing.T, db *models.DB, userID int64) models.RecordingCounts {
	t.Helper()
	var counts models.RecordingCounts
	if err := db.Read.Where("user_id = ?", userID).Take(&counts).Error; err != nil {
		t.Fatal(err)
	}
	return counts
}

// scramble makes a few random changes to the account's recordings, statements over many rows among them.
func scramble(tx *gorm.DB, random *rand.Rand, user models.User) error {
	for range 1 + random.IntN(4) {
		status := someStatuses[random.IntN(len(someStatuses))]
		some := tx.Where("user_id = ? AND id % 3 = ?", user.ID, random.IntN(3))
		var err error
		switch random.IntN(6) {
		case 0, 1:
			rows := make([]models.Recording, 1+random.IntN(5))
			for i := range rows {
				rows[i] = models.Recording{
					OrganizationID: user.OrganizationID, UserID: user.ID, Status: status, FileSize: random.Int64N(1000),
					SHA256: strings.Repeat("0", 64), CreatedAt: day(1), UpdatedAt: day(1),
				}
			}
			err = tx.Create(&rows).Error
		case 2:
			err = some.Model(&models.Recording{}).UpdateColumn("status", status).Error
		case 3:
			err = some.Model(&models.Recording{}).UpdateColumn("audio_deleted_at", day(2)).Error
		case 4:
			err = some.Model(&models.Recording{}).UpdateColumns(map[string]any{"file_size": random.Int64N(500), "audio_deleted_at": nil}).Error
		case 5:
			err = some.Where("status = ?", status).Delete(&models.Recording{}).Error
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// The counts equal a recount whatever is written, also inside the transaction that a failure takes back.
func TestCountsEqualARecount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		users := []models.User{r.user, r.account("second")}
		seed := uint64(time.Now().UnixNano())
		random := rand.New(rand.NewPCG(seed, 0))
		for range 60 {
			user := users[random.IntN(2)]
			err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error {
				if err := scramble(tx, random, user); err != nil {
					return err
				}
				if random.IntN(4) == 0 {
					return errTakenBack
				}
				return nil
			})
			if err != nil && err != errTakenBack { //nolint:errorlint // returned as it is
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, user := range users {
				if got, want := kept(t, r.db, user.ID), recounted(t, r.db, user.ID); got != want {
					t.Fatalf("seed %d: counts are %+v, there are %+v", seed, got, want)
				}
			}
		}
	})
}

var errTakenBack = fmt.Errorf("taken back")

// Writers at once, each with several recordings in a transaction, end with exact counts, and none is told of a deadlock.
func TestCountsOfWritersAtOnce(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		user := accountIn(t, db)
		var writers errgroup.Group
		for writer := range 8 {
			writers.Go(func() error {
				random := rand.New(rand.NewPCG(uint64(writer), 1))
				for range 15 {
					err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
						rows := make([]models.Recording, 2)
						for i := range rows {
							rows[i] = models.Recording{
								OrganizationID: user.OrganizationID, UserID: user.ID, Status: "QUEUED", FileSize: 7,
								SHA256: strings.Repeat("0", 64), CreatedAt: day(1), UpdatedAt: day(1),
							}
							if err := tx.Create(&rows[i]).Error; err != nil {
								return err
							}
						}
						own := tx.Model(&models.Recording{}).Where("id = ?", rows[0].ID)
						if random.IntN(2) == 0 {
							return own.Delete(&models.Recording{}).Error
						}
						return own.UpdateColumn("status", someStatuses[random.IntN(len(someStatuses))]).Error
					})
					if err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := writers.Wait(); err != nil {
			t.Fatal(err)
		}
		if got, want := kept(t, db, user.ID), recounted(t, db, user.ID); got != want {
			t.Errorf("counts are %+v, there are %+v", got, want)
		}
	})
}

// accountIn makes an account without a rig.
func accountIn(t *testing.T, db *models.DB) models.User {
	t.Helper()
	org := models.Organization{Slug: "o", Name: "o", TimeZone: "UTC", CreatedAt: day(1)}
	user := models.User{Email: "o@example.org", Username: "o", PasswordHash: "-", Role: "editor", CreatedAt: day(1)}
	err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
		if err := tx.Create(&org).Error; err != nil {
			return err
		}
		user.OrganizationID = org.ID
		return tx.Create(&user).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	return user
}
