package streams_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/streams"
)

// A provider that never begins is an HTTP error, at the first byte clock and by its name; its call is canceled.
func TestASilentFirstByteIsAnHTTPError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var cause error
		r := newRig(t, func(ctx context.Context, _ *streams.Sink) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return ctx.Err()
		})
		url, client := r.bubble(t)
		began := time.Now()
		wantProblem(t, post(t, client, url), http.StatusGatewayTimeout, "first_byte_timeout")
		if waited := time.Since(began); waited != 60*time.Second {
			t.Errorf("it took %v", waited)
		}
		if !problems.Is(cause, problems.FirstByteTimeout) {
			t.Errorf("the source was told %v", cause)
		}
		r.counts.want(t, map[string]int{"chat first_byte_timeout": 1})
		if !strings.Contains(r.log.String(), `"msg":"stream.aborted"`) || !strings.Contains(r.log.String(), `"reason":"first_byte_timeout"`) {
			t.Errorf("the log says %s", r.log)
		}
	})
}

// A provider that begins and goes silent dies of the idle clock: one error frame, no success, and the call is canceled.
func TestASilentProviderDiesOfTheIdleClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, silent, func(o *streams.Options) { o.Clocks.Idle = 5 * time.Second })
		url, client := r.bubble(t)
		began := time.Now()
		wantLines(t, post(t, client, url), `data: {"delta":"hello"}`, ``,
			`data: {"code":"idle_timeout","error":"The text service was silent for 5 seconds."}`, ``)
		if waited := time.Since(began); waited != 5*time.Second {
			t.Errorf("it took %v", waited)
		}
		r.counts.want(t, map[string]int{"chat idle_timeout": 1})
		if err := <-r.ended; err != nil {
			t.Errorf("the door was told %v: it would break the connection off", err)
		}
	})
}

// Something every four seconds feeds an idle clock of five, and not the total one.
func TestATalkerDiesOfTheTotalClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, provider(30, 4*time.Second), func(o *streams.Options) {
			o.Clocks.Idle, o.Clocks.Total = 5*time.Second, 62*time.Second
		})
		url, client := r.bubble(t)
		began := time.Now()
		read := lines(t, post(t, client, url))
		if want := `data: {"code":"total_timeout","error":"The answer took longer than 62 seconds."}`; read[len(read)-2] != want || len(read) != 32 {
			t.Errorf("read %q, want 15 deltas and then %q", read, want)
		}
		if waited := time.Since(began); waited != 62*time.Second {
			t.Errorf("it took %v", waited)
		}
		r.counts.want(t, map[string]int{"chat total_timeout": 1})
	})
}

// A step that is given what is left of the total and ends by it is the total's end, whatever the step's own error says.
func TestTheLastStepsTimeoutIsTheTotals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, out *streams.Sink) error {
			out.Start()
			deadline, _ := ctx.Deadline()
			if left := time.Until(deadline); left != 20*time.Second {
				t.Errorf("the source is given %v", left)
			}
			step, cancel := context.WithTimeout(context.Background(), time.Until(deadline))
			defer cancel()
			<-step.Done()
			return problems.New(problems.ProviderTimeout, "The step took too long.").Because(step.Err())
		}, func(o *streams.Options) { o.Clocks.Total = 20 * time.Second })
		url, client := r.bubble(t)
		read := lines(t, post(t, client, url))
		if want := `data: {"code":"total_timeout"`; !strings.HasPrefix(read[len(read)-2], want) {
			t.Errorf("read %q, want %s at its end", read, want)
		}
	})
}

// Before the first byte the total clock ends a stream too, by its own name.
func TestTheTotalClockRunsBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, _ *streams.Sink) error {
			<-ctx.Done()
			return ctx.Err()
		}, func(o *streams.Options) { o.Clocks.Total = 10 * time.Second })
		url, client := r.bubble(t)
		wantProblem(t, post(t, client, url), http.StatusGatewayTimeout, "total_timeout")
	})
}

