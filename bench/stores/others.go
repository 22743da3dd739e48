package stores

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"
)

// neverReached is a figure that no run of the other libraries reaches.
const neverReached = 1_000_000_000

// Ulule is ulule/limiter in memory, asked once for the token and, with twice, once for the account before. Asked
// twice, it makes two decisions: the second may refuse what the first has charged.
func Ulule(names Names, twice bool) Decider {
	return UluleOver(memory.NewStore(), names, twice)
}

// UluleOver is the same over a store that is there.
func UluleOver(store limiter.Store, names Names, twice bool) Decider {
	byAccount := limiter.New(store, limiter.Rate{Period: time.Minute, Limit: neverReached})
	byToken := limiter.New(store, limiter.Rate{Period: time.Minute, Limit: neverReached})
	ctx := context.Background()
	one := func(l *limiter.Limiter, key string) bool {
		state, err := l.Get(ctx, key)
		if err != nil {
			panic(err)
		}
		return !state.Reached
	}
	return shared(func(i int) bool {
		return (!twice || one(byAccount, names.Account(i))) && one(byToken, names.Token(i))
	})
}

// Throttled is throttled's GCRA over its memory store without a bound on keys, for account and token.
func Throttled(names Names) (Decider, error) {
	store, err := memstore.NewCtx(0)
	if err != nil {
		return nil, fmt.Errorf("opening throttled's store: %w", err)
	}
	quota := throttled.RateQuota{MaxRate: throttled.PerDuration(neverReached, time.Minute), MaxBurst: neverReached}
	l, err := throttled.NewGCRARateLimiterCtx(store, quota)
	if err != nil {
		return nil, fmt.Errorf("making throttled's limiter: %w", err)
	}
	ctx := context.Background()
	one := func(key string) bool {
		for {
			// Callers that race for one key may be told to try again; a server would have to.
			if limited, _, err := l.RateLimitCtx(ctx, key, 1); err == nil {
				return !limited
			}
		}
	}
	return shared(func(i int) bool { return one(names.Account(i)) && one(names.Token(i)) }), nil
}

// TimeRate is a golang.org/x/time/rate limiter for each account and each token in a sync.Map, which is how it is
// commonly used: it has no store.
func TimeRate(names Names) Decider {
	var limiters sync.Map
	one := func(key string) bool {
		found, ok := limiters.Load(key)
		if !ok {
			found, _ = limiters.LoadOrStore(key, rate.NewLimiter(neverReached, neverReached))
		}
		return found.(*rate.Limiter).Allow()
	}
	return shared(func(i int) bool { return one(names.Account(i)) && one(names.Token(i)) })
}

// shared is for libraries whose decisions need nothing of the goroutine's own.
func shared(decide Decide) Decider { return func() Decide { return decide } }
