package limits_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/limits/limitstest"
	"github.com/stenometer/stenometer/tests/testservices"
)

// openRedis opens a store under a prefix of this test alone. The timeout is generous, because these tests are about
// something else: dozens of goroutines share few cores.
func openRedis(t *testing.T, uri string) *limits.Redis {
	t.Helper()
	storage, err := config.ParseLimitsStorage(uri)
	if err != nil {
		t.Fatal(err)
	}
	r, err := limits.OpenRedis(t.Context(), storage, limits.RedisOptions{Prefix: "test-" + rand.Text(), Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// conforms runs the suite on one store, each rule under a prefix of its own.
func conforms(t *testing.T, r *limits.Redis, apart bool) {
	t.Helper()
	limitstest.Run(t, func(*testing.T) limitstest.Subject {
		return limitstest.Subject{
			Store:  r.Under("test-" + rand.Text()),
			Window: 1500 * time.Millisecond,
			Now:    time.Now,
			Wait:   func(d time.Duration) { <-time.After(d) },
			Apart:  apart,
		}
	})
}

func TestRedisKeepsTheRulesOfAStore(t *testing.T) {
	t.Parallel()
	conforms(t, openRedis(t, testservices.Redis(t)), false)
}

func TestRedisOverTLSKeepsTheRulesOfAStore(t *testing.T) {
	t.Parallel()
	conforms(t, openRedis(t, testservices.TLS(t).URL), false)
}

func TestRedisBehindASocketKeepsTheRulesOfAStore(t *testing.T) {
	t.Parallel()
	conforms(t, openRedis(t, testservices.Socket(t).URL), false)
}

func TestRedisClusterKeepsTheRulesOfAStore(t *testing.T) {
	t.Parallel()
	conforms(t, openRedis(t, testservices.Cluster(t).URL), true)
}

// The store was there before the failover and is the same one after it.
func TestRedisAfterAFailoverKeepsTheRulesOfAStore(t *testing.T) {
	t.Parallel()
	sentinel := testservices.Sentinel(t)
	r := openRedis(t, sentinel.URL)
	if err := r.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	sentinel.FailOver()
	deadline := time.Now().Add(15 * time.Second)
	for r.Ping(t.Context()) != nil {
		if time.Now().After(deadline) {
			t.Fatal("15 seconds after the failover the store has not found the new master")
		}
		<-time.After(20 * time.Millisecond)
	}
	conforms(t, r, false)
}
