package limits

import (
	"context"
	"crypto/rand"
	_ "embed"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed acquire.lua
var acquireSource string

//go:embed renew.lua
var renewSource string

var (
	acquireScript = redis.NewScript(acquireSource)
	renewScript   = redis.NewScript(renewSource)
)

// Acquire implements Leases, by the server's clock.
func (r *Redis) Acquire(ctx context.Context, key string, places int, ttl time.Duration) (Lease, bool, error) {
	lease := Lease{Key: key, ID: rand.Text()}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	taken, err := acquireScript.Run(ctx, r.client, r.leaseKeys(key), places, ttl.Milliseconds(), lease.ID).Int()
	if err != nil {
		return Lease{}, false, unavailable("taking a lease in Redis", err)
	}
	if taken != 1 {
		return Lease{}, false, nil
	}
	return lease, true, nil
}

// Renew implements Leases, by the server's clock.
func (r *Redis) Renew(ctx context.Context, lease Lease, ttl time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	held, err := renewScript.Run(ctx, r.client, r.leaseKeys(lease.Key), ttl.Milliseconds(), lease.ID).Int()
	if err != nil {
		return false, unavailable("renewing a lease in Redis", err)
	}
	return held == 1, nil
}

// Release implements Leases.
func (r *Redis) Release(ctx context.Context, lease Lease) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if err := r.client.ZRem(ctx, r.leaseKeys(lease.Key)[0], lease.ID).Err(); err != nil {
		return unavailable("releasing a lease in Redis", err)
	}
	return nil
}

// leaseKeys are the keys of a script about places: "stn:lease:jobs:{org:3}", beside the organization's counters on a
// cluster. A key that names nothing in braces lies where it may.
func (r *Redis) leaseKeys(key string) []string {
	if !strings.Contains(key, "{") {
		key = "{" + key + "}"
	}
	return []string{r.prefix + ":lease:" + key}
}
