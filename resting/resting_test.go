package resting_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stenometer/stenometer/resting"
)

// stacks are those of all goroutines.
func stacks() string {
	room := make([]byte, 1<<20)
	return string(room[:runtime.Stack(room, true)])
}

// What is done again and again is done after each wait that it names, and has no goroutine meanwhile.
//
//nolint:paralleltest // it looks at all goroutines, others' that are doing something too
func TestAgainHasNoGoroutineMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		r := resting.Again(t.Context(), time.Second, func(context.Context) time.Duration {
			at = append(at, time.Since(began))
			return time.Duration(len(at)) * time.Minute
		})
		<-time.After(4 * time.Minute)
		synctest.Wait()
		if len(at) != 3 || at[0] != time.Second || at[1] != time.Second+time.Minute || at[2] != time.Second+3*time.Minute {
			t.Errorf("done at %v", at)
		}
		if all := stacks(); strings.Contains(all, "resting.(*Recurrent)") || strings.Contains(all, "created by github.com/stenometer/stenometer/resting.Again") {
			t.Errorf("somebody waits in a goroutine:\n%s", all)
		}
		r.End()
		<-time.After(time.Hour)
		if len(at) != 3 {
			t.Errorf("done %d times, the last after the end", len(at))
		}
	})
}

// The end waits for what is being done, of which a context that is over is told; nothing begins any more.
func TestTheEndWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var doing atomic.Bool
		times := 0
		r := resting.Again(ctx, time.Second, func(ctx context.Context) time.Duration {
			doing.Store(true)
			times++
			<-ctx.Done()
			<-time.After(time.Minute) // some ends take their time
			doing.Store(false)
			return time.Nanosecond
		})
		<-time.After(2 * time.Second)
		if !doing.Load() {
			t.Fatal("not done after its first wait")
		}
		cancel()
		r.End()
		if doing.Load() {
			t.Error("ended while it was being done")
		}
		r.End() // twice is once
		<-time.After(time.Hour)
		if times != 1 {
			t.Errorf("done %d times", times)
		}
	})
}

// Nothing is done when the context is over, nor after a wait that is not positive.
func TestAgainEndsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		over, once := 0, 0
		first := resting.Again(ctx, time.Second, func(context.Context) time.Duration { over++; return time.Second })
		second := resting.Again(t.Context(), time.Second, func(context.Context) time.Duration { once++; return 0 })
		cancel()
		<-time.After(time.Hour)
		first.End()
		second.End()
		if over != 0 || once != 1 {
			t.Errorf("done %d times after the context was over, and %d times where it is done once", over, once)
		}
	})
}

// What is done apart is over when Apart returns, a panic in it is the caller's, and a goroutine that ends itself is no
// wait for ever.
func TestApart(t *testing.T) {
	t.Parallel()
	done := false
	resting.Apart(func() { done = true })
	if !done {
		t.Error("not waited for")
	}
	resting.Apart(runtime.Goexit)
	defer func() {
		fault, _ := recover().(error)
		if fault == nil || !strings.Contains(fault.Error(), "broken\n") || !strings.Contains(fault.Error(), "resting_test.go") {
			t.Errorf("panicked with %v, want its cause and where it was", fault)
		}
	}()
	resting.Apart(func() { panic("broken") })
}
