package limits

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/problems"
)

// outage is what the log says of the storage: one begins when the first of its sites is away, and ends when none is.
type outage struct {
	mu     sync.Mutex // protects what follows; taken after the locks of breakers
	away   int        // sites
	since  time.Time  // zero while there is none
	warned time.Time  // of single failures
}

// singleFailuresEvery is how often the log speaks of failures that were too few for an outage.
const singleFailuresEvery = time.Minute

// The plans of probes. A storage that answers a ping may still be unable to count, because it is full or follows
// another one, so that a probe is a decision. It weighs nothing to anybody.
var (
	probeAddress      = &Plan{Name: "probe", Bucket: "probe", Subject: Address, Kind: problems.AddressRateLimited}
	probeOrganization = &Plan{Name: "probe", Bucket: "probe", Subject: Organization, Kind: problems.OrganizationRateLimited}
)

// probeOf is a stack that a storage keeps in the same places as the one that failed, so that of a cluster the part is
// asked that did not answer.
func probeOf(failed []Limit) []Limit {
	probe := func(plan *Plan, key Key) Limit {
		return Limit{Plan: plan, Key: key, Rate: Rate{Limit: MaxFigure, Period: time.Second}, Cost: 1}
	}
	var stack []Limit
	asked := make(map[*Plan]bool)
	for i := range failed {
		plan, key := probeOrganization, Key{Org: failed[i].Key.Org, ID: failed[i].Key.Org}
		if failed[i].Plan.Subject == Address {
			plan, key = probeAddress, Key{Addr: failed[i].Key.Addr}
		}
		if !asked[plan] {
			asked[plan] = true
			stack = append(stack, probe(plan, key))
		}
	}
	if len(stack) == 0 {
		stack = append(stack, probe(probeOrganization, Key{}))
	}
	return stack
}

// probeOfStack asks for a decision at the places of a stack.
func (f *Failover) probeOfStack(failed []Limit) func(context.Context) error {
	stack := probeOf(failed)
	return func(ctx context.Context) error {
		_, err := f.shared.Take(ctx, stack, nil)
		return err
	}
}

// probeOfStackAt asks for a decision at one site of a stack, because another may be away for longer.
func (f *Failover) probeOfStackAt(ctx context.Context, stack []Limit) func(at Sites) func(context.Context) error {
	return func(at Sites) func(context.Context) error {
		var there []Limit
		for i := range stack {
			if at == whole || f.sited.SitesOf(ctx, stack[i:i+1])&at != 0 {
				there = append(there, stack[i])
			}
		}
		return f.probeOfStack(there)
	}
}

// probeOfLease asks for a place beside those of a key.
func (f *Failover) probeOfLease(key string) func(at Sites) func(context.Context) error {
	_, tag, found := strings.Cut(key, "{")
	if tag, _, _ = strings.Cut(tag, "}"); !found {
		tag = key
	}
	return func(Sites) func(context.Context) error {
		return func(ctx context.Context) error {
			_, _, err := f.shared.Acquire(ctx, "probe:{"+tag+"}", math.MaxInt32, time.Second)
			return err
		}
	}
}

// Probe asks the sites that count as away for a decision; one that takes it is asked by everybody again. It does
// nothing while the storage answers, or while another asks. A server calls it at the start and every
// RATELIMIT_STORAGE_PROBE_MILLISECONDS, so that no request waits for a storage that is away.
func (f *Failover) Probe(ctx context.Context) {
	if !f.Away() || !f.probing.TryLock() {
		return
	}
	defer f.probing.Unlock()
	for i := range f.sites {
		if s := &f.sites[i]; s.isOpen() {
			f.ask(ctx, s)
		}
	}
}

// ask probes one site.
func (f *Failover) ask(ctx context.Context, s *site) {
	s.mu.Lock()
	probe := s.probe
	s.mu.Unlock()
	err := probe(ctx)
	switch {
	case err == nil:
		f.reached.Store(true)
		s.close(f.ended)
	case ctx.Err() == nil:
		f.outage.mu.Lock()
		defer f.outage.mu.Unlock()
		if f.outage.since.IsZero() && f.outage.away > 0 { // never reached so far
			f.tell(err)
		}
	}
}

// began notes that one site more is away.
func (f *Failover) began(cause error) {
	f.outage.mu.Lock()
	defer f.outage.mu.Unlock()
	if f.outage.away++; f.outage.away == 1 {
		f.tell(cause)
	}
}

// tell says that there is an outage. It is entered with the outage locked.
func (f *Failover) tell(cause error) {
	f.outage.since = f.options.Now()
	f.options.Metrics.LimitsOutage(true)
	f.options.Logger.Error("the storage of the limits does not answer", "error", reason(cause), "meanwhile", f.Meanwhile())
}

// ended notes that one site is back.
func (f *Failover) ended() {
	f.outage.mu.Lock()
	defer f.outage.mu.Unlock()
	if f.outage.away--; f.outage.away > 0 {
		return
	}
	f.options.Metrics.LimitsOutage(false)
	if f.outage.since.IsZero() {
		return
	}
	lasted := f.options.Now().Sub(f.outage.since)
	f.outage.since = time.Time{}
	f.options.Logger.Info("the storage of the limits answers again", "after", lasted.Round(time.Millisecond).String())
}

// logSingle speaks of failures that were too few for an outage, so that a storage that fails now and then is noticed.
func (f *Failover) logSingle(failures uint64, cause error) {
	now := f.options.Now()
	f.outage.mu.Lock()
	defer f.outage.mu.Unlock()
	if !f.outage.warned.IsZero() && now.Sub(f.outage.warned) < singleFailuresEvery {
		return
	}
	f.outage.warned = now
	f.options.Logger.Warn("the storage of the limits failed for a moment", "failures", failures, "error", reason(cause))
}

// reason is the cause alone where an error is an answer to a caller.
func reason(err error) string {
	var answer *problems.Error
	if errors.As(err, &answer) && answer.Unwrap() != nil {
		return answer.Unwrap().Error()
	}
	return err.Error()
}

// Reached reports whether the storage has ever answered. A server is not ready before.
func (f *Failover) Reached() bool { return f.reached.Load() }

// Away reports whether the storage, or a site of it, counts as away.
func (f *Failover) Away() bool {
	f.outage.mu.Lock()
	defer f.outage.mu.Unlock()
	return f.outage.away > 0
}

// Ping asks the storage whether it answers, also while it counts as away.
func (f *Failover) Ping(ctx context.Context) error { return f.shared.Ping(ctx) }

// Meanwhile says what happens with requests that the storage does not decide about: "reads and writes are counted by
// each process, paid work is refused".
func (f *Failover) Meanwhile() string {
	var local, denied []string
	for _, class := range []struct {
		class Class
		name  string
	}{{OnRead, "reads"}, {OnWrite, "writes"}, {OnProcess, "paid work"}} {
		if f.policies[class.class] == config.CountLocally {
			local = append(local, class.name)
		} else {
			denied = append(denied, class.name)
		}
	}
	var parts []string
	for _, part := range []struct {
		names []string
		what  string
	}{{local, "counted by each process"}, {denied, "refused"}} {
		if len(part.names) > 0 {
			parts = append(parts, fmt.Sprintf("%s %s %s", enumerated(part.names), areOrIs(part.names), part.what))
		}
	}
	return strings.Join(parts, ", ")
}

func enumerated(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func areOrIs(names []string) string {
	if len(names) == 1 && names[0] == "paid work" {
		return "is"
	}
	return "are"
}
