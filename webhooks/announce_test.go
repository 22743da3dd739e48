package webhooks_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/webhooks"
)

var moment = time.Date(2026, 3, 5, 6, 13, 46, 123456000, time.FixedZone("Tokyo", 9*3600))

// samples has one event of every type; a type without one fails the golden test.
func samples() map[webhooks.Type]map[string]any {
	title := `Ünïcode <b> & "quotes"`
	return map[webhooks.Type]map[string]any{
		webhooks.RecordingCreated: {
			"recording_id": int64(7), "title": &title, "file_size": int64(1234), "original_filename": "a.mp3", "updated_at": moment,
		},
		webhooks.TranscriptionStarted: {"recording_id": int64(7), "title": (*string)(nil), "updated_at": &moment},
		webhooks.TranscriptionCompleted: {
			"recording_id": int64(7), "title": title, "language": (*string)(nil), "audio_duration_seconds": 12.5,
			"transcription_duration_seconds": int64(3), "updated_at": moment,
		},
		webhooks.TranscriptionFailed: {"recording_id": int64(7), "title": title, "error": "The engine did not answer.", "updated_at": moment},
		webhooks.SummaryCompleted: {
			"recording_id": int64(7), "title": title, "language": "en", "audio_duration_seconds": 12.5,
			"transcription_duration_seconds": (*int64)(nil), "summarization_duration_seconds": int64(4), "updated_at": moment,
		},
		webhooks.SummaryFailed:   {"recording_id": int64(7), "title": title, "error": "The text model did not answer.", "updated_at": moment},
		webhooks.SummaryApproved: {"recording_id": int64(7), "title": title, "approved_by": int64(5), "updated_at": moment},
		webhooks.EventsExtracted: {"recording_id": int64(7), "title": title, "events_count": 2, "updated_at": moment},
		webhooks.RecordingUpdated: {
			"recording_id": int64(7), "title": title, "fields_changed": []string{"notes", "title"}, "updated_at": moment,
		},
		webhooks.RecordingDeleted: {"recording_id": int64(7), "title": title},
		webhooks.BudgetThreshold: {
			"scope": "organization", "organization_id": int64(1), "user_id": nil, "month": "2026-03", "threshold": 80, "spent": 20.5, "budget": 25.0, "currency": "USD",
		},
		webhooks.ShareCreated: {
			"recording_id": int64(7), "title": title, "share_id": int64(3), "share_summary": true, "share_notes": false, "updated_at": moment,
		},
		webhooks.Test: {"reason": "A test.", "webhook_id": int64(4)},
		webhooks.ShareRevoked: {
			"recording_id": int64(7), "title": title, "share_id": int64(3), "share_summary": true, "share_notes": false, "updated_at": moment,
		},
	}
}

// An event is in the outbox exactly as the golden file of its type says, once its transaction is kept.
func TestEveryEventHasItsGoldenPayload(t *testing.T) {
	t.Parallel()
	db, owner := outbox(t)
	all := samples()
	for _, row := range webhooks.Events() {
		event := webhooks.Event{
			Type: row.Type, OrganizationID: owner.OrganizationID, UserID: owner.ID, RecordingID: 7,
			Data: all[row.Type], OccurredAt: moment,
		}
		if err := announce(db, event); err != nil {
			t.Errorf("%s: %v", row.Type, err)
			continue
		}
		var written models.OutboxEvent
		if err := db.Read.Order("id DESC").Take(&written).Error; err != nil {
			t.Fatal(err)
		}
		golden, err := os.ReadFile(filepath.Join("testdata", string(row.Type)+".golden"))
		if err != nil {
			t.Errorf("%s has no golden payload: %v; it is %s", row.Type, err, written.Data)
			continue
		}
		if want := strings.TrimSpace(string(golden)); written.Data != want {
			t.Errorf("%s: data is\n%s\nwant\n%s", row.Type, written.Data, want)
		}
		if written.Type != string(row.Type) || *written.RecordingID != 7 || !written.OccurredAt.Equal(moment) {
			t.Errorf("%s: the row says %+v", row.Type, written)
		}
	}
}

