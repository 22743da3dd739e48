package limits

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/stenometer/stenometer/tests/testservices"
)

// processAndAddress is the longest stack of a request: token, account, user, organization, address in two windows.
func processAndAddress() []Limit {
	rate := Rate{Limit: 1000000, Period: time.Minute}
	address := Key{Addr: netip.MustParseAddr("203.0.113.9")}
	return []Limit{
		{Plan: TokenProcess, Key: Key{Org: 3, ID: 17}, Rate: rate, Cost: 1},
		{Plan: AccountProcess, Key: Key{Org: 3, ID: 5}, Rate: rate, Cost: 1},
		{Plan: UserAI, Key: Key{Org: 3, ID: 5}, Rate: rate, Cost: 1},
		{Plan: OrganizationAI, Key: Key{Org: 3, ID: 3}, Rate: rate, Cost: 1},
		{Plan: AddressAI, Key: address, Rate: rate, Cost: 1},
		{Plan: AddressAI, Key: address, Rate: Rate{Limit: 1000000, Period: time.Hour}, Cost: 1},
	}
}

// scriptsRun is how many scripts a server was sent.
func scriptsRun(t *testing.T, server *testservices.PrivateRedis) string {
	t.Helper()
	for line := range strings.Lines(server.Client().Info(t.Context(), "commandstats").Val()) {
		if calls, found := strings.CutPrefix(line, "cmdstat_evalsha:calls="); found {
			calls, _, _ = strings.Cut(calls, ",")
			return calls
		}
	}
	return "0"
}

// Counted on the wire: whatever the stack, one round trip and one command.
func TestRedisDecidesInOneRoundTrip(t *testing.T) {
	t.Parallel()
	server := testservices.StoppableRedis(t)
	proxy := testservices.NewProxy(t, server.Address)
	r := open(t, "redis://"+proxy.Address, RedisOptions{Timeout: 10 * time.Second})
	for n := 1; n <= len(processAndAddress()); n++ {
		stack := processAndAddress()[:n]
		admitted(t, r, stack)
		if err := server.Client().ConfigResetStat(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		before := proxy.Trips()
		for range 5 {
			admitted(t, r, stack)
		}
		if trips := proxy.Trips() - before; trips != 5 {
			t.Errorf("5 decisions about %d limits took %d round trips", n, trips)
		}
		if calls := scriptsRun(t, server); calls != "5" {
			t.Errorf("5 decisions about %d limits ran %s scripts", n, calls)
		}
	}
}

// Decisions that come while one is on the wire share the next round trip.
func TestRedisDecidesTogetherWhatComesTogether(t *testing.T) {
	t.Parallel()
	server := testservices.StoppableRedis(t)
	proxy := testservices.NewProxy(t, server.Address)
	r := open(t, "redis://"+proxy.Address, RedisOptions{Timeout: 10 * time.Second})
	stack := readStack(1000, time.Minute)
	admitted(t, r, stack)
	before := proxy.Trips()
	proxy.Delay(100 * time.Millisecond)
	var group sync.WaitGroup
	for range 40 {
		group.Go(func() {
			if d, err := r.Take(t.Context(), stack, nil); err != nil || !d.Admitted {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
	group.Wait()
	if trips := proxy.Trips() - before; trips > 4 {
		t.Errorf("40 decisions at once took %d round trips", trips)
	}
	proxy.Delay(0)
	if got := remainingIn(t, r, stack); got[0] != 959 || got[1] != 959 {
		t.Errorf("after 41 decisions: %v left of 1000", got)
	}
}

// scripts counts what a client sends to make decisions.
func scripts(sent *atomic.Int64) *gate {
	return &gate{single: func(command redis.Cmder) {
		if name := command.Name(); name == "evalsha" || name == "eval" {
			sent.Add(1)
		}
	}}
}

// A Sentinel names the server, and has no part in decisions.
func TestRedisBehindSentinelsDecidesInOneRoundTrip(t *testing.T) {
	t.Parallel()
	r := open(t, testservices.Sentinel(t).URL, RedisOptions{Timeout: 10 * time.Second})
	admitted(t, r, processAndAddress())
	var sent atomic.Int64
	r.client.AddHook(scripts(&sent))
	for range 5 {
		admitted(t, r, processAndAddress())
	}
	if sent.Load() != 5 {
		t.Errorf("5 decisions took %d round trips", sent.Load())
	}
}

// On a cluster a stack in one place is one round trip, one in two places is two, and a refusal is one more at most:
// what is given back is judged in the same step.
func TestClusterDecidesInTwoRoundTripsAndRefusesInThree(t *testing.T) {
	t.Parallel()
	cluster := testservices.Cluster(t)
	r := open(t, cluster.URL, RedisOptions{Timeout: 10 * time.Second})
	stack, _, _ := mixedStack(t, cluster, r, 100, 100)
	admitted(t, r, stack)
	admitted(t, r, stack)
	var sent atomic.Int64
	hook := scripts(&sent)
	if err := r.cluster.ForEachMaster(t.Context(), func(_ context.Context, master *redis.Client) error {
		master.AddHook(hook)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	refusing := func(i int) []Limit {
		strict := slices.Clone(stack)
		strict[i].Rate.Limit = 3
		return strict
	}
	for _, c := range []struct {
		what  string
		stack []Limit
		want  bool
		trips int64
	}{
		{"an account's", stack[:1], true, 1},
		{"an address's", stack[1:], true, 1},
		{"both, admitted", stack, true, 2},
		{"both, refused by the account", refusing(0), false, 3},
		{"both, refused by the address", refusing(1), false, 2},
	} {
		before := sent.Load()
		if got := admitted(t, r, c.stack); got != c.want || sent.Load()-before != c.trips {
			t.Errorf("%s: admitted %v, %d round trips, want %d", c.what, got, sent.Load()-before, c.trips)
		}
	}
}
