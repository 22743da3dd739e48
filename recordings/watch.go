package recordings

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
)

// held is a slot that this process holds.
type held struct {
	service      *Recordings
	slots        *jobs.Slots
	organization int64
	mu           sync.Mutex // protects what follows
	slot         *jobs.Slot
	renewed      time.Time
}

// takeSlot takes one of the organization's slots, or puts the job back for a moment.
func (s *Recordings) takeSlot(ctx context.Context, slots *jobs.Slots, row models.Recording) (*held, error) {
	slot, ok, err := slots.Acquire(ctx, row.OrganizationID)
	if err != nil {
		s.Logger.WarnContext(ctx, "the job slots could not be asked for a job; it waits", "recording", row.ID, "error", err.Error())
		return nil, river.JobSnooze(storageWait)
	}
	if !ok {
		return nil, river.JobSnooze(slotWait)
	}
	return &held{service: s, slots: slots, organization: row.OrganizationID, slot: slot, renewed: s.Now()}, nil
}

// renew keeps the slot. One that was lost, because its storage forgot it or this process stood still, is taken
// again when there is one: work that may have been paid for is not thrown away for it.
func (h *held) renew(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.service.Now().Sub(h.renewed) < h.service.SlotLife/3 {
		return
	}
	ok, err := h.slot.Renew(ctx)
	if err == nil && !ok {
		var again *jobs.Slot
		if again, ok, err = h.slots.Acquire(ctx, h.organization); ok {
			h.slot = again
		}
	}
	if err != nil || !ok {
		h.service.Logger.WarnContext(ctx, "a job slot was lost; the work goes on without", "organization", h.organization, "error", err)
		return
	}
	h.renewed = h.service.Now()
}

// release gives the slot back, also when the job's context is over.
func (h *held) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.slot.Release(ctx); err != nil {
		h.service.Logger.WarnContext(ctx, "a job slot could not be given back", "organization", h.organization, "error", err.Error())
	}
}

// watch keeps the slot and cancels the work, with the reason as its cause, once the recording is gone, another worker has
// claimed it, or the account is disabled whose it is or who asked for it. stop ends the watching and waits for it.
func (s *Recordings) watch(ctx context.Context, slot *held, row models.Recording, by asker, token string) (working context.Context, stop func()) {
	working, cancel := context.WithCancelCause(ctx)
	ticker := time.NewTicker(s.WatchEvery)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer ticker.Stop()
		for {
			select {
			case <-working.Done():
				return
			case <-ticker.C:
			}
			slot.renew(working)
			// A database that does not answer ends nothing: the work may have been paid for.
			if err := s.stillWanted(working, row, by, token); errors.Is(err, errNotWanted) || errors.Is(err, errAccountDisabled) {
				cancel(err)
				return
			}
		}
	}()
	return working, func() {
		cancel(nil)
		<-done
	}
}

// stillWanted is errNotWanted unless the recording is there and this worker's, and errAccountDisabled where an account that
// it is for is disabled or gone.
func (s *Recordings) stillWanted(ctx context.Context, row models.Recording, by asker, token string) error {
	var enabled []models.User
	err := s.db.Read.WithContext(ctx).Select("users.id").Joins("JOIN recordings ON recordings.id = ? AND recordings.work_token = ?", row.ID, token).
		Where("users.disabled_at IS NULL AND users.id IN ?", []int64{row.UserID, by.account(row)}).Find(&enabled).Error
	if err != nil {
		return fmt.Errorf("ask whether the work is wanted: %w", err)
	}
	wanted := 1
	if by.account(row) != row.UserID {
		wanted = 2
	}
	if len(enabled) == wanted {
		return nil
	}
	return s.whyNotWanted(ctx, row, token)
}

func (s *Recordings) whyNotWanted(ctx context.Context, row models.Recording, token string) error {
	var mine int64
	err := s.db.Read.WithContext(ctx).Model(&models.Recording{}).Where("id = ? AND work_token = ?", row.ID, token).Count(&mine).Error
	switch {
	case err != nil:
		return fmt.Errorf("ask why the work is not wanted: %w", err)
	case mine == 0:
		return errNotWanted
	}
	return errAccountDisabled
}

// mayWork refuses work for an account that is disabled or gone.
func (s *Recordings) mayWork(ctx context.Context, userID int64) error {
	account, err := accountOf(s.db.Read.WithContext(ctx), userID)
	if errors.Is(err, gorm.ErrRecordNotFound) || err == nil && account.DisabledAt != nil {
		return river.JobCancel(errAccountDisabled)
	}
	if err != nil {
		return s.later(ctx, "find the account of the recording", err)
	}
	return nil
}
