package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

const (
	// handOutAtOnce is how many events one transaction hands out, so that other writers wait for milliseconds.
	handOutAtOnce = 100
	// dispatchLock is the advisory lock of who hands out: "stnhooks" in ASCII, cut to 63 bits by its first letter.
	dispatchLock int64 = 0x73746e686f6f6b73
)

// alone reports whether this transaction is the one that hands out; on SQLite there is no other. Numbers of events would
// be given twice otherwise.
func (s *Webhooks) alone(tx *gorm.DB) (bool, error) {
	if s.db.Dialect == models.SQLite {
		return true, nil
	}
	var got bool
	if err := tx.Raw("SELECT pg_try_advisory_xact_lock(?)", dispatchLock).Scan(&got).Error; err != nil {
		return false, fmt.Errorf("take the lock of events: %w", err)
	}
	return got, nil
}

// handOut turns the oldest events that wait in the outbox into deliveries, one for each endpoint that wants them, and
// numbers them. It is one transaction: an event is either still in the outbox or on its way to everybody.
func (s *Webhooks) handOut(ctx context.Context) (more bool, err error) {
	var waiting []int64
	query := s.db.Read.WithContext(ctx).Model(&models.OutboxEvent{}).Where("sequence IS NULL")
	if err := query.Limit(1).Pluck("id", &waiting).Error; err != nil {
		return false, fmt.Errorf("look for events: %w", err)
	}
	if len(waiting) == 0 {
		return false, nil // without a transaction, which on SQLite would keep others waiting
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if alone, err := s.alone(tx); !alone {
			return err
		}
		var events []models.OutboxEvent
		if err := tx.Where("sequence IS NULL").Order("id").Limit(handOutAtOnce).Find(&events).Error; err != nil {
			return err
		}
		more = len(events) == handOutAtOnce
		return s.handOutAll(tx, events)
	})
	if err != nil {
		return false, fmt.Errorf("hand out events: %w", err)
	}
	return more, nil
}

func (s *Webhooks) handOutAll(tx *gorm.DB, events []models.OutboxEvent) error {
	if err := number(tx, events); err != nil {
		return err
	}
	endpoints, err := s.endpointsFor(tx, events)
	if err != nil {
		return err
	}
	refs, err := refsFor(tx, events, endpoints)
	if err != nil {
		return err
	}
	shared, err := s.sharedWith(tx, events, endpoints)
	if err != nil {
		return err
	}
	now := s.moment()
	var deliveries []models.WebhookDelivery
	for _, event := range events {
		for _, endpoint := range endpoints {
			if !endpoint.wants(event, shared) {
				continue
			}
			payload, err := payloadFor(endpoint.hook, event, *event.Sequence, refs[key{given(event.RecordingID), endpoint.hook.UserID}])
			if err != nil {
				return err
			}
			deliveries = append(deliveries, models.WebhookDelivery{
				WebhookID: endpoint.hook.ID, EventID: event.EventID, EventType: event.Type, RecordingID: event.RecordingID, OwnerUserID: &event.UserID,
				Sequence: *event.Sequence, Payload: payload, Status: statusPending, DueAt: &now, CreatedAt: now,
			})
		}
	}
	if len(deliveries) == 0 {
		return nil
	}
	return tx.Clauses(clause.OnConflict{DoNothing: true}).CreateInBatches(deliveries, atOnce).Error
}

// number says which event of its recording each is. Stories announce with the recording locked, so that the ids of one
// recording's events are in the order in which they happened.
func number(tx *gorm.DB, events []models.OutboxEvent) error {
	var recordings []int64
	for _, event := range events {
		if event.RecordingID != nil {
			recordings = append(recordings, *event.RecordingID)
		}
	}
	var found []struct{ RecordingID, Sequence int64 }
	err := tx.Model(&models.OutboxEvent{}).Select("recording_id, max(sequence) AS sequence").
		Where("recording_id IN ? AND sequence IS NOT NULL", recordings).Group("recording_id").Scan(&found).Error
	if err != nil {
		return fmt.Errorf("find the last numbers: %w", err)
	}
	last := make(map[int64]int64, len(found))
	for _, row := range found {
		last[row.RecordingID] = row.Sequence
	}
	for i := range events {
		var sequence int64
		if recording := events[i].RecordingID; recording != nil {
			last[*recording]++
			sequence = last[*recording]
		}
		events[i].Sequence = &sequence
		if err := tx.Model(&models.OutboxEvent{}).Where("id = ?", events[i].ID).UpdateColumn("sequence", sequence).Error; err != nil {
			return fmt.Errorf("number an event: %w", err)
		}
	}
	return nil
}

