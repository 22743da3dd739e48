package resting_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stenometer/stenometer/resting"
)

// Rule: what a watch does is done from its Start to its Stop, once however often it is started, and whatever becomes of the
// context of who started it; it can be started again.
func TestAWatchIsKeptFromStartToStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		starting, over := context.WithCancel(t.Context())
		var watch resting.Watch
		var times atomic.Int64
		do := func(context.Context) time.Duration {
			times.Add(1)
			return time.Second
		}
		watch.Stop()
		watch.Start(starting, time.Second, do)
		watch.Start(starting, time.Second, do)
		over()
		<-time.After(3*time.Second + time.Second/2)
		if times := times.Load(); times != 3 {
			t.Errorf("done %d times in three seconds and a half, want 3", times)
		}
		watch.Stop()
		watch.Stop()
		<-time.After(time.Minute)
		if times := times.Load(); times != 3 {
			t.Errorf("done %d times, the last after Stop", times)
		}
		watch.Start(t.Context(), time.Second, do)
		<-time.After(time.Second + time.Second/2)
		if times := times.Load(); times != 4 {
			t.Errorf("done %d times, want 4 once it was started again", times)
		}
		watch.Stop()
	})
}

// Rule: Stop tells what is being done that it is to end, and waits for it.
func TestStopWaitsForWhatIsBeingDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var watch resting.Watch
		var ended atomic.Bool
		watch.Start(t.Context(), time.Second, func(ctx context.Context) time.Duration {
			<-ctx.Done()
			<-time.After(time.Minute)
			ended.Store(true)
			return time.Second
		})
		<-time.After(2 * time.Second)
		watch.Stop()
		if !ended.Load() {
			t.Error("Stop returned before what was being done had ended")
		}
	})
}
