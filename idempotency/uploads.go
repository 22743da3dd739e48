package idempotency

import (
	"fmt"
	"net/http"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// Bound is the recording that a request with this key and fingerprint has made; 0 for none yet. A key that was used
// for another request is idempotency_key_reused.
func (k *Keys) Bound(db *gorm.DB, account int64, key, fingerprint string) (recording int64, err error) {
	var rows []models.IdempotencyKey
	err = db.Where("user_id = ? AND idempotency_key = ? AND expires_at > ?", account, key, k.Now().UTC()).
		Limit(1).Find(&rows).Error
	if err != nil {
		return 0, fmt.Errorf("look for an idempotency key: %w", err)
	}
	if len(rows) == 0 {
		return 0, nil
	}
	if rows[0].Fingerprint != fingerprint || rows[0].RecordingID == nil {
		return 0, reused()
	}
	return *rows[0].RecordingID, nil
}

// Bind ties a key to the recording that the transaction makes, and gives the one that it is tied to: another where a
// request with the same key was first. It waits for one that is being made at the same time.
func (k *Keys) Bind(tx *gorm.DB, account int64, key, fingerprint string, recording int64) (bound int64, err error) {
	row, err := k.locked(tx, account, key, fingerprint, "", 0)
	if err != nil {
		return 0, err
	}
	switch {
	case row.Fingerprint != fingerprint:
		return 0, reused()
	case row.RecordingID != nil:
		return *row.RecordingID, nil
	case row.Status != nil:
		return 0, reused() // by a request that was about no recording
	}
	err = tx.Model(&models.IdempotencyKey{}).Where("id = ?", row.ID).UpdateColumns(map[string]any{
		"status": http.StatusAccepted, "recording_id": recording,
	}).Error
	if err != nil {
		return 0, fmt.Errorf("tie an idempotency key to its recording: %w", err)
	}
	return recording, nil
}

func reused() error {
	return problems.New(problems.IdempotencyKeyReused, "The idempotency key was used for another request.")
}
