package limits

import (
	"context"
	_ "embed"
	"fmt"
	"hash/maphash"
	"net/netip"
	"time"

	"github.com/redis/go-redis/v9"
)

// clusterLanes is how many lanes the masters of a cluster are spread over, so that one that hangs does not hold up
// decisions that others take. Two masters may share one; the library then sends their parts of a batch side by side.
const clusterLanes = 32

//go:embed refund.lua
var refundSource string

var refundScript = redis.NewScript(refundSource)

// laneOf is the lane of the server that has the call's counters.
func (r *Redis) laneOf(ctx context.Context, c *call) (*lane, error) {
	if r.cluster == nil {
		return &r.lanes[0], nil
	}
	ctx, cancel := context.WithDeadline(ctx, c.deadline)
	defer cancel()
	master, err := r.cluster.MasterForKey(ctx, c.words[0])
	if err != nil {
		return nil, fmt.Errorf("looking where the cluster has the counters: %w", err)
	}
	return &r.lanes[maphash.String(r.seed, master.Options().Addr)%clusterLanes], nil
}

// hashTag is what a cluster keeps counters together by: an organization or an address.
type hashTag struct {
	org     int64
	address netip.Addr
}

func tagOf(l *Limit) hashTag {
	if l.Plan.Subject == Address {
		return hashTag{address: l.Key.Addr.Unmap().WithZone("")}
	}
	return hashTag{org: l.Key.Org}
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
// is anybody admitted who should not be.
func (r *Redis) decideApart(ctx context.Context, mode string, stack []Limit, states []State, deadline time.Time) (bool, error) {
	parts, admitted := partsOf(stack), true
	var charged []*part
	for _, p := range parts {
		until := deadline
		if len(charged) > 0 {
			until = until.Add(-r.timeout / 5) // what remains is for giving back
		}
		var err error
		if p.verdict, err = r.ask(ctx, mode, p.stack, until); err != nil {
			_ = r.giveBack(ctx, charged, deadline) // best effort; the decision has failed already
			return false, err
		}
		switch {
		case !p.verdict.admitted():
			admitted, mode = false, modeJudge
		case mode == modeTake:
			charged = append(charged, p)
		}
	}
	if !admitted && len(charged) > 0 {
		if err := r.giveBack(ctx, charged, deadline); err != nil {
			return false, err
		}
		for _, p := range charged {
			var err error
			if p.verdict, err = r.ask(ctx, modeJudge, p.stack, deadline); err != nil {
				return false, err
			}
		}
	}
	wall := r.now()
	for _, p := range parts {
		for i, index := range p.indexes {
			p.verdict.stand(i).state(&states[index], &stack[index], wall)
		}
	}
	return admitted, nil
}

// giveBack takes what parts were charged out of the quanta that it was counted in, also for a caller that has gone.
func (r *Redis) giveBack(ctx context.Context, charged []*part, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	var failed error
	for _, p := range charged {
		var keys []string
		var numbers []byte
		seen := make(map[string]bool)
		for i := range p.stack {
			l := &p.stack[i]
			key := string(r.appendKey(nil, l))
			if seen[key] { // it was charged once
				continue
			}
			seen[key] = true
			s := spanOf(l.Rate.Period)
			keys = append(keys, key)
			numbers = appendNumbers(numbers, p.verdict.newest(i, s), s.length, s.quantum, s.tick/int64(time.Microsecond), l.Cost)
		}
		if err := refundScript.Run(ctx, r.client, keys, numbers).Err(); err != nil {
			failed = unavailable("giving back in Redis what a refused request was charged", err)
		}
	}
	return failed
}
