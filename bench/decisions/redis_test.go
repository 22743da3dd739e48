package decisions

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	storeredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/stenometer/stenometer/bench/stores"
	"github.com/stenometer/stenometer/limits"
)

const (
	redisTokens = 16
	callers     = 16
	// fullWindow is so short that one caller asks for each token several times in each of its quanta.
	fullWindow = 640 * time.Millisecond
)

// BenchmarkRedis is one decision over one connection's round trip or more, with one caller and with sixteen. What it
// took of CPU is told beside the time: here (client-ns/op) and in Redis (redis-ns/op).
func BenchmarkRedis(b *testing.B) {
	client, ours := openRedis(b)
	names := stores.Prepared(redisTokens)
	full := limits.Rate{Limit: limits.MaxFigure, Period: fullWindow}
	for _, candidate := range []struct {
		name string
		open func() stores.Decider
		// fill asks for that long before anything is timed.
		fill time.Duration
	}{
		{"ping", pinging(func(ctx context.Context) error { return client.Ping(ctx).Err() }), 0},
		{"ping_of_ours", pinging(ours.Ping), 0},
		{"ours_2", over(ours, stores.Ours{Limits: 2}), 0},
		{"ours_4", over(ours, stores.Ours{Limits: 4}), 0},
		{"ours_2_full", over(ours, stores.Ours{Limits: 2, Rate: full}), fullWindow * 11 / 10},
		{"ours_4_full", over(ours, stores.Ours{Limits: 4, Rate: full}), fullWindow * 11 / 10},
		{"ulule_2", func() stores.Decider {
			store, err := storeredis.NewStore(client)
			if err != nil {
				b.Fatal(err)
			}
			return stores.UluleOver(store, names, true)
		}, 0},
		{"redis_rate_2", func() stores.Decider { return redisRate(client, names) }, 0},
	} {
		if err := client.FlushAll(b.Context()).Err(); err != nil {
			b.Fatal(err)
		}
		decider := candidate.open()
		warm(b, decider, redisTokens)
		for _, many := range []int{1, callers} {
			fill(decider, many, candidate.fill)
			b.Run(fmt.Sprintf("%s/callers=%d", candidate.name, many), called(client, decider, many))
		}
	}
}

// openRedis connects with a client as it comes, and with our store.
func openRedis(b *testing.B) (*redis.Client, *limits.Redis) {
	b.Helper()
	url := os.Getenv("STENOMETER_TEST_REDIS")
	if url == "" {
		b.Fatal("STENOMETER_TEST_REDIS is not set: run it by scripts/with-services")
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		b.Fatal(err)
	}
	client := redis.NewClient(options)
	b.Cleanup(func() { _ = client.Close() })
	store, err := openStore(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	return client, store
}

func over(store limits.Store, o stores.Ours) func() stores.Decider {
	return func() stores.Decider { return o.Over(store) }
}

// pinging is a round trip that decides nothing: what a decision is measured against.
func pinging(ping func(context.Context) error) func() stores.Decider {
	return func() stores.Decider {
		return func() stores.Decide {
			ctx := context.Background()
			return func(int) bool { return ping(ctx) == nil }
		}
	}
}

// redisRate is redis_rate for account and token, two scripts one after the other.
func redisRate(client *redis.Client, names stores.Names) stores.Decider {
	const figure = 1_000_000_000
	limiter, limit := redis_rate.NewLimiter(client), redis_rate.Limit{Rate: figure, Burst: figure, Period: time.Minute}
	return func() stores.Decide {
		ctx := context.Background()
		one := func(key string) bool {
			result, err := limiter.Allow(ctx, key, limit)
			return err == nil && result.Allowed == 1
		}
		return func(i int) bool { return one(names.Account(i)) && one(names.Token(i)) }
	}
}

// fill decides for so long, by as many callers as are timed then.
func fill(decider stores.Decider, many int, long time.Duration) {
	until := time.Now().Add(long)
	ended := make(chan struct{})
	for caller := range many {
		go func() {
			decide := decider()
			for i := caller; time.Now().Before(until); i++ {
				decide(i % redisTokens)
			}
			ended <- struct{}{}
		}()
	}
	for range many {
		<-ended
	}
}

func called(client *redis.Client, decider stores.Decider, many int) func(*testing.B) {
	return func(b *testing.B) {
		run := serial(decider, redisTokens)
		if many > 1 {
			b.SetParallelism(max(1, many/runtime.GOMAXPROCS(0)))
			run = parallel(decider, redisTokens)
		}
		server, here := redisCPU(b, client), processCPU()
		b.ResetTimer()
		run(b)
		b.StopTimer()
		b.ReportMetric(float64((processCPU()-here).Nanoseconds())/float64(b.N), "client-ns/op")
		b.ReportMetric(float64((redisCPU(b, client)-server).Nanoseconds())/float64(b.N), "redis-ns/op")
	}
}

// processCPU is what this process has used.
func processCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// redisCPU is what the server has used.
func redisCPU(b *testing.B, client *redis.Client) time.Duration {
	b.Helper()
	info, err := client.Info(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	var seconds float64
	for _, found := range regexp.MustCompile(`(?m)^used_cpu_(?:sys|user):([\d.]+)`).FindAllStringSubmatch(info, -1) {
		n, _ := strconv.ParseFloat(found[1], 64)
		seconds += n
	}
	return time.Duration(seconds * float64(time.Second))
}
