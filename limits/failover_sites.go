package limits

import (
	"context"
	"errors"
	"math/bits"
)

// Sites are parts of a storage that fail apart from each other, as the masters of a cluster do: bits of their numbers.
// The lowest bit is no part: it is the storage as a whole.
type Sites uint64

// sitesOfStorage is how many sites are told apart, the whole among them.
const sitesOfStorage = 64

// whole is what every decision needs; a failure that no single site is known for is its.
const whole Sites = 1

// Sited is a storage of several sites. One that is not has the whole alone.
type Sited interface {
	// SitesOf are those that must answer for a decision about the stack; none where that cannot be told.
	SitesOf(ctx context.Context, stack []Limit) Sites
	// SitesOfLease are those that must answer for a lease of this key.
	SitesOfLease(ctx context.Context, key string) Sites
}

// site is one of the storage's, with a row of failures of its own: what others answer does not end it, and while it
// counts as away the others are asked.
type site struct {
	breaker

	probe func(ctx context.Context) error // what it is asked while it counts as away; changes with the breaker's turns
}

// pass is what a decision knew of the sites that it needs when it began. One that needs more than there are tickets
// says nothing about the others.
type pass struct {
	sites   Sites
	tickets [4]ticket
}

// each visits the sites that the pass has tickets of.
func (p *pass) each(visit func(number int, t ticket)) {
	rest := p.sites
	for i := 0; i < len(p.tickets) && rest != 0; i++ {
		visit(bits.TrailingZeros64(uint64(rest)), p.tickets[i])
		rest &= rest - 1
	}
}

// enter reports whether all of these sites may be asked.
func (f *Failover) enter(sites Sites) (p pass, may bool) {
	p.sites = sites | whole
	rest := p.sites
	for i := 0; rest != 0; i++ {
		t, may := f.sites[bits.TrailingZeros64(uint64(rest))].enter()
		if !may {
			return pass{}, false
		}
		if i < len(p.tickets) {
			p.tickets[i] = t
		}
		rest &= rest - 1
	}
	return p, true
}

// enterFor reports whether the storage may be asked about a stack.
func (f *Failover) enterFor(ctx context.Context, stack []Limit) (pass, bool) {
	if f.sited == nil {
		return f.enter(whole)
	}
	return f.enter(f.sited.SitesOf(ctx, stack))
}

// enterForLease reports whether the storage may be asked about a lease.
func (f *Failover) enterForLease(ctx context.Context, key string) (pass, bool) {
	if f.sited == nil {
		return f.enter(whole)
	}
	return f.enter(f.sited.SitesOfLease(ctx, key))
}

// answered notes that the sites of a decision wrote something down.
func (f *Failover) answered(p pass) {
	p.each(func(number int, t ticket) { f.sites[number].answered(t, f.logSingle) })
}

// failed notes that a decision failed, at the site that is to blame for it; it will be probed as the decision says.
func (f *Failover) failed(p pass, err error, probeAt func(at Sites) func(context.Context) error) {
	at := blamed(p.sites, err)
	probe := probeAt(at)
	p.each(func(number int, t ticket) {
		if at&(1<<number) == 0 {
			return
		}
		s := &f.sites[number]
		s.failed(t, err, func() {
			s.probe = probe
			f.began(err)
		})
	})
}

// blamed is the site that a failure is of: the one that the storage names, or the only one that there is.
func blamed(sites Sites, err error) Sites {
	parts := sites &^ whole
	var at *partError
	if errors.As(err, &at) {
		parts &= at.sites
	}
	if bits.OnesCount64(uint64(parts)) != 1 {
		return whole
	}
	return parts
}
