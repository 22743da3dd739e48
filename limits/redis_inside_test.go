package limits

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tests/testservices"
)

func TestRedisKeys(t *testing.T) {
	t.Parallel()
	r := &Redis{prefix: "stn"}
	at := func(plan *Plan, key Key, period time.Duration) string {
		return r.key(&Limit{Plan: plan, Key: key, Rate: Rate{Period: period}})
	}
	for got, want := range map[string]string{
		at(TokenRead, Key{Org: 3, ID: 17}, time.Minute):                                            "stn:rl:{org:3}:token:17:read:60",
		at(UserAI, Key{Org: 3, ID: 5}, time.Minute):                                                "stn:rl:{org:3}:user:5:ai:60",
		at(OrganizationAI, Key{Org: 3, ID: 3}, 1500*time.Millisecond):                              "stn:rl:{org:3}:org:3:ai:1500ms",
		at(SessionAddress, Key{Addr: netip.MustParseAddr("203.0.113.9")}, time.Hour):               "stn:rl:{ip:203.0.113.9}:ip:203.0.113.9:session:3600",
		at(LoginFailures, Key{Addr: netip.MustParseAddr("2001:db8:0:1::"), Part: 35}, time.Minute): "stn:rl:{ip:2001:db8:0:1::}:ip:2001:db8:0:1:::login_failures:z:60",
	} {
		if got != want {
			t.Errorf("key %s, want %s", got, want)
		}
	}
}

func open(t *testing.T, uri string, options RedisOptions) *Redis {
	t.Helper()
	if options.Prefix == "" {
		options.Prefix = "test-" + rand.Text()
	}
	r, err := OpenRedis(t.Context(), uri, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func patient(t *testing.T) *Redis {
	t.Helper()
	return open(t, testservices.Redis(t), RedisOptions{Timeout: 10 * time.Second})
}

func readStack(figure int64, period time.Duration) []Limit {
	return []Limit{
		{Plan: AccountRead, Key: Key{Org: 3, ID: 5}, Rate: Rate{Limit: figure, Period: period}, Cost: 1},
		{Plan: TokenRead, Key: Key{Org: 3, ID: 17}, Rate: Rate{Limit: figure, Period: period}, Cost: 1},
	}
}

func admitted(t *testing.T, r *Redis, stack []Limit) bool {
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
		key := r.key(&stack[0])
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
	keys := append(r.leaseKeys("jobs:3"), r.key(&stack[0]), r.key(&stack[1]))
	if n := r.client.Exists(t.Context(), keys...).Val(); n != 0 {
		t.Errorf("%d of 3 keys outlive what they are for", n)
	}
}

// commands counts what is sent to Redis.
type commands struct {
	mu    sync.Mutex
	names []string
}

func (c *commands) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (c *commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.mu.Lock()
		c.names = append(c.names, cmd.Name())
		c.mu.Unlock()
		return next(ctx, cmd)
	}
}

func TestRedisDecidesInOneRoundTrip(t *testing.T) {
	t.Parallel()
	r, stack := patient(t), readStack(3, time.Minute)
	stack = append(stack, Limit{Plan: AddressAI, Key: Key{Addr: netip.MustParseAddr("203.0.113.9")}, Rate: Rate{Limit: 9, Period: time.Minute}, Cost: 1})
	admitted(t, r, stack)
	sent := &commands{}
	r.client.AddHook(sent)
	for range 5 {
		admitted(t, r, stack)
	}
	if len(sent.names) != 5 {
		t.Errorf("5 decisions sent %v", sent.names)
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
	for _, foreign := range []string{"", "hello", "\xc1\xc1\xc1"} {
		r.client.Set(t.Context(), r.key(&stack[1]), foreign, time.Minute)
		d, err := r.Take(t.Context(), stack, nil)
		if !problems.Is(err, problems.LimitsUnavailable) || d.Admitted {
			t.Errorf("%q is stored: admitted is %v, error %v", foreign, d.Admitted, err)
		}
		if states, err := r.Peek(t.Context(), stack[:1]); err != nil || states[0].Context.Remaining != 2 {
			t.Errorf("%q is stored: the neighbor was charged: %v, %v", foreign, states, err)
		}
	}
}

// relay passes connections on to Redis until it is told to hang or to stop.
type relay struct {
	listener net.Listener
	hang     chan struct{}
	mu       sync.Mutex // protects conns
	conns    []net.Conn
}

func newRelay(t *testing.T, address string) *relay {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: listener, hang: make(chan struct{})}
	upstream, err := url.Parse(testservices.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := new(net.Dialer).DialContext(t.Context(), "tcp", upstream.Host)
			if err != nil {
				return
			}
			r.mu.Lock()
			r.conns = append(r.conns, conn, to)
			r.mu.Unlock()
			go r.pass(to, conn)
			go r.pass(conn, to)
		}
	}()
	t.Cleanup(r.stop)
	return r
}

