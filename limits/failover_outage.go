package limits

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/problems"
)

// outage is what the log says of the storage. Its fields are the breaker's: they change in its turns.
type outage struct {
	since  time.Time // zero while there is none
	warned time.Time // of single failures
	probe  []Limit   // what a storage that counts as away is asked for
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

// Probe asks a storage that counts as away for a decision; one that takes it is asked by everybody again. It does
// nothing while the storage answers, or while another asks. A server calls it at the start and every
// RATELIMIT_STORAGE_PROBE_MILLISECONDS, so that no request waits for a storage that is away.
func (f *Failover) Probe(ctx context.Context) {
	if !f.breaker.isOpen() || !f.probing.TryLock() {
		return
	}
	defer f.probing.Unlock()
	_, err := f.shared.Take(ctx, f.asked(), nil)
	switch {
	case err == nil:
		f.reached.Store(true)
		f.breaker.close(f.ended)
	case ctx.Err() == nil:
		f.breaker.mu.Lock()
		defer f.breaker.mu.Unlock()
		if f.outage.since.IsZero() { // never reached so far
			f.began(err)
		}
	}
}

func (f *Failover) asked() []Limit {
	f.breaker.mu.Lock()
	defer f.breaker.mu.Unlock()
	return f.outage.probe
}

func (f *Failover) began(cause error) {
	f.outage.since = f.options.Now()
	f.options.Metrics.LimitsOutage(true)
	f.options.Logger.Error("the storage of the limits does not answer", "error", reason(cause), "meanwhile", f.Meanwhile())
}

func (f *Failover) ended() {
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

// Away reports whether the storage counts as away.
func (f *Failover) Away() bool { return f.breaker.isOpen() }

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
