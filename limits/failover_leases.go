package limits

import (
	"context"
	"crypto/rand"
	"sync"
	"time"
)

// Acquire implements Leases. Where the storage does not answer the places are divided by the processes alive, and what
// this process holds already counts among its part.
func (f *Failover) Acquire(ctx context.Context, key string, places int, ttl time.Duration) (Lease, bool, error) {
	if p, may := f.enterForLease(ctx, key); may {
		lease, ok, err := f.shared.Acquire(ctx, key, places, ttl)
		if err == nil {
			if ok {
				f.answered(p)
				f.places.hold(lease, holding{places: places, stored: lease}, ttl)
			}
			return lease, ok, nil
		}
		if err := f.missed(ctx, p, err, f.probeOfLease(key)); err != nil {
			return Lease{}, false, err
		}
	}
	if err := f.mayDecide(OnProcess); err != nil {
		return Lease{}, false, err
	}
	lease, ok := f.places.acquire(key, places, f.part(places), ttl)
	return lease, ok, nil
}

// part is how many of the places are this process's own.
func (f *Failover) part(places int) int {
	if places < 1 {
		return 0
	}
	return max(1, places/int(f.replicas()))
}

// Renew implements Leases. A place that was kept here through an outage moves to the storage when that is back and has
// one free; until then it stays here, because the work that goes on in it must not end by an outage that is over.
func (f *Failover) Renew(ctx context.Context, lease Lease, ttl time.Duration) (bool, error) {
	held, known := f.places.find(lease)
	if !known {
		held.stored = lease
	}
	if p, may := f.enterForLease(ctx, lease.Key); may {
		kept, err := f.renewStored(ctx, lease, held, ttl)
		if err == nil {
			if kept {
				f.answered(p)
			}
			return kept, nil
		}
		if err := f.missed(ctx, p, err, f.probeOfLease(lease.Key)); err != nil {
			return false, err
		}
	}
	if err := f.mayDecide(OnProcess); err != nil {
		return false, err
	}
	return f.places.renew(lease, ttl), nil
}

func (f *Failover) renewStored(ctx context.Context, lease Lease, held holding, ttl time.Duration) (kept bool, err error) {
	if held.stored != (Lease{}) {
		kept, err = f.shared.Renew(ctx, held.stored, ttl)
		if err != nil {
			return false, err
		}
		if !kept && !held.here {
			f.places.release(lease)
			return false, nil
		}
	}
	if !kept {
		again, ok, err := f.shared.Acquire(ctx, lease.Key, held.places, ttl)
		if err != nil {
			return false, err
		}
		held.stored = Lease{}
		if ok {
			held.stored = again
		}
	}
	held.here = false
	f.places.hold(lease, held, ttl)
	return true, nil
}

// Release implements Leases. A place in a storage that does not answer runs out there by itself.
func (f *Failover) Release(ctx context.Context, lease Lease) error {
	held, known := f.places.find(lease)
	if !known {
		held.stored = lease
	}
	f.places.release(lease)
	if held.stored == (Lease{}) {
		return nil
	}
	p, may := f.enterForLease(ctx, lease.Key)
	if !may {
		return nil
	}
	if err := f.shared.Release(ctx, held.stored); err != nil {
		return f.missed(ctx, p, err, f.probeOfLease(lease.Key))
	}
	return nil
}

// holding is one place that this process holds.
type holding struct {
	places int // among which it is one
	// stored is the place in the storage; zero while there is none.
	stored Lease
	// here says that a stored one was last renewed without the storage, which may have given it away since.
	here bool
	end  time.Duration
}

// places are the leases that one process holds, whoever counts them.
type places struct {
	now   func() time.Time
	start time.Time
	mu    sync.Mutex                    // protects held
	held  map[string]map[string]holding // key, lease id
}

func newPlaces(now func() time.Time) *places {
	return &places{now: now, start: now(), held: make(map[string]map[string]holding)}
}

// hold notes a place that is held for ttl from now.
func (p *places) hold(lease Lease, h holding, ttl time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h.end = p.now().Sub(p.start) + ttl
	if p.held[lease.Key] == nil {
		p.held[lease.Key] = make(map[string]holding)
	}
	p.held[lease.Key][lease.ID] = h
}

// find tells what is known of a place that has not run out.
func (p *places) find(lease Lease) (holding, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(lease.Key, p.now().Sub(p.start))
	h, known := p.held[lease.Key][lease.ID]
	return h, known
}

// acquire takes a place without the storage, if this process holds fewer than its part.
func (p *places) acquire(key string, places, part int, ttl time.Duration) (Lease, bool) {
	lease := Lease{Key: key, ID: rand.Text()}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now().Sub(p.start)
	p.forget(key, now)
	if len(p.held[key]) >= part {
		return Lease{}, false
	}
	if p.held[key] == nil {
		p.held[key] = make(map[string]holding)
	}
	p.held[key][lease.ID] = holding{places: places, end: now + ttl}
	return lease, true
}

// renew holds a place longer without the storage; false when it has run out.
func (p *places) renew(lease Lease, ttl time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now().Sub(p.start)
	p.forget(lease.Key, now)
	h, held := p.held[lease.Key][lease.ID]
	if !held {
		return false
	}
	h.here, h.end = true, now+ttl
	p.held[lease.Key][lease.ID] = h
	return true
}

func (p *places) release(lease Lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held[lease.Key], lease.ID)
	p.forget(lease.Key, p.now().Sub(p.start))
}

// forget drops the places of a key that have run out, and the key with the last of them.
func (p *places) forget(key string, now time.Duration) {
	for id, h := range p.held[key] {
		if h.end <= now {
			delete(p.held[key], id)
		}
	}
	if len(p.held[key]) == 0 {
		delete(p.held, key)
	}
}

func (p *places) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now().Sub(p.start)
	for key := range p.held {
		p.forget(key, now)
	}
}
