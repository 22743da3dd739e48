package webhooks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stenometer/stenometer/models"
)

// envelope is the body of a delivery. It is encoded once, and those bytes are sent each time.
type envelope struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Timestamp  string `json:"timestamp"`
	OccurredAt string `json:"occurred_at"`
	UserID     int64  `json:"user_id"`
	// Sequence tells which of two events about one recording happened first.
	Sequence     int64           `json:"sequence"`
	Data         json.RawMessage `json:"data"`
	ReplayedFrom string          `json:"replayed_from,omitempty"`
}

// ref is a reference to another system, as API v1 shows it.
type ref struct {
	ID        int64   `json:"id"`
	System    string  `json:"system"`
	Kind      string  `json:"kind"`
	Ref       string  `json:"ref"`
	URL       *string `json:"url"`
	Label     *string `json:"label"`
	CreatedAt string  `json:"created_at"`
}

// contentKeys are the members of an event's data that are text of people: they follow the scope read.
func contentKeys() []string { return []string{"title", "original_filename"} }

// payloadFor writes an event for one endpoint. refs are those that its owner has noted at the recording.
func payloadFor(hook models.Webhook, event models.OutboxEvent, sequence int64, refs []models.ExternalRef) (string, error) {
	data, err := membersOf([]byte(event.Data))
	if err != nil {
		return "", fmt.Errorf("read the data of event %s: %w", event.EventID, err)
	}
	if event.RecordingID != nil && Type(event.Type) != RecordingDeleted {
		data["external_refs"] = refsOf(refs)
	}
	if event.RecordingID != nil && event.UserID != hook.UserID {
		data["owner_user_id"] = event.UserID
		if err := impersonal(hook, data); err != nil {
			return "", fmt.Errorf("read the fields of event %s: %w", event.EventID, err)
		}
	}
	if !hook.IncludeContent {
		withoutContent(data)
	}
	encoded, err := compact(data)
	if err != nil {
		return "", fmt.Errorf("encode event %s: %w", event.EventID, err)
	}
	at := Varied(event.OccurredAt)
	body, err := compact(envelope{
		ID: event.EventID, Type: event.Type, Timestamp: at, OccurredAt: at, UserID: hook.UserID, Sequence: sequence, Data: encoded,
	})
	if err != nil {
		return "", fmt.Errorf("encode event %s: %w", event.EventID, err)
	}
	return string(body), nil
}

// membersOf reads data so that its values are written again as they were.
func membersOf(data []byte) (map[string]any, error) {
	var stored map[string]json.RawMessage
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, err //nolint:wrapcheck // the callers say whose data it is
	}
	members := make(map[string]any, len(stored))
	for name, value := range stored {
		members[name] = value
	}
	return members, nil
}

func withoutContent(data map[string]any) {
	for _, name := range contentKeys() {
		if _, there := data[name]; there {
			data[name] = nil
		}
	}
	if _, there := data["external_refs"]; there {
		data["external_refs"] = []ref{}
	}
}

// bodyFor is what the endpoint may be sent of a body: one that was written while it was sent text of people may wait
// longer than that holds. Where there is none in it, it stays what it is, byte by byte.
func bodyFor(hook models.Webhook, payload string) (string, error) {
	if hook.IncludeContent {
		return payload, nil
	}
	return bare(payload)
}

// bare is a body without text of people.
func bare(payload string) (string, error) {
	var body envelope
	if err := json.Unmarshal([]byte(payload), &body); err != nil {
		return "", fmt.Errorf("read a body: %w", err)
	}
	data, err := membersOf(body.Data)
	if err != nil {
		return "", fmt.Errorf("read the data of event %s: %w", body.ID, err)
	}
	withoutContent(data)
	if body.Data, err = compact(data); err != nil {
		return "", fmt.Errorf("encode event %s: %w", body.ID, err)
	}
	encoded, err := compact(body)
	if err != nil {
		return "", fmt.Errorf("encode event %s: %w", body.ID, err)
	}
	return string(encoded), nil
}

func refsOf(rows []models.ExternalRef) []ref {
	refs := make([]ref, 0, len(rows))
	for _, r := range rows {
		refs = append(refs, ref{r.ID, r.System, r.Kind, r.Ref, r.URL, r.Label, r.CreatedAt.UTC().Format(updatedForm)})
	}
	slices.SortFunc(refs, func(a, b ref) int { return cmp.Compare(a.ID, b.ID) })
	return refs
}

// replayed writes a delivery's body again, as an event of its own that names the old one.
func replayed(hook models.Webhook, old models.WebhookDelivery, id string, now time.Time) (string, error) {
	payload, err := bodyFor(hook, old.Payload)
	if err != nil {
		return "", fmt.Errorf("delivery %d: %w", old.ID, err)
	}
	var body envelope
	if err := json.Unmarshal([]byte(payload), &body); err != nil {
		return "", fmt.Errorf("read the body of delivery %d: %w", old.ID, err)
	}
	body.ID, body.ReplayedFrom = id, old.EventID
	body.Timestamp, body.OccurredAt = Varied(now), Varied(now)
	encoded, err := compact(body)
	if err != nil {
		return "", fmt.Errorf("encode delivery %d again: %w", old.ID, err)
	}
	return string(encoded), nil
}

// compact encodes without spaces, and characters as they are.
func compact(value any) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err //nolint:wrapcheck // the callers say what was encoded
	}
	return bytes.TrimSuffix(body.Bytes(), []byte("\n")), nil
}