// Heartbeats are one comment line each, without an empty line after it, and change nothing of what is read. A silence of
// 40 seconds has two.
func TestHeartbeatsBridgeASilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, provider(2, 40*time.Second))
		url, client := r.bubble(t)
		wantLines(t, post(t, client, url),
			`: heartbeat`, `: heartbeat`, `data: {"delta":"0"}`, ``,
			`: heartbeat`, `: heartbeat`, `data: {"delta":"1"}`, ``,
			`data: {"end_of_stream":true}`, ``)
		r.counts.want(t, map[string]int{})
	})
}

// Heartbeats do not feed the idle clock: they are ours, and say nothing of the provider.
func TestHeartbeatsDoNotFeedTheIdleClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, silent)
		url, client := r.bubble(t)
		began := time.Now()
		read := lines(t, post(t, client, url))
		beats := slices.DeleteFunc(slices.Clone(read), func(line string) bool { return line != ": heartbeat" })
		if len(beats) != 3 || !strings.Contains(read[len(read)-2], "idle_timeout") || time.Since(began) != 60*time.Second {
			t.Errorf("after %v read %q", time.Since(began), read)
		}
	})
}

// What the provider says and no client is told feeds the idle clock.
func TestWhatIsHeardFeedsTheIdleClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(_ context.Context, out *streams.Sink) error {
			out.Start()
			for range 5 {
				<-time.After(4 * time.Second)
				out.Heard()
			}
			return out.Send(delta("done"))
		}, func(o *streams.Options) { o.Clocks.Idle, o.Heartbeat = 5*time.Second, time.Minute })
		url, client := r.bubble(t)
		wantLines(t, post(t, client, url), `data: {"delta":"done"}`, ``, `data: {"end_of_stream":true}`, ``)
	})
}

// What a source waits for a client that is slow is not the provider's silence: its clock begins when it can be read again.
func TestTheIdleClockBeginsWhenTheProviderIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const things = 34 // one is being written, 32 wait, and the source waits with the last
		r := newRig(t, func(_ context.Context, out *streams.Sink) error {
			out.Start()
			for i := range things {
				if err := out.Send(delta("%d", i)); err != nil {
					return err
				}
			}
			<-time.After(4 * time.Second)
			return out.Send(delta("last"))
		}, func(o *streams.Options) { o.Clocks.Idle, o.Heartbeat = 5*time.Second, time.Minute })
		url, client := r.bubble(t)
		response := post(t, client, url)
		<-time.After(20 * time.Second)
		if read := lines(t, response); len(read) != 2*things+4 || !strings.Contains(read[len(read)-2], "end_of_stream") {
			t.Errorf("read %q", read)
		}
	})
}

// A client that takes nothing has a clock of its own. It is told nothing, and the connection is broken off.
func TestAClientThatTakesNothingStalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, provider(10, time.Second))
		url, client := r.bubble(t)
		response := post(t, client, url)
		began := time.Now() // the first delta is out a second after it, and nobody reads
		if err := <-r.ended; err == nil || errors.As(err, new(*problems.Error)) {
			t.Errorf("the door was told %v: it must break the connection off", err)
		}
		if waited := time.Since(began); waited < 30*time.Second || waited > 32*time.Second {
			t.Errorf("it took %v", waited)
		}
		r.counts.want(t, map[string]int{"chat client_stall_timeout": 1})
		response.Body.Close()
	})
}

// A client that reads slower than the provider writes is waited for, and the provider's clock does not run meanwhile.
func TestASlowClientIsNotAnIdleProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const things = 40 // more than wait in the channel
		r := newRig(t, provider(things, 0), func(o *streams.Options) { o.Clocks.Idle, o.Heartbeat = 5*time.Second, time.Minute })
		url, client := r.bubble(t)
		response := post(t, client, url)
		var text strings.Builder
		some := make([]byte, 16)
		for {
			n, err := response.Body.Read(some)
			text.Write(some[:n])
			if err != nil {
				break
			}
			<-time.After(3 * time.Second)
		}
		if deltas := strings.Count(text.String(), "delta"); deltas != things || !strings.HasSuffix(text.String(), "{\"end_of_stream\":true}\n\n") {
			t.Errorf("read %d deltas: …%s", deltas, text.String()[max(0, text.Len()-120):])
		}
		r.counts.want(t, map[string]int{})
	})
}
