package limits

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/testservices"
)

func addressLimit(n int, figure int64) Limit {
	return Limit{
		Plan: Login, Key: Key{Addr: netip.AddrFrom4([4]byte{198, 51, byte(n >> 8), byte(n)})},
		Rate: Rate{Limit: figure, Period: time.Hour}, Cost: 1,
	}
}

// Whoever comes from new addresses without end makes a bounded number of keys.
func TestRedisHoldsABoundedNumberOfKeys(t *testing.T) {
	t.Parallel()
	r := open(t, testservices.OwnRedis(t), RedisOptions{Timeout: 10 * time.Second, MaxKeys: 50})
	for n := range 10_000 {
		if !admitted(t, r, []Limit{addressLimit(n, 1000)}) {
			t.Fatalf("address %d was refused", n)
		}
	}
	if keys := r.client.DBSize(t.Context()).Val(); keys > 50+1024 {
		t.Errorf("10000 addresses made %d keys, with room for 50 and 1024 in common", keys)
	}
	var counted int64
	for n := range 50 {
		counted += 1000 - remainingIn(t, r, []Limit{addressLimit(n, 1000)})[0]
	}
	if counted != 50 {
		t.Errorf("the first 50 addresses have %d units counted, want 1 each", counted)
	}
}

// Nobody pays for the bound but newcomers: the server is not asked how many keys it has for a counter that exists.
func TestRedisCountsKeysForNewcomersAlone(t *testing.T) {
	t.Parallel()
	server := testservices.StoppableRedis(t)
	r := open(t, server.URL, RedisOptions{Timeout: 10 * time.Second})
	stack := readStack(5, time.Hour)
	admitted(t, r, stack)
	if err := server.Client().ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for range 8 { // 4 are admitted
		admitted(t, r, stack)
	}
	remainingIn(t, r, []Limit{addressLimit(1, 5)})
	told := server.Client().Info(t.Context(), "commandstats").Val()
	// All counters of a request are read at once, and one by one again where it was refused, or only looked.
	if strings.Contains(told, "cmdstat_dbsize") || !strings.Contains(told, "cmdstat_mget:calls=8,") || !strings.Contains(told, "cmdstat_get:calls=10,") {
		t.Errorf("8 decisions about 2 counters and a look at one that is not there:\n%s", told)
	}
	admitted(t, r, []Limit{addressLimit(1, 5)})
	if told := server.Client().Info(t.Context(), "commandstats").Val(); !strings.Contains(told, "cmdstat_dbsize:calls=1,") {
		t.Errorf("after a newcomer:\n%s", told)
	}
}

// Two newcomers of one stack that share a counter are both counted.
func TestRedisCountsEveryNewcomerOfAStack(t *testing.T) {
	t.Parallel()
	r := open(t, testservices.OwnRedis(t), RedisOptions{Timeout: 10 * time.Second, MaxKeys: 1})
	token := func(id int64) Limit {
		return Limit{Plan: TokenRead, Key: Key{Org: 3, ID: id}, Rate: Rate{Limit: 9, Period: time.Hour}, Cost: 2}
	}
	admitted(t, r, []Limit{token(1)})
	if !admitted(t, r, []Limit{token(2), token(3), token(2)}) {
		t.Fatal("refused")
	}
	if got := remainingIn(t, r, []Limit{token(4), token(1)}); got[0] != 5 || got[1] != 7 {
		t.Errorf("two newcomers used 2 of 9 each, and the first counter 2: %v left", got)
	}
}

// What was charged in common is given back in common, also where the key has a counter of its own by then.
func TestRefundOfANewcomerGoesWhereItWasCounted(t *testing.T) {
	t.Parallel()
	r := open(t, testservices.OwnRedis(t), RedisOptions{Timeout: 10 * time.Second, MaxKeys: 1})
	deadline := time.Now().Add(30 * time.Second)
	first, newcomer, other := addressLimit(0, 9), addressLimit(1, 9), addressLimit(1, 9)
	admitted(t, r, []Limit{first})
	for n := 2; other == newcomer; n++ { // another address of the same tag
		if l := addressLimit(n, 9); tagOf(&l) == tagOf(&newcomer) {
			other = l
		}
	}
	newcomer.Cost = 4
	p := &part{stack: []Limit{newcomer}}
	var err error
	if p.verdict, err = r.ask(t.Context(), modeTake, p.stack, nil, deadline); err != nil || p.verdict.common(0) != 1 {
		t.Fatalf("a newcomer at the bound: %v, %v", p.verdict, err)
	}
	r.maxKeys = 100
	if !admitted(t, r, []Limit{newcomer}) {
		t.Fatal("with room again it is refused")
	}
	if err := r.giveBack(t.Context(), []*part{p}, deadline); err != nil {
		t.Fatal(err)
	}
	if got := remainingIn(t, r, []Limit{newcomer, other}); got[0] != 1 || got[1] != 9 {
		t.Errorf("left of 9: %v, want 1 of a copy of 4 and 4 more, and 9 of what newcomers share", got)
	}
}

// The script finds a newcomer's plan and window in its key, whatever the plan, the key and the window.
func TestRedisSharesCountersOfEveryPlan(t *testing.T) {
	t.Parallel()
	r := open(t, testservices.OwnRedis(t), RedisOptions{Timeout: 10 * time.Second, MaxKeys: 1})
	admitted(t, r, readStack(1, time.Hour)[:1])
	for _, plan := range append(Plans(), ululePlan, probeAddress, probeOrganization) {
		for _, period := range []time.Duration{time.Hour, 90_500 * time.Millisecond} {
			l := Limit{Plan: plan, Key: Key{Org: 3, ID: 11}, Rate: Rate{Limit: 3, Period: period}, Cost: 1}
			if plan.Subject == Address {
				l.Key = Key{Addr: netip.MustParseAddr("2001:db8:0:1::")}
			}
			whole := l
			whole.Key.Part = 1 << 63
			before := remainingIn(t, r, []Limit{l})[0]
			if admitted(t, r, []Limit{l}) && remainingIn(t, r, []Limit{whole})[0] != before-1 {
				t.Errorf("%s over %v: a newcomer does not share", plan.Name, period)
			}
		}
	}
	if keys := r.client.Keys(t.Context(), r.prefix+":rl:*").Val(); len(keys) != 1+2*(len(Plans())+3) {
		t.Errorf("every plan and window has a common counter, and there are %d keys: %v", len(keys), keys)
	}
}
