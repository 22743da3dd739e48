package limits

import (
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tests/testservices"
)

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

// comesBack wants a decision by and by, without anybody's help.
func comesBack(t *testing.T, r *Redis) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for {
		d, err := r.Take(t.Context(), readStack(1000, time.Minute), nil)
		if err == nil && d.Admitted {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("15 seconds after Redis came back: %v", err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func TestRedisThatFailsAdmitsNothingAndComesBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail, mend func(*testservices.PrivateRedis, *testservices.Proxy)
	}{
		"stopped": {
			func(r *testservices.PrivateRedis, _ *testservices.Proxy) { r.Stop() },
			func(r *testservices.PrivateRedis, _ *testservices.Proxy) { r.Start() },
		},
		"frozen": {
			func(r *testservices.PrivateRedis, _ *testservices.Proxy) { r.Freeze() },
			func(r *testservices.PrivateRedis, _ *testservices.Proxy) { r.Thaw() },
		},
		"cut off": {
			func(_ *testservices.PrivateRedis, p *testservices.Proxy) { p.Cut() },
			func(_ *testservices.PrivateRedis, p *testservices.Proxy) { p.Mend() },
		},
		"silent": {
			func(_ *testservices.PrivateRedis, p *testservices.Proxy) { p.Freeze() },
			func(_ *testservices.PrivateRedis, p *testservices.Proxy) { p.Thaw() },
		},
		"too slow": {
			func(_ *testservices.PrivateRedis, p *testservices.Proxy) { p.Delay(80 * time.Millisecond) },
			func(_ *testservices.PrivateRedis, p *testservices.Proxy) { p.Delay(0) },
		},
		"locked": {
			func(r *testservices.PrivateRedis, p *testservices.Proxy) {
				r.Configure("requirepass", "another one")
				p.Cut() // who is in stays in
				p.Mend()
			},
			func(r *testservices.PrivateRedis, _ *testservices.Proxy) { r.Configure("requirepass", "") },
		},
		"read only": {
			func(r *testservices.PrivateRedis, _ *testservices.Proxy) { r.Configure("min-replicas-to-write", "1") },
			func(r *testservices.PrivateRedis, _ *testservices.Proxy) { r.Configure("min-replicas-to-write", "0") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testservices.StoppableRedis(t)
			proxy := testservices.NewProxy(t, server.Address)
			r := open(t, "redis://"+proxy.Address, RedisOptions{})
			comesBack(t, r)
			c.fail(server, proxy)
			for range 5 {
				away(t, r, name)
			}
			c.mend(server, proxy)
			comesBack(t, r)
		})
	}
}

// The fastest of some is looked at, because a busy machine adds to each.
func TestRedisThatHangsCostsATenthOfASecond(t *testing.T) {
	t.Parallel()
	server := testservices.StoppableRedis(t)
	r := open(t, server.URL, RedisOptions{})
	comesBack(t, r)
	server.Freeze()
	fastest := time.Hour
	for range 7 {
		start := time.Now()
		if _, err := r.Take(t.Context(), readStack(1000, time.Minute), nil); err == nil {
			t.Fatal("a frozen server decides")
		}
		fastest = min(fastest, time.Since(start))
	}
	if fastest < 90*time.Millisecond || fastest > 170*time.Millisecond {
		t.Errorf("a decision of a frozen server took %v", fastest)
	}
}

// A server that is full refuses to write: no request passes, and none is charged by halves.
func TestRedisThatIsFullChargesNothing(t *testing.T) {
	t.Parallel()
	server := testservices.StoppableRedis(t)
	r := open(t, server.URL, RedisOptions{Timeout: 10 * time.Second})
	stack := readStack(10, time.Minute)
	admitted(t, r, stack[:1])
	server.Configure("maxmemory-policy", "noeviction")
	server.Configure("maxmemory", "1")
	for range 3 {
		d, err := r.Take(t.Context(), stack, nil)
		if !problems.Is(err, problems.LimitsUnavailable) || d.Admitted || !strings.Contains(problems.Of(err).Unwrap().Error(), "OOM") {
			t.Errorf("full: admitted is %v, error %v", d.Admitted, err)
		}
	}
	states, err := r.Peek(t.Context(), stack)
	if err != nil || states[0].Context.Remaining != 9 || states[1].Context.Remaining != 10 {
		t.Errorf("after refusals by a full server: %v, %v", states, err)
	}
	server.Configure("maxmemory", "0")
	if !admitted(t, r, stack) {
		t.Error("with room again nothing is admitted")
	}
}

// What is counted is counted by the server, so that a failover of the store's own making forgets nothing.
func TestRedisBehindSentinelsFailsOver(t *testing.T) {
	t.Parallel()
	s := testservices.Sentinel(t)
	r := open(t, s.URL, RedisOptions{})
	stack := readStack(1, time.Hour)
	admitted(t, r, stack)
	if n := s.Master.Client().Wait(t.Context(), 1, 10*time.Second).Val(); n != 1 {
		t.Fatalf("%d replicas have what was counted", n)
	}
	s.FailOver()
	refusesAfterAFailover(t, r, stack)
}