// endpoint is one that may want events, with what its owner may do now.
type endpoint struct {
	hook   models.Webhook
	types  []Type
	manage bool // the owner's role may manage the organization's
}

// endpointsFor lists the endpoints of the events' organizations that are told anything. An account that is disabled is
// told nothing; one that is paused later what happens now.
func (s *Webhooks) endpointsFor(tx *gorm.DB, events []models.OutboxEvent) ([]endpoint, error) {
	if !s.Enabled {
		return nil, nil
	}
	var organizations []int64
	for _, event := range events {
		if !slices.Contains(organizations, event.OrganizationID) {
			organizations = append(organizations, event.OrganizationID)
		}
	}
	var rows []struct {
		models.Webhook

		Role string
	}
	err := tx.Model(&models.Webhook{}).Select(models.Columns(tx, &models.Webhook{})+", users.role AS role").Joins("JOIN users ON users.id = webhooks.user_id").
		Where("webhooks.organization_id IN ? AND (webhooks.enabled OR webhooks.auto_paused) AND users.disabled_at IS NULL", organizations).
		Order("webhooks.id").Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("find the endpoints: %w", err)
	}
	endpoints := make([]endpoint, 0, len(rows))
	for _, row := range rows {
		types, err := typesOf(row.Webhook)
		if err != nil {
			return nil, err
		}
		endpoints = append(endpoints, endpoint{row.Webhook, types, auth.RoleMay(row.Role, auth.ManageIntegrations)})
	}
	return endpoints, nil
}

// wants reports whether an endpoint is told of an event: it has asked for the type, and may know of it.
func (e endpoint) wants(event models.OutboxEvent, shared map[key]bool) bool {
	if e.hook.OrganizationID != event.OrganizationID || !slices.Contains(e.types, Type(event.Type)) {
		return false
	}
	if e.hook.Scope == ScopeOrganization {
		return e.manage
	}
	if Type(event.Type) == BudgetThreshold {
		return ofBudgetOf(event, e.hook.UserID)
	}
	return event.UserID == e.hook.UserID ||
		e.hook.IncludeShared && shared[key{given(event.RecordingID), e.hook.UserID}] && forShared(event)
}

// ofBudgetOf reports whether a threshold is of an account's own budget. One of the organization's says who reached it, and
// is not that account's.
func ofBudgetOf(event models.OutboxEvent, account int64) bool {
	var data struct {
		UserID int64 `json:"user_id"`
	}
	return json.Unmarshal([]byte(event.Data), &data) == nil && data.UserID == account
}

func typesOf(hook models.Webhook) ([]Type, error) {
	var types []Type
	if err := json.Unmarshal([]byte(hook.Events), &types); err != nil {
		return nil, fmt.Errorf("read the events of webhook %d: %w", hook.ID, err)
	}
	return types, nil
}

// key is an account's view of a recording.
type key struct{ recording, user int64 }

// refsFor finds what the owners of the endpoints have noted at the recordings. A reference is its account's own: nobody
// else's endpoint is told of it.
func refsFor(tx *gorm.DB, events []models.OutboxEvent, endpoints []endpoint) (map[key][]models.ExternalRef, error) {
	var recordings, users []int64
	for _, event := range events {
		if event.RecordingID != nil {
			recordings = append(recordings, *event.RecordingID)
		}
	}
	for _, endpoint := range endpoints {
		users = append(users, endpoint.hook.UserID)
	}
	if len(recordings) == 0 || len(users) == 0 {
		return nil, nil
	}
	slices.Sort(recordings)
	slices.Sort(users)
	var rows []models.ExternalRef
	if err := tx.Where("recording_id IN ? AND user_id IN ?", slices.Compact(recordings), slices.Compact(users)).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("find the references: %w", err)
	}
	refs := make(map[key][]models.ExternalRef)
	for _, row := range rows {
		refs[key{row.RecordingID, row.UserID}] = append(refs[key{row.RecordingID, row.UserID}], row)
	}
	return refs, nil
}

func given(id *int64) int64 {
	if id == nil {
		return 0
	}
	return *id
}
