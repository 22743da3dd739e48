package tokens

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

const (
	// writeUsesEvery is how often queued uses are looked through.
	writeUsesEvery = 5 * time.Second
	// useApart is the least time between two writings of one token's use.
	useApart = time.Minute
	// maxUses bounds the queue, in tokens. A use of one more token is forgotten.
	maxUses = 10_000
	// usesPerWrite bounds how long one transaction keeps SQLite's writer.
	usesPerWrite = 500
)

type use struct {
	at      time.Time
	address netip.Addr
}

// uses is the queue: the latest use of each token that is not written yet, and when one was last written.
type uses struct {
	mu      sync.Mutex // protects what follows
	waiting map[int64]use
	written map[int64]time.Time
}

// Used notes that a token was used; it is written later, at most once a minute.
func (t *Tokens) Used(tokenID int64, at time.Time, address netip.Addr) {
	t.uses.note(tokenID, use{at: at.UTC().Truncate(time.Microsecond), address: address})
}

func (u *uses) note(id int64, latest use) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if before, ok := u.waiting[id]; ok && before.at.After(latest.at) || !ok && len(u.waiting) >= maxUses {
		return
	}
	if u.waiting == nil {
		u.waiting = make(map[int64]use)
	}
	u.waiting[id] = latest
}

// takeDue empties the queue of those whose minute is over. now is of the same clock as the uses.
func (u *uses) takeDue(now time.Time) map[int64]use {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, at := range u.written {
		if now.Sub(at) >= useApart {
			delete(u.written, id)
		}
	}
	due := make(map[int64]use)
	for id, latest := range u.waiting {
		if _, recent := u.written[id]; !recent {
			due[id] = latest
			delete(u.waiting, id)
		}
	}
	if u.written == nil {
		u.written = make(map[int64]time.Time)
	}
	for id := range due {
		u.written[id] = now
	}
	return due
}

func (u *uses) takeAll() map[int64]use {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.waiting
	u.waiting = nil
	return all
}

func (u *uses) latest(id int64) (use, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	latest, ok := u.waiting[id]
	return latest, ok
}

// withUse shows a use that is not written yet.
func (t *Tokens) withUse(token Token) Token {
	latest, ok := t.uses.latest(token.ID)
	if ok && (token.LastUsedAt == nil || latest.at.After(*token.LastUsedAt)) {
		token.LastUsedAt = &latest.at
	}
	return token
}

func (t *Tokens) writeUses(ctx context.Context) {
	tick := time.NewTicker(writeUsesEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := t.flushUses(ctx, t.uses.takeDue(t.now())); err != nil && ctx.Err() == nil {
			t.options.Logger.WarnContext(ctx, "last uses of tokens could not be written", "error", err)
		}
	}
}

// flushUses writes uses down. What could not be written goes back into the queue, where a later use replaces it.
func (t *Tokens) flushUses(ctx context.Context, due map[int64]use) error {
	batch := make(map[int64]use, min(len(due), usesPerWrite))
	for id, latest := range due {
		batch[id] = latest
		delete(due, id)
		if len(batch) < usesPerWrite && len(due) > 0 {
			continue
		}
		if err := t.writeBatch(ctx, batch); err != nil {
			t.uses.putBack(due)
			t.uses.putBack(batch)
			return fmt.Errorf("write the last uses of tokens: %w", err)
		}
		clear(batch)
	}
	return nil
}

func (u *uses) putBack(unwritten map[int64]use) {
	for id, latest := range unwritten {
		u.note(id, latest)
	}
}

// writeBatch never sets a use back: another process may have written a later one.
func (t *Tokens) writeBatch(ctx context.Context, batch map[int64]use) error {
	return t.db.Transaction(ctx, func(tx *gorm.DB) error {
		for id, latest := range batch {
			err := tx.Model(&models.APIToken{}).
				Where("id = ? AND (last_used_at IS NULL OR last_used_at < ?)", id, latest.at).
				Updates(map[string]any{"last_used_at": latest.at, "last_used_address": latest.address.String()}).Error
			if err != nil {
				return err
			}
		}
		return nil
	})
}
