package limits

import (
	"crypto/rand"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tests/testservices"
)

func TestRedisKeys(t *testing.T) {
	t.Parallel()
	r := &Redis{prefix: "stn"}
	at := func(plan *Plan, key Key, period time.Duration) string {
		return r.keyOf(&Limit{Plan: plan, Key: key, Rate: Rate{Period: period}})
	}
	tag := func(address string) string {
		return strconv.FormatInt(tagOf(&Limit{Plan: Login, Key: Key{Addr: netip.MustParseAddr(address)}}).number, 10)
	}
	for got, want := range map[string]string{
		at(TokenRead, Key{Org: 3, ID: 17}, time.Minute):                                            "stn:rl:{org:3}:token:17:read:60",
		at(UserAI, Key{Org: 3, ID: 5}, time.Minute):                                                "stn:rl:{org:3}:user:5:ai:60",
		at(OrganizationAI, Key{Org: 3, ID: 3}, 1500*time.Millisecond):                              "stn:rl:{org:3}:org:3:ai:1500ms",
		at(SessionAddress, Key{Addr: netip.MustParseAddr("203.0.113.9")}, time.Hour):               "stn:rl:{ip:" + tag("203.0.113.9") + "}:ip:203.0.113.9:session:3600",
		at(LoginFailures, Key{Addr: netip.MustParseAddr("2001:db8:0:1::"), Part: 35}, time.Minute): "stn:rl:{ip:" + tag("2001:db8:0:1::") + "}:ip:2001:db8:0:1:::login_failures:60/z",
	} {
		if got != want {
			t.Errorf("key %s, want %s", got, want)
		}
	}
}

// named is a storage by its URI.
func named(t testing.TB, uri string) config.LimitsStorage {
	t.Helper()
	storage, err := config.ParseLimitsStorage(uri)
	if err != nil {
		t.Fatal(err)
	}
	return storage
}

func open(t testing.TB, uri string, options RedisOptions) *Redis {
	t.Helper()
	if options.Prefix == "" {
		options.Prefix = "test-" + rand.Text()
	}
	r, err := OpenRedis(t.Context(), named(t, uri), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func (r *Redis) keyOf(l *Limit) string { return string(r.appendKey(nil, l)) }

func patient(t testing.TB) *Redis {
	t.Helper()
	return open(t, testservices.Redis(t), RedisOptions{Timeout: 10 * time.Second})
}

func readStack(figure int64, period time.Duration) []Limit {
	return []Limit{
		{Plan: AccountRead, Key: Key{Org: 3, ID: 5}, Rate: Rate{Limit: figure, Period: period}, Cost: 1},
		{Plan: TokenRead, Key: Key{Org: 3, ID: 17}, Rate: Rate{Limit: figure, Period: period}, Cost: 1},
	}
}

func admitted(t testing.TB, r *Redis, stack []Limit) bool {
	t.Helper()
	d, err := r.Take(t.Context(), stack, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d.Admitted
}

// A refusal and a peek leave the stored bytes as they are, and do not prolong a key's life.
func TestRedisRefusalOnlyReads(t *testing.T) {
	t.Parallel()
	r, stack := patient(t), readStack(1, time.Hour)
	admitted(t, r, stack)
	read := func() (string, time.Duration) {
		key := r.keyOf(&stack[0])
		return r.client.Dump(t.Context(), key).Val(), r.client.PTTL(t.Context(), key).Val()
	}
	bytes, life := read()
	if bytes == "" || life <= 0 {
		t.Fatalf("nothing is stored: %q, %v", bytes, life)
	}
	for range 5 {
		if admitted(t, r, stack) {
			t.Fatal("the second of one was admitted")
		}
		if _, err := r.Peek(t.Context(), stack); err != nil {
			t.Fatal(err)
		}
	}
	if now, left := read(); now != bytes || left > life {
		t.Errorf("a refusal wrote: %q became %q, a life of %v became %v", bytes, now, life, left)
	}
}

func TestRedisKeysVanishWhenNothingIsCounted(t *testing.T) {
	t.Parallel()
	r, stack := patient(t), readStack(5, 200*time.Millisecond)
	admitted(t, r, stack)
	lease, ok, err := r.Acquire(t.Context(), "jobs:3", 1, 200*time.Millisecond)
	if err != nil || !ok {
		t.Fatalf("lease %v: %v, %v", lease, ok, err)
	}
	<-time.After(250 * time.Millisecond)
	keys := append(r.leaseKeys("jobs:3"), r.keyOf(&stack[0]), r.keyOf(&stack[1]))
	if n := r.client.Exists(t.Context(), keys...).Val(); n != 0 {
		t.Errorf("%d of 3 keys outlive what they are for", n)
	}
}

// A server that was restarted has forgotten the script; no decision may notice.
func TestRedisSurvivesALostScript(t *testing.T) {
	t.Parallel()
	r, stack := patient(t), readStack(2, time.Minute)
	for _, want := range []bool{true, true, false} {
		if err := r.client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if got := admitted(t, r, stack); got != want {
			t.Errorf("after the scripts were flushed: admitted is %v, want %v", got, want)
		}
	}
}

func TestRedisStateThatIsNotOursAdmitsNothing(t *testing.T) {
	t.Parallel()
	r, stack := patient(t), readStack(2, time.Minute)
	for _, foreign := range []string{"", "hello", "\xc1\xc1\xc1", "a string of 21 bytes.", strings.Repeat("\x01", 22)} {
		r.client.Set(t.Context(), r.keyOf(&stack[1]), foreign, time.Minute)
		d, err := r.Take(t.Context(), stack, nil)
		if !problems.Is(err, problems.LimitsUnavailable) || d.Admitted {
			t.Errorf("%q is stored: admitted is %v, error %v", foreign, d.Admitted, err)
		}
		if states, err := r.Peek(t.Context(), stack[:1]); err != nil || states[0].Context.Remaining != 2 {
			t.Errorf("%q is stored: the neighbor was charged: %v, %v", foreign, states, err)
		}
	}
}

func TestRedisClosesTwice(t *testing.T) {
	t.Parallel()
	r := patient(t)
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := r.Take(t.Context(), readStack(1, time.Minute), nil); err == nil {
		t.Error("a closed store decides")
	}
}
