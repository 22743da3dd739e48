package models_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

func TestIDsAreNeverUsedTwice(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		first := createOrganization(t, db, "first")
		err := db.Transaction(context.Background(), func(tx *gorm.DB) error { return tx.Delete(&first).Error })
		if err != nil {
			t.Fatal(err)
		}
		if second := createOrganization(t, db, "second"); second.ID <= first.ID {
			t.Errorf("id %d came after id %d was deleted", second.ID, first.ID)
		}
	})
}

// Whatever zone and precision a time comes in, it is stored as one instant in UTC with whole microseconds, and
// SQL compares it rightly with parameters of any zone.
func TestTimesAreComparableInSQL(t *testing.T) {
	t.Parallel()
	west, east := time.FixedZone("west", -9*3600), time.FixedZone("east", 5*3600+1800)
	base := time.Date(2026, 3, 29, 1, 59, 59, 0, time.UTC)
	instants := []time.Time{ // in order
		base.Add(-time.Microsecond).In(east),
		base.In(west),
		base.Add(time.Microsecond),
		base.Add(50 * time.Millisecond).In(east),
		base.Add(500 * time.Millisecond).In(west),
		base.Add(510 * time.Millisecond).In(east),
		base.Add(999999999 * time.Nanosecond).In(west),
		base.Add(time.Second).In(time.Local),
	}
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		for i, instant := range instants {
			row := models.Session{TokenHash: string(rune('a' + i)), Data: []byte("x"), ExpiresAt: instant}
			if err := db.Transaction(context.Background(), func(tx *gorm.DB) error { return tx.Create(&row).Error }); err != nil {
				t.Fatal(err)
			}
		}
		for i, instant := range instants {
			for _, zone := range []*time.Location{time.UTC, west, east} {
				before, upTo := countSessions(t, db, "expires_at < ?", instant.In(zone)), countSessions(t, db, "expires_at <= ?", instant.In(zone))
				if before != int64(i) || upTo != int64(i+1) {
					t.Errorf("instant %d in zone %s: %d before and %d up to it, want %d and %d", i, zone, before, upTo, i, i+1)
				}
			}
		}
		var rows []models.Session
		if err := db.Read.Order("expires_at").Find(&rows).Error; err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			want := instants[i].UTC().Truncate(time.Microsecond)
			if !row.ExpiresAt.Equal(want) || row.ExpiresAt.Location() != time.UTC {
				t.Errorf("stored %s, read %s, want %s", instants[i], row.ExpiresAt, want)
			}
		}
	})
}

func TestClockIsTheDatabases(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		row := models.Session{TokenHash: "now", Data: []byte("x"), ExpiresAt: time.Now()}
		if err := db.Transaction(context.Background(), func(tx *gorm.DB) error { return tx.Create(&row).Error }); err != nil {
			t.Fatal(err)
		}
		for offset, later := range map[time.Duration]int64{-90 * time.Minute: 0, -time.Minute: 0, time.Minute: 1, 90 * time.Minute: 1} {
			if got := countSessions(t, db, "expires_at < "+db.Clock(offset)); got != later {
				t.Errorf("the clock at %s is not on its side of now", offset)
			}
		}
	})
}

