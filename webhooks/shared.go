package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

// completed is the status of recordings of which those are told with whom they are shared.
const completed = "COMPLETED"

// personal are the words of fields_changed for what everybody who sees a recording has for themselves: with whom it is
// shared hears nothing of its owner's.
func personal() []string {
	return []string{"notes", "is_inbox", "is_highlighted", "is_archived", "external_refs"}
}

// sharedWith finds the recordings of others that the owners of the endpoints see, of those that the events are about.
func (s *Webhooks) sharedWith(tx *gorm.DB, events []models.OutboxEvent, endpoints []endpoint) (map[key]bool, error) {
	var recordings, users []int64
	for _, event := range events {
		if event.RecordingID != nil {
			recordings = append(recordings, *event.RecordingID)
		}
	}
	for _, endpoint := range endpoints {
		if endpoint.hook.IncludeShared && endpoint.hook.Scope == ScopeUser {
			users = append(users, endpoint.hook.UserID)
		}
	}
	return s.shares(tx, recordings, users, "r.status = ?", completed)
}

// shares are those that hold: none while sharing is switched off, and none of an owner who is disabled.
func (s *Webhooks) shares(tx *gorm.DB, recordings, users []int64, condition string, values ...any) (map[key]bool, error) {
	if !s.InternalSharing || len(recordings) == 0 || len(users) == 0 {
		return nil, nil
	}
	slices.Sort(recordings)
	slices.Sort(users)
	var rows []models.InternalShare
	err := tx.Table("internal_shares AS s").Select("s.recording_id, s.user_id").
		Joins("JOIN recordings AS r ON r.id = s.recording_id AND r.user_id <> s.user_id").
		Joins("JOIN users AS o ON o.id = r.user_id AND o.disabled_at IS NULL").
		Joins("JOIN users AS u ON u.id = s.user_id AND u.organization_id = r.organization_id").
		Where("(u.role IN ? OR "+models.SharedWithEverybody+")", auth.RolesThatMay(auth.AdministerMembers)).
		Where("s.recording_id IN ? AND s.user_id IN ?", slices.Compact(recordings), slices.Compact(users)).
		Where(condition, values...).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("find what is shared: %w", err)
	}
	found := make(map[key]bool, len(rows))
	for _, row := range rows {
		found[key{row.RecordingID, row.UserID}] = true
	}
	return found, nil
}

// forShared reports whether an event is told to those with whom its recording is shared. Its deletion is not, as that has
// ended the share.
func forShared(event models.OutboxEvent) bool {
	switch Type(event.Type) {
	case RecordingDeleted:
		return false
	case RecordingUpdated:
		var data struct {
			Fields []string `json:"fields_changed"`
		}
		return json.Unmarshal([]byte(event.Data), &data) == nil && len(withoutPersonal(data.Fields)) > 0
	default:
		return true
	}
}

func withoutPersonal(fields []string) []string {
	return slices.DeleteFunc(fields, func(field string) bool { return slices.Contains(personal(), field) })
}

// impersonal keeps from whom a recording is shared with what its owner has of it alone.
func impersonal(hook models.Webhook, data map[string]any) error {
	changed, there := data["fields_changed"].(json.RawMessage)
	if !there || hook.Scope == ScopeOrganization {
		return nil
	}
	var fields []string
	if err := json.Unmarshal(changed, &fields); err != nil {
		return err //nolint:wrapcheck // the caller says what was read
	}
	data["fields_changed"] = withoutPersonal(fields)
	return nil
}

// stillShared leaves of what is due to an endpoint that of which its owner may know now. The rest is dropped, without what
// people wrote: what is shared no longer tells nothing, however long it has waited.
func (s *Webhooks) stillShared(ctx context.Context, hook models.Webhook, due []models.WebhookDelivery) ([]models.WebhookDelivery, error) {
	about := make(map[int64]int64) // recordings of others, by delivery
	for _, d := range due {
		if owner := given(d.OwnerUserID); hook.Scope == ScopeUser && owner != 0 && owner != hook.UserID {
			about[d.ID] = recordingOf(d)
		}
	}
	if len(about) == 0 {
		return due, nil
	}
	recordings := make([]int64, 0, len(about))
	for _, id := range about {
		recordings = append(recordings, id)
	}
	shares, err := s.shares(s.db.Read.WithContext(ctx), recordings, []int64{hook.UserID}, "1 = 1")
	if err != nil {
		return nil, err
	}
	var ended []models.WebhookDelivery
	left := slices.DeleteFunc(due, func(d models.WebhookDelivery) bool {
		id, others := about[d.ID]
		if !others || shares[key{id, hook.UserID}] {
			return false
		}
		ended = append(ended, d)
		return true
	})
	return left, s.dropShared(ctx, ended)
}

// recordingOf is the recording that a delivery tells of; a replay keeps no order and has it in its body alone.
func recordingOf(d models.WebhookDelivery) int64 {
	var body struct {
		Data struct {
			RecordingID int64 `json:"recording_id"`
		} `json:"data"`
	}
	if json.Unmarshal([]byte(d.Payload), &body) != nil {
		return 0
	}
	return body.Data.RecordingID
}

func (s *Webhooks) dropShared(ctx context.Context, ended []models.WebhookDelivery) error {
	if len(ended) == 0 {
		return nil
	}
	now := s.moment()
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		for _, d := range ended {
			payload, err := bare(d.Payload)
			if err != nil {
				return err
			}
			if err := tx.Model(&d).UpdateColumn("payload", payload).Error; err != nil {
				return err
			}
			if err := drop(tx.Where("id = ? AND finished_at IS NULL", d.ID), ShareEnded, now).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop what is shared no longer: %w", err)
	}
	return nil
}
