package limits

import (
	"context"
	"time"
)

// Slots are Leases for holders that know them by key and id alone.
type Slots struct{ Leases Leases }

// Acquire takes one of so many places of the key for life; ok is false when all are held.
func (s Slots) Acquire(ctx context.Context, key string, places int, life time.Duration) (id string, ok bool, err error) {
	lease, ok, err := s.Leases.Acquire(ctx, key, places, life)
	return lease.ID, ok, err
}

// Renew holds the place for life from now; false when it may be another's.
func (s Slots) Renew(ctx context.Context, key, id string, life time.Duration) (bool, error) {
	return s.Leases.Renew(ctx, Lease{Key: key, ID: id}, life)
}

// Release gives the place back; releasing what is not held does nothing.
func (s Slots) Release(ctx context.Context, key, id string) error {
	return s.Leases.Release(ctx, Lease{Key: key, ID: id})
}
