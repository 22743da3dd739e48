package testservices_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/stenometer/stenometer/tests/testservices"
)

func answers(t *testing.T, r *testservices.PrivateRedis) {
	t.Helper()
	if err := r.Client().Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestPrivateServersAnswer(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *testservices.PrivateRedis{
		"plain": testservices.StoppableRedis, "socket": testservices.Socket, "TLS": testservices.TLS,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t)
			answers(t, r)
			r.Stop()
			if err := r.Client().Ping(t.Context()).Err(); err == nil {
				t.Error("a stopped server answers")
			}
			r.Start()
			answers(t, r)
		})
	}
}

func TestFrozenServerGoesOnWhenThawed(t *testing.T) {
	t.Parallel()
	r := testservices.StoppableRedis(t)
	r.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: r.Address, ContextTimeoutEnabled: true, MaxRetries: -1})
	defer client.Close()
	if err := client.Ping(ctx).Err(); err == nil {
		t.Error("a frozen server answers")
	}
	r.Thaw()
	answers(t, r)
}

func TestSentinelFailsOver(t *testing.T) {
	t.Parallel()
	s := testservices.Sentinel(t)
	if err := s.Master.Client().Set(t.Context(), "a", "b", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n := s.Master.Client().Wait(t.Context(), 1, 5*time.Second).Val(); n != 1 {
		t.Fatalf("%d replicas have what was written", n)
	}
	s.FailOver()
	if got := s.Replica.Client().Get(t.Context(), "a").Val(); got != "b" {
		t.Errorf("the new master holds %q", got)
	}
}

func TestClusterSharesTheSlotsAndFailsOver(t *testing.T) {
	t.Parallel()
	c := testservices.Cluster(t)
	ranges, err := c.Masters[2].Client().ClusterShards(t.Context()).Result()
	if err != nil || len(ranges) != 3 {
		t.Fatalf("%v, %v", ranges, err)
	}
	replica := c.AddReplica(c.Masters[0])
	c.FailOver(c.Masters[0], replica)
	if nodes := replica.Client().ClusterNodes(t.Context()).Val(); !strings.Contains(nodes, "myself,master") {
		t.Errorf("the replica is no master: %s", nodes)
	}
}

func TestProxyIsSlowSilentAndAway(t *testing.T) {
	t.Parallel()
	r := testservices.StoppableRedis(t)
	p := testservices.NewProxy(t, r.Address)
	client := redis.NewClient(&redis.Options{
		Addr: p.Address, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
	})
	defer client.Close()
	ping := func(patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return client.Ping(ctx).Err()
	}
	if err := ping(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	before := p.Trips()
	for range 7 {
		if err := ping(10 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if trips := p.Trips() - before; trips != 7 {
		t.Errorf("7 pings took %d round trips", trips)
	}
	p.Delay(30 * time.Millisecond)
	start := time.Now()
	if err := ping(10 * time.Second); err != nil || time.Since(start) < 60*time.Millisecond {
		t.Errorf("slow: %v after %v", err, time.Since(start))
	}
	p.Delay(0)
	p.Freeze()
	if err := ping(50 * time.Millisecond); err == nil {
		t.Error("a silent proxy answers")
	}
	p.Thaw()
	p.Cut()
	if err := ping(time.Second); err == nil {
		t.Error("a proxy that is away answers")
	}
	p.Mend()
	if err := ping(10 * time.Second); err != nil {
		t.Error(err)
	}
}