// Receivers tell events apart by an id that is a random UUID.
func TestEventIDsAreRandomUUIDs(t *testing.T) {
	t.Parallel()
	db, owner := outbox(t)
	seen := make(map[string]bool)
	for range 3 {
		event := webhooks.Event{
			Type: webhooks.RecordingDeleted, OrganizationID: owner.OrganizationID, UserID: owner.ID,
			Data: samples()[webhooks.RecordingDeleted], OccurredAt: moment,
		}
		if err := announce(db, event); err != nil {
			t.Fatal(err)
		}
	}
	var rows []models.OutboxEvent
	if err := db.Read.Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	for _, row := range rows {
		if !uuid.MatchString(row.EventID) || seen[row.EventID] {
			t.Errorf("event id %q", row.EventID)
		}
		if row.RecordingID != nil {
			t.Errorf("an event about no recording names recording %d", *row.RecordingID)
		}
		seen[row.EventID] = true
	}
}

// What is not in the table, or not as the table says, is an error and leaves nothing.
func TestAnnounceRefusesWhatTheTableDoesNotSay(t *testing.T) {
	t.Parallel()
	db, owner := outbox(t)
	for name, wrong := range map[string]func(*webhooks.Event){
		"unknown type":     func(e *webhooks.Event) { e.Type = "recording.vanished" },
		"no type":          func(e *webhooks.Event) { e.Type = "" },
		"unknown key":      func(e *webhooks.Event) { e.Data["transcript"] = "secret" },
		"key missing":      func(e *webhooks.Event) { delete(e.Data, "recording_id") },
		"required is null": func(e *webhooks.Event) { e.Data["recording_id"] = (*int64)(nil) },
		"over 64 KiB":      func(e *webhooks.Event) { e.Data["title"] = strings.Repeat("x", 64<<10) },
		"not JSON":         func(e *webhooks.Event) { e.Data["title"] = func() {} },
	} {
		event := webhooks.Event{
			Type: webhooks.RecordingDeleted, OrganizationID: owner.OrganizationID, UserID: owner.ID,
			Data: map[string]any{"recording_id": 7, "title": "t"}, OccurredAt: moment,
		}
		wrong(&event)
		if err := announce(db, event); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	expectEvents(t, db, 0)
}

// An event is not told of what did not happen.
func TestAnEventGoesWithItsTransaction(t *testing.T) {
	t.Parallel()
	db, owner := outbox(t)
	undone := errors.New("undone")
	err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
		err := webhooks.Announce(tx, webhooks.Event{
			Type: webhooks.RecordingDeleted, OrganizationID: owner.OrganizationID, UserID: owner.ID,
			Data: samples()[webhooks.RecordingDeleted], OccurredAt: moment,
		})
		return errors.Join(err, undone)
	})
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	expectEvents(t, db, 0)
}

func announce(db *models.DB, event webhooks.Event) error {
	return db.Transaction(context.Background(), func(tx *gorm.DB) error { return webhooks.Announce(tx, event) })
}

func expectEvents(t *testing.T, db *models.DB, want int64) {
	t.Helper()
	var count int64
	if err := db.Read.Model(&models.OutboxEvent{}).Count(&count).Error; err != nil {
		t.Fatal(err)
	}
	if count != want {
		t.Errorf("%d events in the outbox, want %d", count, want)
	}
}

func outbox(t *testing.T) (*models.DB, models.User) {
	t.Helper()
	db := modelstest.SQLite(t)
	organization := models.Organization{Slug: "default", Name: "Default", TimeZone: "UTC", CreatedAt: moment}
	user := models.User{Email: "a@example.com", Username: "a", PasswordHash: "-", Role: "editor", CreatedAt: moment}
	err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
		if err := tx.Create(&organization).Error; err != nil {
			return err
		}
		user.OrganizationID = organization.ID
		return tx.Create(&user).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	return db, user
}
