// Package idempotency keeps requests from being worked twice. A request that bears a key is claimed before its
// handler runs; what it makes is noted in the transaction that makes it; its answer is kept and given to whoever
// sends the same again. A process that dies in the middle leaves a claim that ends by itself: the next attempt goes
// on with what was noted instead of making it anew.
package idempotency

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// MaxAnswer is the largest answer that is kept, in bytes. A larger one ends its claim without being kept.
const MaxAnswer = 1 << 20

// MaxKey is the longest key, in characters.
const MaxKey = 100

// retryHint is what a request is told whose key is being worked on.
const retryHint = 2 * time.Second

// Options is what a Keys is made of. All of it is required.
type Options struct {
	// Life is how long an answer is kept.
	Life time.Duration
	// Hold is how long a claim is believed in without an answer: longer than any handler runs.
	Hold time.Duration
	// Now is for the age of answers; claims are judged by the database's clock, which all processes share.
	Now func() time.Time
	// SweepEvery is the time between two removals of expired keys.
	SweepEvery time.Duration
	Logger     *slog.Logger
}

// Keys are the keys of all accounts.
type Keys struct {
	db *models.DB
	Options

	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// New makes the keys. It starts nothing.
func New(db *models.DB, options Options) *Keys { return &Keys{db: db, Options: options} }

// Answer is what a handler has said.
type Answer struct {
	Status      int
	ContentType string
	Body        []byte
}

// Claim is the right to work on the request of one key.
type Claim struct {
	// Kept is the answer that was given before; nil when there is none yet and the claim is held.
	Kept *Answer

	keys   *Keys
	id     int64
	holder string
	about  int64
	hold   time.Duration
	// made is what earlier attempts have made: a job for each recording.
	made map[int64]int64
}

// Claim takes a key for one request of an account. It gives a claim that has Kept, or one to work under and then to
// Keep or Release. A key that was used for another request is idempotency_key_reused, one that is being worked on
// idempotency_in_progress. About is the recording that the request is about, with which the kept answer dies; 0 for
// none. More is how much longer than Hold a request of its route may take.
func (k *Keys) Claim(ctx context.Context, account int64, key, fingerprint string, about int64, more time.Duration) (*Claim, error) {
	claim := &Claim{keys: k, holder: rand.Text(), about: about, hold: k.Hold + more}
	err := k.db.Transaction(ctx, func(tx *gorm.DB) error {
		row, err := k.locked(tx, account, key, fingerprint, claim.holder, claim.hold)
		if err != nil {
			return err
		}
		claim.id = row.ID
		switch {
		case row.Fingerprint != fingerprint:
			return reused()
		case row.Status != nil:
			claim.Kept = &Answer{*row.Status, row.ContentType, row.Answer}
			return nil
		case row.Holder == claim.holder:
			return nil
		}
		return claim.takeOver(tx, row)
	})
	if err != nil {
		return nil, fmt.Errorf("claim an idempotency key: %w", err)
	}
	return claim, nil
}

// locked gives the row of a key, made if there is none, and locked until the transaction ends. A holder that is not
// empty holds the row that was made for it.
func (k *Keys) locked(tx *gorm.DB, account int64, key, fingerprint, holder string, hold time.Duration) (models.IdempotencyKey, error) {
	now := k.Now().UTC()
	mine := tx.Where("user_id = ? AND idempotency_key = ?", account, key)
	if err := tx.Where("user_id = ? AND idempotency_key = ? AND expires_at <= ?", account, key, now).
		Delete(&models.IdempotencyKey{}).Error; err != nil {
		return models.IdempotencyKey{}, fmt.Errorf("remove the expired key: %w", err)
	}
	row := models.IdempotencyKey{
		UserID: account, IdempotencyKey: key, Fingerprint: fingerprint, Holder: holder,
		HeldUntil: now, Answer: []byte{}, ExpiresAt: now.Add(k.Life),
	}
	if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
		return row, fmt.Errorf("note the key: %w", err)
	}
	var found models.IdempotencyKey
	if err := mine.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).Take(&found).Error; err != nil {
		return row, fmt.Errorf("read the key: %w", err)
	}
	if holder == "" || found.Holder != holder {
		return found, nil
	}
	return found, k.keep(tx, found.ID, holder, hold)
}

