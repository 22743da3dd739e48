package limits_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ulule/limiter/v3"
	ululememory "github.com/ulule/limiter/v3/drivers/store/memory"

	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/limits/limitstest"
	"github.com/stenometer/stenometer/tests/testservices"
)

// ululeStores are our stores as that library sees them.
func ululeStores(t *testing.T) map[string]limiter.Store {
	return map[string]limiter.Store{
		"memory": limits.Ulule(limits.NewMemory(time.Now), "test"),
		"redis":  limits.Ulule(openRedis(t, testservices.Redis(t)), "test"),
	}
}

// expectContext compares what a call told. Reset lies between now and the end of the window, rounded up.
func expectContext(t *testing.T, what string, got limiter.Context, err error, rate limiter.Rate, remaining int64, reached bool) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if got.Limit != rate.Limit || got.Remaining != remaining || got.Reached != reached {
		t.Errorf("%s: %+v, want %d remaining, reached %v", what, got, remaining, reached)
	}
	if in := got.Reset - time.Now().Unix(); in < -1 || in > int64(rate.Period/time.Second)+2 {
		t.Errorf("%s: reset in %d seconds", what, in)
	}
}

// What that library's users rely on: Get counts, Peek does not, Reset gives everything back, Increment counts several.
func TestUluleCountsPeeksAndResets(t *testing.T) {
	t.Parallel()
	for name, store := range ululeStores(t) {
		t.Run(name, func(t *testing.T) {
			ctx, rate := t.Context(), limiter.Rate{Limit: 3, Period: time.Minute}
			l := limiter.New(store, rate)
			for remaining := int64(3); remaining > 0; remaining-- {
				c, err := l.Peek(ctx, "a")
				expectContext(t, "peek", c, err, rate, remaining, false)
				c, err = l.Get(ctx, "a")
				expectContext(t, "get", c, err, rate, remaining-1, false)
			}
			for range 3 {
				c, err := l.Get(ctx, "a")
				expectContext(t, "get of what is used up", c, err, rate, 0, true)
			}
			c, err := l.Get(ctx, "b")
			expectContext(t, "get of another key", c, err, rate, 2, false)
			for range 2 {
				c, err = l.Reset(ctx, "a")
				expectContext(t, "reset", c, err, rate, 3, false)
			}
			c, err = l.Increment(ctx, "a", 2)
			expectContext(t, "increment by 2", c, err, rate, 1, false)
			c, err = l.Increment(ctx, "a", 0)
			expectContext(t, "increment by 0", c, err, rate, 1, false)
			c, err = l.Peek(ctx, "b")
			expectContext(t, "peek at the other key", c, err, rate, 2, false)
			if _, err := l.Increment(ctx, "a", -1); err == nil {
				t.Error("counting backwards is no error")
			}
		})
	}
}

func TestUluleIsExactUnderRacingCallers(t *testing.T) {
	t.Parallel()
	for name, store := range ululeStores(t) {
		t.Run(name, func(t *testing.T) {
			l := limiter.New(store, limiter.Rate{Limit: 500, Period: time.Hour})
			var admitted atomic.Int64
			var group sync.WaitGroup
			for range 40 {
				group.Go(func() {
					for range 25 {
						c, err := l.Get(t.Context(), "a")
						if err != nil {
							t.Error(err)
						}
						if !c.Reached {
							admitted.Add(1)
						}
					}
				})
			}
			group.Wait()
			if n := admitted.Load(); n != 500 {
				t.Errorf("%d of 1000 were admitted; the figure is 500", n)
			}
		})
	}
}

func TestUluleKeepsPrefixesApart(t *testing.T) {
	t.Parallel()
	m, rate := limits.NewMemory(time.Now), limiter.Rate{Limit: 1, Period: time.Minute}
	for _, prefix := range []string{"", "a", "b"} {
		c, err := limiter.New(limits.Ulule(m, prefix), rate).Get(t.Context(), "key")
		expectContext(t, "first of prefix "+prefix, c, err, rate, 0, false)
	}
}

// Where ours differs from that library's own store, which is given the same calls.

func TestUluleDiffersARefusalIsNotCounted(t *testing.T) {
	t.Parallel()
	rate := limiter.Rate{Limit: 3, Period: time.Minute}
	ours := limiter.New(limits.Ulule(limits.NewMemory(time.Now), "test"), rate)
	theirs := limiter.New(ululememory.NewStore(), rate)
	for _, l := range []*limiter.Limiter{ours, theirs} {
		if _, err := l.Increment(t.Context(), "a", 2); err != nil {
			t.Fatal(err)
		}
	}
	c, err := theirs.Increment(t.Context(), "a", 2)
	expectContext(t, "theirs counts what it refuses", c, err, rate, 0, true)
	c, err = theirs.Get(t.Context(), "a")
	expectContext(t, "so that nothing is left of theirs", c, err, rate, 0, true)
	c, err = theirs.Peek(t.Context(), "a")
	expectContext(t, "and a peek shows it", c, err, rate, 0, true)

	c, err = ours.Increment(t.Context(), "a", 2)
	expectContext(t, "ours counts all or nothing", c, err, rate, 1, true)
	c, err = ours.Get(t.Context(), "a")
	expectContext(t, "so that one is left", c, err, rate, 0, false)
	c, err = ours.Peek(t.Context(), "a")
	expectContext(t, "and a peek refuses nothing", c, err, rate, 0, false)
}

func TestUluleDiffersWindowsSlide(t *testing.T) {
	t.Parallel()
	clock := limitstest.NewClock()
	l := limiter.New(limits.Ulule(limits.NewMemory(clock.Now), "test"), limiter.Rate{Limit: 2, Period: time.Minute})
	get := func() limiter.Context {
		c, err := l.Get(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	get()
	clock.Move(50 * time.Second)
	get()
	clock.Move(11 * time.Second)
	if c := get(); c.Reached || c.Remaining != 0 {
		t.Errorf("61 seconds after the first: %+v; one unit is free, two in a fixed window", c)
	}
	c := get()
	if in := c.Reset - clock.Now().Unix(); !c.Reached || in < 49 || in > 51 {
		t.Errorf("the next is free 60 seconds after the second, in 49: %+v, in %d", c, in)
	}
}

func TestUluleDiffersPeriodsAreCountedApart(t *testing.T) {
	t.Parallel()
	minute, hour := limiter.Rate{Limit: 1, Period: time.Minute}, limiter.Rate{Limit: 1, Period: time.Hour}
	ours := limits.Ulule(limits.NewMemory(time.Now), "test")
	for _, rate := range []limiter.Rate{minute, hour} {
		c, err := ours.Get(t.Context(), "a", rate)
		expectContext(t, "first of "+rate.Period.String(), c, err, rate, 0, false)
	}
	c, err := ours.Reset(t.Context(), "a", minute)
	expectContext(t, "reset of the minute", c, err, minute, 1, false)
	c, err = ours.Get(t.Context(), "a", hour)
	expectContext(t, "second of the hour", c, err, hour, 0, true)
}
