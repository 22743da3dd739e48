package limits

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/ulule/limiter/v3"
	ululememory "github.com/ulule/limiter/v3/drivers/store/memory"
)

// Nothing here is asserted: times are measured on an idle machine and compared within one run, by
//
//	go test ./limits -run '^$' -bench 'Clock|Decision|Ulule' -count 5

// BenchmarkClock is the part of a decision that no store can save.
func BenchmarkClock(b *testing.B) {
	for b.Loop() {
		_ = time.Now()
	}
}

// Who the requests come from.
const (
	tokensPerAccount = 4
	accountsPerOrg   = 16
)

// benchLimits are limits of one token's requests, from one to four, too high to bind.
func benchLimits(token int64, count int) []Limit {
	rate := Rate{Limit: 1_000_000_000, Period: time.Minute}
	stack := []Limit{
		{Plan: TokenProcess, Rate: rate, Cost: 1},
		{Plan: AccountProcess, Rate: rate, Cost: 1},
		{Plan: UserAI, Rate: rate, Cost: 1},
		{Plan: OrganizationAI, Rate: rate, Cost: 1},
	}[:count]
	point(stack, token)
	return stack
}

// point makes the stack that of another token.
func point(stack []Limit, token int64) {
	account := token / tokensPerAccount
	org := account / accountsPerOrg
	for i := range stack {
		key := Key{Org: org, ID: account}
		if stack[i].Plan.Subject == Token {
			key.ID = token
		}
		if stack[i].Plan.Subject == Organization {
			key.ID = org
		}
		stack[i].Key = key
	}
}

// inNoOrder draws the next of so many tokens.
type inNoOrder uint64

func (x *inNoOrder) next(tokens int) int64 {
	*x ^= *x << 13
	*x ^= *x >> 7
	*x ^= *x << 17
	return int64(uint64(*x) % uint64(tokens))
}

// benchmarkCallers runs a decision by one caller, and by as many as there are processors. Each gets its own function
// of the token.
func benchmarkCallers(b *testing.B, tokens int, decider func() func(token int64)) {
	b.Run("serial", func(b *testing.B) {
		b.ReportAllocs()
		decide, order := decider(), inNoOrder(88172645463325252)
		for b.Loop() {
			decide(order.next(tokens))
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			decide, order := decider(), inNoOrder(time.Now().UnixNano()|1)
			for pb.Next() {
				decide(order.next(tokens))
			}
		})
	})
}

var benchTokens = []int{1, 100_000, 1_000_000}

func BenchmarkDecision(b *testing.B) {
	for _, tokens := range benchTokens {
		for _, count := range []int{1, 2, 4} {
			b.Run(strconv.Itoa(count)+"_limits/"+strconv.Itoa(tokens)+"_tokens", func(b *testing.B) {
				m := NewMemoryOf(time.Now, count*tokens)
				decider := func() func(int64) {
					stack, room := benchLimits(0, count), make([]State, count)
					return func(token int64) {
						point(stack, token)
						_, _ = m.Take(context.Background(), stack, room)
					}
				}
				warm := decider()
				for token := range tokens {
					warm(int64(token))
				}
				benchmarkCallers(b, tokens, decider)
			})
		}
	}
}

// BenchmarkUlule is two decisions of ulule's own store, as two of its middlewares make: the token's and the account's.
func BenchmarkUlule(b *testing.B) {
	for _, tokens := range benchTokens {
		b.Run("2_limits/"+strconv.Itoa(tokens)+"_tokens", func(b *testing.B) {
			rate := limiter.Rate{Limit: 1_000_000_000, Period: time.Minute}
			byToken := limiter.New(ululememory.NewStoreWithOptions(limiter.StoreOptions{Prefix: "token"}), rate)
			byAccount := limiter.New(ululememory.NewStoreWithOptions(limiter.StoreOptions{Prefix: "account"}), rate)
			names := make([]string, tokens)
			for i := range names {
				names[i] = strconv.Itoa(i)
			}
			decider := func() func(int64) {
				return func(token int64) {
					_, _ = byToken.Get(context.Background(), names[token])
					_, _ = byAccount.Get(context.Background(), names[token/tokensPerAccount])
				}
			}
			warm := decider()
			for token := range tokens {
				warm(int64(token))
			}
			benchmarkCallers(b, tokens, decider)
		})
	}
}