// hold believes in a holder from now on.
func (k *Keys) keep(tx *gorm.DB, id int64, holder string, hold time.Duration) error {
	err := tx.Model(&models.IdempotencyKey{}).Where("id = ?", id).UpdateColumns(map[string]any{
		"holder": holder, "held_until": gorm.Expr(k.db.Clock(hold)),
	}).Error
	if err != nil {
		return fmt.Errorf("hold the key: %w", err)
	}
	return nil
}

// takeOver goes on where a holder that is believed dead has stopped.
func (c *Claim) takeOver(tx *gorm.DB, row models.IdempotencyKey) error {
	var alive int64
	err := tx.Model(&models.IdempotencyKey{}).
		Where("id = ? AND held_until > "+c.keys.db.Clock(0), row.ID).Count(&alive).Error
	if err != nil {
		return fmt.Errorf("look whether the key is held: %w", err)
	}
	if alive > 0 {
		return inProgress()
	}
	var effects []models.IdempotencyEffect
	if err := tx.Where("key_id = ?", row.ID).Find(&effects).Error; err != nil {
		return fmt.Errorf("read what was made: %w", err)
	}
	c.made = make(map[int64]int64, len(effects))
	for _, effect := range effects {
		c.made[effect.RecordingID] = effect.JobID
	}
	return c.keys.keep(tx, row.ID, c.holder, c.hold)
}

func inProgress() error {
	return problems.New(problems.IdempotencyInProgress, "A request with this idempotency key is being worked on.").After(retryHint)
}

// Keep keeps the answer for whoever sends the same request again. An answer over MaxAnswer is not kept, and neither
// is one of a claim that another has taken over.
func (c *Claim) Keep(ctx context.Context, answer Answer) error {
	if len(answer.Body) > MaxAnswer {
		return c.Release(ctx)
	}
	err := c.keys.db.Transaction(ctx, func(tx *gorm.DB) error {
		return tx.Model(&models.IdempotencyKey{}).Where("id = ? AND holder = ?", c.id, c.holder).UpdateColumns(map[string]any{
			"holder": "", "status": answer.Status, "content_type": answer.ContentType, "answer": answer.Body,
			"recording_id": gorm.Expr("(SELECT id FROM recordings WHERE id = ?)", c.about),
		}).Error
	})
	if err != nil {
		// The recording that it is about may have gone at this moment; without its answer the key must not stay held.
		return errors.Join(fmt.Errorf("keep the answer of an idempotency key: %w", err), c.Release(ctx))
	}
	return nil
}

// Release ends a claim without an answer: the next request with the key is worked, and goes on with what this one has
// made.
func (c *Claim) Release(ctx context.Context) error {
	err := c.keys.db.Transaction(ctx, func(tx *gorm.DB) error {
		held := tx.Where("id = ? AND holder = ?", c.id, c.holder)
		unmade := tx.Where("NOT EXISTS (SELECT 1 FROM idempotency_effects e WHERE e.key_id = idempotency_keys.id)")
		if err := tx.Where(held).Where(unmade).Delete(&models.IdempotencyKey{}).Error; err != nil {
			return err
		}
		return tx.Model(&models.IdempotencyKey{}).Where(held).UpdateColumn("held_until", gorm.Expr(c.keys.db.Clock(0))).Error
	})
	if err != nil {
		return fmt.Errorf("release an idempotency key: %w", err)
	}
	return nil
}

// Prune removes what has expired and returns how many keys that were, at most as many as it is allowed.
func (k *Keys) Prune(ctx context.Context, most int) (pruned int64, err error) {
	err = k.db.Transaction(ctx, func(tx *gorm.DB) error {
		// Keys that a deleted recording is just taking with it are left to it: two who remove the same keys in another
		// order would wait for each other.
		old := tx.Model(&models.IdempotencyKey{}).Select("id").Where("expires_at <= ?", k.Now().UTC()).Limit(most).
			Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked})
		gone := tx.Where("id IN (?)", old).Delete(&models.IdempotencyKey{})
		pruned = gone.RowsAffected
		return gone.Error
	})
	if err != nil {
		return 0, fmt.Errorf("prune idempotency keys: %w", err)
	}
	return pruned, nil
}
