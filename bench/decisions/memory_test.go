// Package decisions times one decision, in memory and in Redis. The tool in the folder above runs these benchmarks
// and reads their output; `go test -bench .` runs them by hand.
package decisions

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenometer/stenometer/bench/stores"
)

// BenchmarkMemory is one decision over counters that are all alive, of one key, or pseudo-random ones of many.
func BenchmarkMemory(b *testing.B) {
	sizes := []int{1, 100_000, 1_000_000}
	if testing.Short() {
		sizes = sizes[:2]
	}
	names := stores.Prepared(sizes[len(sizes)-1])
	throttled := func() stores.Decider {
		decider, err := stores.Throttled(names)
		if err != nil {
			b.Fatal(err)
		}
		return decider
	}
	for _, candidate := range []struct {
		name string
		open func() stores.Decider
	}{
		{"ours_1", func() stores.Decider { return stores.Ours{Limits: 1}.InMemory(time.Now) }},
		{"ours_2", func() stores.Decider { return stores.Ours{Limits: 2}.InMemory(time.Now) }},
		{"ours_2_one_organization", func() stores.Decider {
			return stores.Ours{Limits: 2, OneOrganization: true}.InMemory(time.Now)
		}},
		{"ours_4", func() stores.Decider { return stores.Ours{Limits: 4}.InMemory(time.Now) }},
		{"ulule_2", func() stores.Decider { return stores.Ulule(names, true) }},
		{"throttled_2", throttled},
		{"time_rate_2", func() stores.Decider { return stores.TimeRate(names) }},
	} {
		for _, size := range sizes {
			decider := candidate.open()
			warm(b, decider, size)
			b.Run(fmt.Sprintf("%s/keys=%d/serial", candidate.name, size), serial(decider, size))
			b.Run(fmt.Sprintf("%s/keys=%d/parallel", candidate.name, size), parallel(decider, size))
		}
	}
}

// BenchmarkClock tells what reading the clock takes, and a decision with a clock that stands still: their difference
// is what the bar of a decision "besides the clock" is about.
func BenchmarkClock(b *testing.B) {
	b.Run("time.Now", func(b *testing.B) {
		var last time.Time
		for range b.N {
			last = time.Now()
		}
		runtime.KeepAlive(last)
	})
	still := time.Now()
	for _, n := range []int{1, 2, 4} {
		decider := stores.Ours{Limits: n}.InMemory(func() time.Time { return still })
		warm(b, decider, 1)
		b.Run(fmt.Sprintf("ours_%d_still", n), serial(decider, 1))
	}
}

// warm makes every counter, and lets the garbage of that be collected before anything is timed.
func warm(b *testing.B, decider stores.Decider, size int) {
	b.Helper()
	decide := decider()
	for i := range size {
		if !decide(i) {
			b.Fatal("a limit that is too high to bind has refused")
		}
	}
	runtime.GC()
}

func serial(decider stores.Decider, size int) func(*testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		decide, random := decider(), sequence(1)
		for range b.N {
			if !decide(int(random.next() % uint64(size))) {
				b.Fatal("a limit that is too high to bind has refused")
			}
		}
	}
}

func parallel(decider stores.Decider, size int) func(*testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		var goroutine atomic.Uint64
		b.RunParallel(func(pb *testing.PB) {
			decide, random := decider(), sequence(goroutine.Add(1))
			for pb.Next() {
				if !decide(int(random.next() % uint64(size))) {
					b.Error("a limit that is too high to bind has refused")
					return
				}
			}
		})
	}
}

// xorshift is a cheap pseudo-random sequence: which key comes next must not be what is timed.
type xorshift uint64

func sequence(seed uint64) *xorshift {
	x := xorshift(seed * 0x9E3779B97F4A7C15)
	return &x
}

func (x *xorshift) next() uint64 {
	*x ^= *x << 13
	*x ^= *x >> 7
	*x ^= *x << 17
	return uint64(*x)
}
