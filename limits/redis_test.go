package limits_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/limits/limitstest"
	"github.com/stenometer/stenometer/tests/testservices"
)

// openRedis opens the shared server under a prefix of this test alone. The timeout is generous where a test is about
// something else: dozens of goroutines share few cores.
func openRedis(t *testing.T, timeout time.Duration) *limits.Redis {
	t.Helper()
	r, err := limits.OpenRedis(t.Context(), testservices.Redis(t), limits.RedisOptions{Prefix: "test-" + rand.Text(), Timeout: timeout})
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

func TestRedisKeepsTheRulesOfAStore(t *testing.T) {
	t.Parallel()
	limitstest.Run(t, func(t *testing.T) limitstest.Subject {
		return limitstest.Subject{
			Store:  openRedis(t, 10*time.Second),
			Window: 1500 * time.Millisecond,
			Now:    time.Now,
			Wait:   func(d time.Duration) { <-time.After(d) },
		}
	})
}
