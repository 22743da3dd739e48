package idempotency

import (
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/models"
)

type contextKey struct{}

// With hands a claim on to the stories of its request.
func With(ctx context.Context, claim *Claim) context.Context {
	return context.WithValue(ctx, contextKey{}, claim)
}

// Made is the job that an earlier attempt of this very request has queued for a recording. A story asks before it
// queues one.
func Made(ctx context.Context, recordingID int64) (jobID int64, ok bool) {
	claim, _ := ctx.Value(contextKey{}).(*Claim)
	if claim == nil {
		return 0, false
	}
	jobID, ok = claim.made[recordingID]
	return jobID, ok
}

// Note writes into the transaction that queues a job for a recording that this request has made it. Without a key it
// does nothing; an error must end the transaction.
func Note(ctx context.Context, tx *gorm.DB, recordingID, jobID int64) error {
	claim, _ := ctx.Value(contextKey{}).(*Claim)
	if claim == nil {
		return nil
	}
	held := tx.Model(&models.IdempotencyKey{}).Where("id = ? AND holder = ?", claim.id, claim.holder).
		UpdateColumn("held_until", gorm.Expr(claim.keys.db.Clock(claim.hold)))
	if held.Error != nil {
		return fmt.Errorf("look after an idempotency key: %w", held.Error)
	}
	if held.RowsAffected == 0 {
		return inProgress() // it was believed dead, and another goes on with it
	}
	effect := models.IdempotencyEffect{KeyID: claim.id, RecordingID: recordingID, JobID: jobID}
	if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&effect).Error; err != nil {
		return fmt.Errorf("note what was made: %w", err)
	}
	return nil
}
