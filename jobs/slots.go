package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/stenometer/stenometer/limits"
)

// Slots bounds how many jobs of one organization are at work at once. Where the leases are shared it does so over
// all processes, and a dead process gives its slots back by not renewing them.
type Slots struct {
	leases limits.Leases
	places int
	life   time.Duration
	// kind tells places of one organization from others; "" for those of its work.
	kind string
}

// NewSlots gives each organization so many places, each held for life unless renewed. 0 places let nothing run.
func NewSlots(leases limits.Leases, places int, life time.Duration) *Slots {
	return &Slots{leases, places, life, ""}
}

// Beside gives each organization as many places of another kind: what holds those keeps nothing out of these.
func (s *Slots) Beside(kind string) *Slots {
	return &Slots{s.leases, s.places, s.life, ":" + kind}
}

// Slot is one organization's place, held by one job.
type Slot struct {
	slots *Slots
	lease limits.Lease
}

// Acquire takes a place; ok is false when all are taken.
func (s *Slots) Acquire(ctx context.Context, organizationID int64) (slot *Slot, ok bool, err error) {
	lease, ok, err := s.leases.Acquire(ctx, fmt.Sprintf("jobs:{org:%d}%s", organizationID, s.kind), s.places, s.life)
	if err != nil {
		return nil, false, fmt.Errorf("take a job slot of organization %d: %w", organizationID, err)
	}
	if !ok {
		return nil, false, nil
	}
	return &Slot{s, lease}, true, nil
}

// Renew keeps the slot for another life; false when it was lost, and the job has to stop or to take another.
func (s *Slot) Renew(ctx context.Context) (bool, error) {
	kept, err := s.slots.leases.Renew(ctx, s.lease, s.slots.life)
	if err != nil {
		return false, fmt.Errorf("renew a job slot: %w", err)
	}
	return kept, nil
}

// Release gives the slot back; doing so twice is once.
func (s *Slot) Release(ctx context.Context) error {
	if err := s.slots.leases.Release(ctx, s.lease); err != nil {
		return fmt.Errorf("release a job slot: %w", err)
	}
	return nil
}
