package limits

import (
	"context"
	"crypto/rand"
	"sync"
	"time"
)

// Lease is one place among a bounded number, held for as long as it is renewed.
type Lease struct {
	// Key is what the places belong to.
	Key string
	// ID tells this holder apart from every other.
	ID string
}

// Leases hands out places that a dead holder gives back by itself: one that is not renewed in time is free again.
// Every implementation passes limitstest.
type Leases interface {
	// Acquire takes one of so many places; ok is false when all are held. Below 1 means that there are none. The
	// place is held for ttl, at least a millisecond, unless renewed. Two callers never get the same last place.
	Acquire(ctx context.Context, key string, places int, ttl time.Duration) (lease Lease, ok bool, err error)
	// Renew holds the place for ttl from now. It is false when the lease has run out or was released: the place
	// may be another's, and the holder must stop its work.
	Renew(ctx context.Context, lease Lease, ttl time.Duration) (bool, error)
	// Release gives the place back; releasing what is not held does nothing.
	Release(ctx context.Context, lease Lease) error
}

// memoryLeases holds the leases of a single process.
type memoryLeases struct {
	now   func() time.Time
	start time.Time
	mu    sync.Mutex                          // protects held
	held  map[string]map[string]time.Duration // key, lease id: when it runs out, since start
}

func newMemoryLeases(now func() time.Time) *memoryLeases {
	return &memoryLeases{now: now, start: now(), held: make(map[string]map[string]time.Duration)}
}

// Acquire implements Leases. It never fails.
func (m *memoryLeases) Acquire(_ context.Context, key string, places int, ttl time.Duration) (Lease, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now().Sub(m.start)
	m.forget(key, now)
	if len(m.held[key]) >= places {
		return Lease{}, false, nil
	}
	lease := Lease{Key: key, ID: rand.Text()}
	if m.held[key] == nil {
		m.held[key] = make(map[string]time.Duration)
	}
	m.held[key][lease.ID] = now + ttl
	return lease, true, nil
}

// Renew implements Leases. It never fails.
func (m *memoryLeases) Renew(_ context.Context, lease Lease, ttl time.Duration) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now().Sub(m.start)
	m.forget(lease.Key, now)
	if _, ok := m.held[lease.Key][lease.ID]; !ok {
		return false, nil
	}
	m.held[lease.Key][lease.ID] = now + ttl
	return true, nil
}

// Release implements Leases. It never fails.
func (m *memoryLeases) Release(_ context.Context, lease Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.held[lease.Key], lease.ID)
	m.forget(lease.Key, m.now().Sub(m.start))
	return nil
}

// forget drops the leases of a key that have run out, and the key with the last of them.
func (m *memoryLeases) forget(key string, now time.Duration) {
	leases := m.held[key]
	for id, end := range leases {
		if end <= now {
			delete(leases, id)
		}
	}
	if len(leases) == 0 {
		delete(m.held, key)
	}
}

func (m *memoryLeases) sweep() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now().Sub(m.start)
	for key := range m.held {
		m.forget(key, now)
	}
}