func (r *relay) pass(to io.Writer, from io.Reader) {
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		select {
		case <-r.hang:
			return
		default:
		}
		if err != nil {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (r *relay) stop() {
	_ = r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.conns {
		_ = conn.Close()
	}
}

func (r *relay) uri() string { return "redis://" + r.listener.Addr().String() }

// away takes until it is refused, which must be soon and must admit nothing.
func away(t *testing.T, r *Redis, what string) {
	t.Helper()
	start := time.Now()
	d, err := r.Take(t.Context(), readStack(1000, time.Minute), nil)
	if !problems.Is(err, problems.LimitsUnavailable) || d.Admitted || problems.Of(err).RetryAfter < time.Second {
		t.Errorf("%s: admitted is %v, error %v", what, d.Admitted, err)
	}
	if _, _, err := r.Acquire(t.Context(), "jobs:3", 1, time.Minute); !problems.Is(err, problems.LimitsUnavailable) {
		t.Errorf("%s: a lease has error %v", what, err)
	}
	// Twice 100 ms, and more on a busy machine. Untuned it is up to ten seconds.
	if took := time.Since(start); took > time.Second {
		t.Errorf("%s: two decisions took %v", what, took)
	}
}

func TestRedisThatHangsCostsATenthOfASecond(t *testing.T) {
	t.Parallel()
	relay := newRelay(t, "127.0.0.1:0")
	r := open(t, relay.uri(), RedisOptions{})
	close(relay.hang)
	away(t, r, "hung")
}

func TestRedisThatIsGoneComesBack(t *testing.T) {
	t.Parallel()
	first := newRelay(t, "127.0.0.1:0")
	r := open(t, first.uri(), RedisOptions{})
	first.stop()
	for range 10 {
		away(t, r, "gone")
	}
	newRelay(t, first.listener.Addr().String())
	deadline := time.Now().Add(5 * time.Second)
	for {
		d, err := r.Take(t.Context(), readStack(1000, time.Minute), nil)
		if err == nil && d.Admitted {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("5 seconds after Redis came back: %v", err)
		}
	}
}

// A wrong password is an error at start, at once, and is not shown.
func TestOpenRedisRefusesAWrongPassword(t *testing.T) {
	t.Parallel()
	admin := patient(t)
	user := "limits-" + strings.ToLower(rand.Text())
	if err := admin.client.Do(t.Context(), "ACL", "SETUSER", user, "on", ">right-one", "~test-*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.client.Do(context.WithoutCancel(t.Context()), "ACL", "DELUSER", user) })
	with := func(password string) string {
		u, err := url.Parse(testservices.Redis(t))
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword(user, password)
		return u.String()
	}
	if !admitted(t, open(t, with("right-one"), RedisOptions{}), readStack(1, time.Minute)) {
		t.Error("with the right password nothing is admitted")
	}
	start := time.Now()
	_, err := OpenRedis(t.Context(), with("hunter2"), RedisOptions{})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("a wrong password: %v", err)
	}
	if took := time.Since(start); took > redisFirstContact/2 {
		t.Errorf("a wrong password was tried for %v", took)
	}
}

func TestOpenRedisFaults(t *testing.T) {
	t.Parallel()
	for name, uri := range map[string]string{
		"another scheme":          "memcached://:hunter2@127.0.0.1:1",
		"password with a slash":   "redis://:hunter2/x@127.0.0.1:1",
		"password with a percent": "redis://:hunter2%zz@127.0.0.1:1",
		"database not a number":   "redis://:x@127.0.0.1:1/hunter2",
	} {
		if _, err := OpenRedis(t.Context(), uri, RedisOptions{}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenRedis(t.Context(), "redis://127.0.0.1:1", RedisOptions{Prefix: "a{b}"}); err == nil {
		t.Error("a prefix with braces was taken")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := OpenRedis(ctx, "redis://127.0.0.1:1", RedisOptions{}); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("nobody there: %v", err)
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