func countSessions(t *testing.T, db *models.DB, where string, args ...any) int64 {
	t.Helper()
	var n int64
	if err := db.Read.Model(&models.Session{}).Where(where, args...).Count(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}

// What one database refuses the other refuses too: widths in characters, unknown states, text that is none.
func TestBothDatabasesRefuseTheSame(t *testing.T) {
	t.Parallel()
	wide := func(n int) *string { s := strings.Repeat("ß", n); return &s }
	number := func(x float64) *float64 { return &x }
	cases := []struct {
		name   string
		change func(*models.Recording)
		wanted bool
	}{
		{"as it is", func(*models.Recording) {}, true},
		{"title of 200", func(r *models.Recording) { r.Title = wide(200) }, true},
		{"title of 201", func(r *models.Recording) { r.Title = wide(201) }, false},
		{"participants of 501", func(r *models.Recording) { r.Participants = wide(501) }, false},
		{"file name of 501", func(r *models.Recording) { r.OriginalFilename = wide(501) }, false},
		{"media type of 101", func(r *models.Recording) { r.MimeType = wide(101) }, false},
		{"unknown status", func(r *models.Recording) { r.Status = "DONE" }, false},
		{"empty status", func(r *models.Recording) { r.Status = "" }, false},
		{"negative size", func(r *models.Recording) { r.FileSize = -1 }, false},
		{"short hash", func(r *models.Recording) { r.SHA256 = "ab" }, false},
		{"no such user", func(r *models.Recording) { r.UserID++ }, false},
		{"endless audio", func(r *models.Recording) { r.AudioDuration = number(math.Inf(1)) }, false},
		{"negative audio", func(r *models.Recording) { r.AudioDuration = number(-0.5) }, false},
		{"NUL in a text", func(r *models.Recording) { s := "a\x00b"; r.Notes = &s }, false},
		{"no UTF-8 in a text", func(r *models.Recording) { s := "a\xffb"; r.Notes = &s }, false},
	}
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		user := createUser(t, db, "admin")
		for _, c := range cases {
			row := recordingOf(user)
			c.change(&row)
			err := db.Transaction(context.Background(), func(tx *gorm.DB) error { return tx.Create(&row).Error })
			if (err == nil) != c.wanted {
				t.Errorf("%s: got %v", c.name, err)
			}
		}
	})
}

func TestTranscriptGoesWithItsRecording(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		row := recordingOf(createUser(t, db, "viewer"))
		start := 1.5
		err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
			if err := tx.Create(&row).Error; err != nil {
				return err
			}
			if err := tx.Create(&models.Transcript{RecordingID: row.ID, Kind: "segments", Engine: "e", Gaps: "[]"}).Error; err != nil {
				return err
			}
			if err := tx.Create(&models.TranscriptSegment{RecordingID: row.ID, StartSeconds: &start, EndSeconds: &start}).Error; err != nil {
				return err
			}
			return tx.Delete(&row).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := count(t, db, &models.Transcript{}) + count(t, db, &models.TranscriptSegment{}); n != 0 {
			t.Errorf("%d rows stayed", n)
		}
	})
}

func TestSegmentEndsAfterItBegins(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		row := recordingOf(createUser(t, db, "viewer"))
		start, end := 2.0, 1.0
		err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
			if err := tx.Create(&row).Error; err != nil {
				return err
			}
			return tx.Create(&models.Transcript{RecordingID: row.ID, Kind: "segments", Engine: "e", Gaps: "[]"}).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		err = db.Transaction(context.Background(), func(tx *gorm.DB) error {
			return tx.Create(&models.TranscriptSegment{RecordingID: row.ID, StartSeconds: &start, EndSeconds: &end}).Error
		})
		if err == nil {
			t.Error("a segment that ends before it begins was stored")
		}
	})
}

func TestUnknownRoleIsRefused(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		user := createUser(t, db, "editor")
		for _, role := range []string{"", "Admin", "root"} {
			err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
				return tx.Model(&user).Update("role", role).Error
			})
			if err == nil {
				t.Errorf("role %q was stored", role)
			}
		}
	})
}

func createUser(t testing.TB, db *models.DB, role string) models.User {
	t.Helper()
	organization := createOrganization(t, db, "acme")
	user := models.User{OrganizationID: organization.ID, Email: "a@example.org", Username: "a", Role: role}
	if err := db.Transaction(context.Background(), func(tx *gorm.DB) error { return tx.Create(&user).Error }); err != nil {
		t.Fatal(err)
	}
	return user
}

func recordingOf(user models.User) models.Recording {
	return models.Recording{
		OrganizationID: user.OrganizationID, UserID: user.ID, Status: "QUEUED", SHA256: strings.Repeat("0", 64),
	}
}
