package limits

import (
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

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
