package limits

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tests/testservices"
)

// outages counts what a Failover tells.
type outages struct{ away, back, without atomic.Int64 }

func (o *outages) LimitsOutage(away bool) {
	if away {
		o.away.Add(1)
	} else {
		o.back.Add(1)
	}
}

func (o *outages) DecidedWithoutStorage(string, string) { o.without.Add(1) }

// beforeCluster is a Failover that has found a cluster, and stacks of two masters: an account's at the first, an
// address's at the second.
func beforeCluster(t *testing.T, told *outages) (f *Failover, account, address []Limit, first *testservices.PrivateRedis) {
	t.Helper()
	cluster := testservices.Cluster(t)
	r := open(t, cluster.URL, RedisOptions{})
	stack, orgs, _ := mixedStack(t, cluster, r, 1_000_000, 1_000_000)
	f = NewFailover(r, FailoverOptions{
		Policy:   config.OnStorageError{Read: config.CountLocally, Write: config.CountLocally, Process: config.Deny},
		Replicas: func() int { return 1 },
		Metrics:  told, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	comesBack(t, r)
	for deadline := time.Now().Add(15 * time.Second); f.Away(); {
		f.Probe(t.Context())
		if time.Now().After(deadline) {
			t.Fatal("the cluster was not found")
		}
	}
	return f, stack[:1], stack[1:], orgs
}

// A master that hangs is away by itself: its requests soon wait no more, whatever others are admitted meanwhile, and
// those of others go on being counted in the cluster. A probe of it finds it again.
func TestAMasterThatHangsIsAwayByItself(t *testing.T) {
	t.Parallel()
	var told outages
	f, account, address, first := beforeCluster(t, &told)
	writes := f.For(OnWrite)
	take := func(stack []Limit) time.Duration {
		t.Helper()
		start := time.Now()
		if d, err := writes.Take(t.Context(), stack, nil); err != nil || !d.Admitted {
			t.Fatalf("%+v, %v", d, err)
		}
		return time.Since(start)
	}
	take(account)
	first.Freeze()
	for range breakerPatience {
		take(account)
		take(address)
	}
	if !f.Away() || told.away.Load() != 1 {
		t.Fatalf("after %d failures: away %v, told %d times", breakerPatience, f.Away(), told.away.Load())
	}
	without, fastest := told.without.Load(), time.Hour
	for range 20 {
		fastest = min(fastest, take(account), take(append(account[:1:1], address...)))
	}
	if got := told.without.Load() - without; got != 40 || fastest > 20*time.Millisecond {
		t.Errorf("%d of 40 decisions that need a master that hangs followed the policy, the fastest took %v", got, fastest)
	}
	if _, err := f.For(OnProcess).Take(t.Context(), account, nil); !problems.Is(err, problems.LimitsUnavailable) {
		t.Errorf("paid work at a master that hangs: %v", err)
	}
	without = told.without.Load()
	before := f.leftIn(t, address)
	for range 20 {
		take(address)
	}
	if got := before - f.leftIn(t, address); got != 60 || told.without.Load() != without {
		t.Errorf("%d of 60 units of an address at another master were counted in the cluster, and %d decisions without it", got, told.without.Load()-without)
	}
	f.Probe(t.Context())
	if !f.Away() {
		t.Error("a probe of a master that hangs found it")
	}
	first.Thaw()
	for deadline := time.Now().Add(15 * time.Second); f.Away(); f.Probe(t.Context()) {
		if time.Now().After(deadline) {
			t.Fatal("a master that answers again was not found")
		}
	}
	without = told.without.Load()
	take(account)
	if told.without.Load() != without || told.back.Load() != 2 {
		t.Errorf("after the probe %d decisions were made without the master; told %d times that it is back", told.without.Load()-without, told.back.Load())
	}
}

// leftIn is what the storage itself says.
func (f *Failover) leftIn(t *testing.T, stack []Limit) int64 {
	t.Helper()
	states, err := f.shared.Peek(t.Context(), stack)
	if err != nil {
		t.Fatal(err)
	}
	return states[0].Context.Remaining
}

// A place lies at a master too, and that one is to blame and is probed.
func TestPlacesAtAMasterThatHangsFollowThePolicy(t *testing.T) {
	t.Parallel()
	var told outages
	f, account, address, first := beforeCluster(t, &told)
	first.Freeze()
	for range breakerPatience {
		if _, ok, err := f.Acquire(t.Context(), "jobs:{org:3}", 5, time.Minute); ok || !problems.Is(err, problems.LimitsUnavailable) {
			t.Fatalf("a place at a master that hangs: %v, %v", ok, err)
		}
		if d, err := f.For(OnWrite).Take(t.Context(), address, nil); err != nil || !d.Admitted {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	if !f.Away() {
		t.Fatal("what others were admitted ended the row of failures")
	}
	without := told.without.Load()
	if d, err := f.For(OnWrite).Take(t.Context(), account, nil); err != nil || !d.Admitted || told.without.Load() != without+1 {
		t.Errorf("a request of the organization whose places are away: %+v, %v", d, err)
	}
	first.Thaw()
	for deadline := time.Now().Add(15 * time.Second); f.Away(); f.Probe(t.Context()) {
		if time.Now().After(deadline) {
			t.Fatal("a master that answers again was not found")
		}
	}
	if lease, ok, err := f.Acquire(t.Context(), "jobs:{org:3}", 1, time.Minute); err != nil || !ok {
		t.Errorf("a place at a master that is back: %v, %v, %v", lease, ok, err)
	}
}

// What several sites are to blame for, or none that is known, is the whole storage's.
func TestAFailureIsOfTheSiteThatTheStorageNames(t *testing.T) {
	t.Parallel()
	cause := Unavailable(context.DeadlineExceeded)
	for _, c := range []struct {
		sites Sites
		err   error
		want  Sites
	}{
		{whole, cause, whole},
		{whole | 4, cause, 4},
		{whole | 4 | 8, cause, whole},
		{whole | 4 | 8, &partError{cause, 8}, 8},
		{whole | 4 | 8, fmt.Errorf("deciding: %w", &partError{cause, 8}), 8},
		{whole | 4 | 8, &partError{cause, 0}, whole},
	} {
		if got := blamed(c.sites, c.err); got != c.want {
			t.Errorf("%v among sites %b: blamed %b, want %b", c.err, c.sites, got, c.want)
		}
	}
}

func TestMastersHaveNumbersOfTheirOwn(t *testing.T) {
	t.Parallel()
	m := &masters{numbers: make(map[string]int)}
	seen := map[int]bool{}
	for i := range 3 * sitesOfStorage {
		address := strconv.Itoa(i)
		number := m.number(address)
		if number < 1 || number >= sitesOfStorage || m.number(address) != number {
			t.Fatalf("master %d has number %d, then %d", i, number, m.number(address))
		}
		if i < sitesOfStorage-1 && seen[number] {
			t.Errorf("master %d shares number %d", i, number)
		}
		seen[number] = true
	}
}

// twoSites has organizations at one site and addresses at another.
type twoSites struct {
	*Memory

	down Sites
}

func (s *twoSites) SitesOf(_ context.Context, stack []Limit) (sites Sites) {
	for i := range stack {
		if stack[i].Plan.Subject == Address {
			sites |= 4
		} else {
			sites |= 2
		}
	}
	return sites
}

func (s *twoSites) SitesOfLease(context.Context, string) Sites { return 2 }

func (s *twoSites) Take(ctx context.Context, stack []Limit, room []State) (Decision, error) {
	if at := s.SitesOf(ctx, stack) & s.down; at != 0 {
		return Decision{}, &partError{Unavailable(context.DeadlineExceeded), at}
	}
	return s.Memory.Take(ctx, stack, room)
}

// A site is probed by itself, whatever the stack asked for besides that found it away.
func TestASiteIsFoundWhileAnotherIsAway(t *testing.T) {
	t.Parallel()
	var told outages
	storage := &twoSites{Memory: NewMemory(time.Now)}
	f := NewFailover(storage, FailoverOptions{
		Policy:   config.OnStorageError{Read: config.CountLocally, Write: config.CountLocally, Process: config.Deny},
		Replicas: func() int { return 1 }, Metrics: &told, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	f.Probe(t.Context())
	both := []Limit{addressLimit(1, 1000), {Plan: AccountRead, Key: Key{Org: 3, ID: 5}, Rate: Rate{Limit: 1000, Period: time.Hour}, Cost: 1}}
	for _, c := range []struct {
		down  Sites
		stack []Limit
	}{{2, both}, {2 | 4, both[:1]}} {
		storage.down = c.down
		for range breakerPatience {
			if _, err := f.For(OnRead).Take(t.Context(), c.stack, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !f.sites[1].isOpen() || !f.sites[2].isOpen() || f.sites[0].isOpen() || told.away.Load() != 1 {
		t.Fatalf("away are %v, %v and the whole %v", f.sites[1].isOpen(), f.sites[2].isOpen(), f.sites[0].isOpen())
	}
	storage.down = 4
	f.Probe(t.Context())
	if f.sites[1].isOpen() || !f.sites[2].isOpen() || !f.Away() {
		t.Errorf("the first is back: away are %v, %v", f.sites[1].isOpen(), f.sites[2].isOpen())
	}
	storage.down = 0
	f.Probe(t.Context())
	if f.Away() || told.back.Load() != 2 {
		t.Errorf("both are back: away %v, told %d times", f.Away(), told.back.Load())
	}
}
