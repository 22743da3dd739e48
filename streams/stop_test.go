package streams_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/streams"
)

// A server that stops ends its streams with a frame that says so, those that wait for their provider with a 503, and
// begins no other.
func TestAStoppingServerEndsItsStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begins, asked := true, 0
		r := newRig(t, func(ctx context.Context, out *streams.Sink) error {
			asked++
			if begins {
				return silent(ctx, out)
			}
			<-ctx.Done()
			return ctx.Err()
		})
		url, client := r.bubble(t)
		open := post(t, client, url)
		begins = false
		go func() {
			<-time.After(3 * time.Second)
			r.streams.Stop()
		}()
		wantProblem(t, post(t, client, url), http.StatusServiceUnavailable, "server_stopping")
		wantLines(t, open, `data: {"delta":"hello"}`, ``, `data: {"code":"server_stopping","error":"The server is stopping."}`, ``)
		late := post(t, client, url)
		wantProblem(t, late, http.StatusServiceUnavailable, "server_stopping")
		if late.Header.Get("Retry-After") == "" {
			t.Error("nothing says when to come again")
		}
		if asked != 2 {
			t.Errorf("%d sources were asked: a stopping server asks none", asked)
		}
		r.counts.want(t, map[string]int{"chat server_stopping": 3})
	})
}

// A client that takes nothing does not keep a stopping server.
func TestAStalledClientDoesNotKeepAStoppingServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, provider(10, time.Second))
		url, client := r.bubble(t)
		response := post(t, client, url)
		<-time.After(5 * time.Second) // the first delta waits for the client
		began := time.Now()
		r.streams.Stop()
		<-r.ended
		if waited := time.Since(began); waited > 3*time.Second {
			t.Errorf("it took %v", waited)
		}
		r.counts.want(t, map[string]int{"chat server_stopping": 1})
		response.Body.Close()
	})
}

// Whoever ends the request's context with a problem, because the credential has died, ends the stream with it at once.
func TestADeadCredentialEndsItsStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, silent)
		r.context = func(ctx context.Context) context.Context {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(7*time.Second, func() { cancel(problems.New(problems.InvalidToken, "The token was revoked.")) })
			return ctx
		}
		url, client := r.bubble(t)
		began := time.Now()
		read := lines(t, post(t, client, url))
		if !strings.Contains(read[len(read)-2], `"code":"invalid_token"`) || time.Since(began) != 7*time.Second {
			t.Errorf("after %v read %q", time.Since(began), read)
		}
		r.counts.want(t, map[string]int{"chat invalid_token": 1})
	})
}

// The client hears of a failure before a source that is slow to settle has done so, but the request waits for it.
func TestTheRequestWaitsForItsSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		settled := false
		r := newRig(t, func(ctx context.Context, out *streams.Sink) error {
			err := silent(ctx, out)
			<-time.After(15 * time.Second)
			settled = true
			return err
		}, func(o *streams.Options) { o.Clocks.Idle = 5 * time.Second })
		url, client := r.bubble(t)
		response := post(t, client, url)
		began := time.Now()
		text := make([]byte, 4096)
		var read string
		for !strings.Contains(read, "idle_timeout") {
			n, err := response.Body.Read(text)
			if read += string(text[:n]); err != nil {
				t.Fatalf("%v after %q", err, read)
			}
		}
		if waited := time.Since(began); waited != 6*time.Second {
			t.Errorf("the client heard of it after %v", waited)
		}
		if <-r.ended; !settled {
			t.Error("the request has ended before its source")
		}
	})
}
