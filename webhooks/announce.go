package webhooks

import (
	"crypto/rand"
	"fmt"
	"reflect"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// maxData is the largest data of one event, in bytes of JSON.
const maxData = 64 << 10

// updatedForm is how times stand in an event's data: UTC, always six digits of fraction.
const updatedForm = "2006-01-02T15:04:05.000000Z"

// Event is something that happened.
type Event struct {
	Type           Type
	OrganizationID int64
	// UserID is the owner of the thing that the event is about.
	UserID int64
	// RecordingID is 0 for events about no recording.
	RecordingID int64
	// Data has the keys of the event's row. A nil pointer is no value; a time is written in UTC to the microsecond.
	Data map[string]any
	// OccurredAt is the moment of the event, not of its delivery.
	OccurredAt time.Time
}

// atOnce is how many events one statement writes at most.
const atOnce = 500

// Announce writes events into the outbox within the caller's transaction. An event that is not in the table, has
// keys that its row does not know, lacks one that it asks for, or whose data exceeds 64 KiB is an error: the
// transaction must not be kept then.
func Announce(tx *gorm.DB, events ...Event) error {
	rows := make([]models.OutboxEvent, len(events))
	for i, event := range events {
		data, err := encode(event)
		if err != nil {
			return fmt.Errorf("announce %s: %w", event.Type, err)
		}
		rows[i] = models.OutboxEvent{
			EventID:        newID(),
			OrganizationID: event.OrganizationID,
			UserID:         event.UserID,
			Type:           string(event.Type),
			Data:           string(data),
			OccurredAt:     event.OccurredAt.UTC().Truncate(time.Microsecond),
		}
		if event.RecordingID != 0 {
			rows[i].RecordingID = &event.RecordingID
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if err := tx.CreateInBatches(rows, atOnce).Error; err != nil {
		return fmt.Errorf("announce %s: write the outbox: %w", events[0].Type, err)
	}
	return nil
}

// encode checks the data against the table and renders it: compact, keys sorted, characters as they are.
func encode(event Event) ([]byte, error) {
	row, known := row(event.Type)
	if !known {
		return nil, fmt.Errorf("the table of events has no such type")
	}
	data := make(map[string]any, len(row.Keys))
	for _, key := range row.Keys {
		value := plain(event.Data[key.Name])
		if value == nil && key.Need == Required {
			return nil, fmt.Errorf("data lacks %q", key.Name)
		}
		if value != nil || key.Need == Nullable {
			data[key.Name] = value
		}
	}
	for name := range event.Data {
		if !row.has(name) {
			return nil, fmt.Errorf("data has the unknown key %q", name)
		}
	}
	encoded, err := compact(data)
	if err != nil {
		return nil, fmt.Errorf("encode the data: %w", err)
	}
	if len(encoded) > maxData {
		return nil, fmt.Errorf("data has %d bytes, at most %d are allowed", len(encoded), maxData)
	}
	return encoded, nil
}

func (r EventRow) has(name string) bool {
	for _, key := range r.Keys {
		if key.Name == name {
			return true
		}
	}
	return false
}

// plain turns a value into what is encoded: nil pointers into nil, pointers into what they point to, times into
// their wire form.
func plain(value any) any {
	if reflected := reflect.ValueOf(value); reflected.Kind() == reflect.Pointer {
		if reflected.IsNil() {
			return nil
		}
		value = reflected.Elem().Interface()
	}
	if moment, ok := value.(time.Time); ok {
		return moment.UTC().Format(updatedForm)
	}
	return value
}

// newID makes a random UUID (version 4). Receivers tell events apart by it.
func newID() string {
	var id [16]byte
	rand.Read(id[:])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
