package limits

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// masters numbers the masters of a cluster by their addresses, as they are met. A number is a site of the storage and
// the lane of that master.
type masters struct {
	mu      sync.RWMutex   // protects numbers
	numbers map[string]int // by address
}

// number is never 0, which is the site that a storage is as a whole. Where there are more masters than sites some
// share one.
func (m *masters) number(address string) int {
	m.mu.RLock()
	number := m.numbers[address]
	m.mu.RUnlock()
	if number != 0 {
		return number
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.numbers[address] == 0 {
		m.numbers[address] = 1 + len(m.numbers)%(sitesOfStorage-1)
	}
	return m.numbers[address]
}

// siteOf is the number of the master that has a key; 0 outside a cluster.
func (r *Redis) siteOf(ctx context.Context, key string) (int, error) {
	if r.cluster == nil {
		return 0, nil
	}
	master, err := r.cluster.MasterForKey(ctx, key)
	if err != nil {
		return 0, fmt.Errorf("looking where the cluster has the counters: %w", err)
	}
	return r.masters.number(master.Options().Addr), nil
}

// laneOf is the lane of the server that has the call's counters.
func (r *Redis) laneOf(ctx context.Context, c *call) (*lane, error) {
	ctx, cancel := context.WithDeadline(ctx, c.deadline)
	defer cancel()
	site, err := r.siteOf(ctx, c.words[0])
	return &r.lanes[site], err
}

// SitesOf implements Sited: the masters that have the counters of a stack.
func (r *Redis) SitesOf(ctx context.Context, stack []Limit) (sites Sites) {
	if r.cluster == nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	for i := range stack {
		if i > 0 && tagOf(&stack[i]) == tagOf(&stack[i-1]) {
			continue
		}
		if site, err := r.siteOf(ctx, string(r.appendKey(nil, &stack[i]))); err == nil {
			sites |= 1 << site
		}
	}
	return sites
}

// SitesOfLease implements Sited: the master that has the places.
func (r *Redis) SitesOfLease(ctx context.Context, key string) Sites {
	if r.cluster == nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	site, err := r.siteOf(ctx, r.leaseKeys(key)[0])
	if err != nil {
		return 0
	}
	return 1 << site
}

// addressTags is how many tags all addresses share. At the bound newcomers of one tag share counters, so that it
// bounds the number of those too.
const addressTags = 1024

// hashTag is what a cluster keeps counters together by: an organization, or addresses that happen to have one number.
type hashTag struct {
	addresses bool
	number    int64
}

func tagOf(l *Limit) hashTag {
	if l.Plan.Subject != Address {
		return hashTag{number: l.Key.Org}
	}
	hi, lo := addressWords(l)
	const golden = 0x9E3779B97F4A7C15 // spreads neighbors over all tags
	return hashTag{addresses: true, number: int64((hi ^ lo) * golden >> 32 % addressTags)}
}

// part is those limits of a stack that a cluster keeps in one place.
type part struct {
	tag     hashTag
	stack   []Limit
	indexes []int // in the whole stack
	verdict verdict
}

// partsOf divides a stack. Addresses come first: they are given back when another part refuses, and what is given back
// late hurts one address rather than an organization.
func partsOf(stack []Limit) []*part {
	var parts []*part
	for _, addresses := range []bool{true, false} {
		for i := range stack {
			if (stack[i].Plan.Subject == Address) != addresses {
				continue
			}
			p := partAt(parts, tagOf(&stack[i]))
			if p == nil {
				p = &part{tag: tagOf(&stack[i])}
				parts = append(parts, p)
			}
			p.stack, p.indexes = append(p.stack, stack[i]), append(p.indexes, i)
		}
	}
	return parts
}

func partAt(parts []*part, tag hashTag) *part {
	for _, p := range parts {
		if p.tag == tag {
			return p
		}
	}
	return nil
}

// decideApart decides about a stack whose counters a cluster keeps in several places, which no script can see at once.
// Each part is charged in turn. Once one refuses the others are only judged, so that the refusal names the limit that
// binds, and what was charged is given back: for that moment others may be refused who would not have been, and never
// is anybody admitted who should not be. A refusal stands whatever fails after it: as an error it could be decided
// anew elsewhere, and be admitted.
func (r *Redis) decideApart(ctx context.Context, mode string, stack []Limit, states []State, deadline time.Time) (bool, error) {
	parts, admitted := partsOf(stack), true
	var charged []*part
	for _, p := range parts {
		until := deadline
		if len(charged) > 0 {
			until = until.Add(-r.timeout / givingBack)
		}
		verdict, err := r.ask(ctx, mode, p.stack, nil, until)
		if err != nil && admitted {
			_ = r.giveBack(ctx, charged, r.refundDeadline(deadline)) // best effort; the decision has failed already
			return false, &partError{err, r.SitesOf(context.WithoutCancel(ctx), p.stack)}
		}
		if p.verdict = verdict; err != nil {
			continue
		}
		switch {
		case !verdict.admitted():
			admitted, mode = false, modeJudge
		case mode == modeTake:
			charged = append(charged, p)
		}
	}
	if !admitted {
		_ = r.giveBack(ctx, charged, r.refundDeadline(deadline)) // best effort; what cannot be given back leaves with its window
	}
	wall := r.now()
	for _, p := range parts {
		for i, index := range p.indexes {
			var st stand // of a part that did not answer when it was judged nothing is known
			if p.verdict != nil {
				st = p.verdict.stand(i)
			}
			st.state(&states[index], &stack[index], wall)
		}
	}
	return admitted, nil
}

// givingBack is the part of a decision's time that is kept for giving back: a fifth.
const givingBack = 5

// refundDeadline is the decision's, but never less than what is kept for giving back: where the process woke late from
// a part that did not answer, nothing would be left, and an address would pay for a request that never passed.
func (r *Redis) refundDeadline(deadline time.Time) time.Time {
	if least := time.Now().Add(r.timeout / givingBack); least.After(deadline) {
		return least
	}
	return deadline
}

// giveBack takes what parts were charged out of the quanta that it was counted in, also for a caller that has gone, and
// judges them anew. Nothing is given back twice: that would take out what others were charged.
func (r *Redis) giveBack(ctx context.Context, charged []*part, deadline time.Time) error {
	var failed []error
	for _, p := range charged {
		verdict, err := r.ask(context.WithoutCancel(ctx), modeRefund, p.stack, p.verdict, deadline)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		p.verdict = verdict
	}
	return errors.Join(failed...)
}

// partError is a decision that failed because one part of its stack was not decided, and the sites of that part.
type partError struct {
	error

	sites Sites
}

// Unwrap is the error itself.
func (e *partError) Unwrap() error { return e.error }
