package limits

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/ulule/limiter/v3"

	"github.com/stenometer/stenometer/problems"
)

// Forgetter is a store that can forget a counter: Memory and Redis.
type Forgetter interface {
	Store
	// Forget makes the limit's counter what it was before anything was counted.
	Forget(ctx context.Context, l Limit) error
}

// ululePlan is what all counters of the adapter belong to. Its keys are hashes.
var ululePlan = &Plan{"ulule", "ulule", Organization, problems.AddressRateLimited, "Keys of programs that speak to the limits as to ulule/limiter."}

// Ulule makes a store usable as a store of ulule/limiter, by limiter.New and that library's middlewares. The prefix
// keeps the keys of several users apart. It differs from that library's own stores:
//
//   - windows slide; theirs begin with a key's first request and end all at once. Reset is when Remaining next grows,
//     and now when nothing is counted;
//   - a refused request is not counted, so that it ends no later for those who go on asking. Peek therefore never
//     has Reached, and Increment counts all of its units or, if they do not fit, none;
//   - a counter belongs to a key and a period: two limiters of different periods share a store without sharing counts;
//   - figures from 1 to MaxFigure, periods that Limit allows, and counts from 0 are decided about; others are errors.
func Ulule(store Forgetter, prefix string) limiter.Store {
	return ulule{store: store, prefix: prefix}
}

type ulule struct {
	store  Forgetter
	prefix string
}

// Get implements limiter.Store: it counts one unit.
func (u ulule) Get(ctx context.Context, key string, rate limiter.Rate) (limiter.Context, error) {
	return u.Increment(ctx, key, 1, rate)
}

// Increment implements limiter.Store.
func (u ulule) Increment(ctx context.Context, key string, count int64, rate limiter.Rate) (limiter.Context, error) {
	if count == 0 {
		return u.Peek(ctx, key, rate)
	}
	var room [1]State
	decision, err := u.store.Take(ctx, []Limit{u.limit(key, count, rate)}, room[:])
	if err != nil {
		return limiter.Context{}, fmt.Errorf("counting %d for a key of ulule's limiter: %w", count, err)
	}
	return decision.States[0].Context, nil
}

// Peek implements limiter.Store.
func (u ulule) Peek(ctx context.Context, key string, rate limiter.Rate) (limiter.Context, error) {
	states, err := u.store.Peek(ctx, []Limit{u.limit(key, 1, rate)})
	if err != nil {
		return limiter.Context{}, fmt.Errorf("looking at a key of ulule's limiter: %w", err)
	}
	return states[0].Context, nil
}

// Reset implements limiter.Store.
func (u ulule) Reset(ctx context.Context, key string, rate limiter.Rate) (limiter.Context, error) {
	if err := u.store.Forget(ctx, u.limit(key, 1, rate)); err != nil {
		return limiter.Context{}, fmt.Errorf("resetting a key of ulule's limiter: %w", err)
	}
	return u.Peek(ctx, key, rate)
}

// ululeTags is how many tags the keys are spread over: in Redis, newcomers of one tag share a counter at the bound.
const ululeTags = 1024

// limit names the counter by 128 bits of a hash: no two keys that anyone can find share one.
func (u ulule) limit(key string, count int64, rate limiter.Rate) Limit {
	sum := sha256.Sum256([]byte(u.prefix + "\x00" + key))
	id := int64(binary.BigEndian.Uint64(sum[:]))
	return Limit{Plan: ululePlan, Key: Key{Org: id & (ululeTags - 1), ID: id, Part: binary.BigEndian.Uint64(sum[8:])}, Rate: rate, Cost: count}
}
