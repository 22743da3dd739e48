package streams_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/streams"
)

// A stream is its events, one JSON object a frame, and the success of its style; headers keep proxies from holding it.
func TestAStreamIsItsEvents(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		frames streams.Frames
		end    string
	}{
		"API v1": {streams.APIv1, `data: {"end_of_stream":true}`},
		"OpenAI": {streams.OpenAI, `data: [DONE]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(_ context.Context, out *streams.Sink) error {
				out.Start()
				if err := out.Send(delta("one\ntwo\r\n\r\ndata: three")); err != nil {
					return err
				}
				return out.Send(map[string]any{"status": "responding", "message": "…"})
			})
			r.frames = row.frames
			r.wrap = func(w http.ResponseWriter) http.ResponseWriter {
				w.Header().Set("Content-Length", "5") // left by somebody
				return w
			}
			url, client := r.serve(t)
			response := post(t, client, url)
			for header, want := range map[string]string{
				"Content-Type": "text/event-stream", "Cache-Control": "private, no-cache, no-transform", "X-Accel-Buffering": "no",
				"Content-Length": "",
			} {
				if got := response.Header.Get(header); got != want {
					t.Errorf("%s is %q, want %q", header, got, want)
				}
			}
			wantLines(t, response, `data: {"delta":"one\ntwo\r\n\r\ndata: three"}`, ``,
				`data: {"message":"…","status":"responding"}`, ``, row.end, ``)
			r.counts.want(t, map[string]int{})
		})
	}
}

// The 200 goes out with the provider's own, before there is anything to send, and not earlier.
func TestTheStatusWaitsForTheProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(_ context.Context, out *streams.Sink) error {
			if err := out.Send(map[string]any{"context_usage": 3}); err != nil { // what is sent before waits
				return err
			}
			<-time.After(20 * time.Second)
			out.Start()
			<-time.After(10 * time.Second)
			return nil
		})
		url, client := r.bubble(t)
		began := time.Now()
		response := post(t, client, url)
		if waited := time.Since(began); waited != 20*time.Second || response.StatusCode != http.StatusOK {
			t.Errorf("%d after %v", response.StatusCode, waited)
		}
		wantLines(t, response, `data: {"context_usage":3}`, ``, `data: {"end_of_stream":true}`, ``)
	})
}

// A source that ends well without a word of its provider's has answered with nothing.
func TestASourceMayEndWithoutAWord(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(context.Context, *streams.Sink) error { return nil })
	url, client := r.serve(t)
	wantLines(t, post(t, client, url), `data: {"end_of_stream":true}`, ``)
}

// What fails before the provider's success is an HTTP error, whatever was sent meanwhile.
func TestAFailureBeforeTheFirstByteIsAnHTTPError(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ context.Context, out *streams.Sink) error {
		if err := out.Send(delta("too early")); err != nil {
			return err
		}
		return problems.New(problems.BudgetExceeded, "No room.").With("budget", 5)
	})
	url, client := r.serve(t)
	if problem := wantProblem(t, post(t, client, url), http.StatusPaymentRequired, "budget_exceeded"); problem["budget"] != 5.0 {
		t.Errorf("the problem has lost its fields: %v", problem)
	}
	r.counts.want(t, map[string]int{"chat budget_exceeded": 1})
}

// What fails after it is one error frame behind all that came, a clean end, and no success.
func TestAFailureAfterTheFirstByteIsAnErrorFrame(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		frames streams.Frames
		fails  error
		want   string
	}{
		"API v1": {
			streams.APIv1, problems.New(problems.ProviderFailed, "The text service broke off."),
			`data: {"code":"provider_failed","error":"The text service broke off."}`,
		},
		"OpenAI": {
			streams.OpenAI, problems.New(problems.ProviderFailed, "The text service broke off."),
			`data: {"error":{"code":"provider_failed","message":"The text service broke off.","param":null,"type":"server_error"}}`,
		},
		"the budget, as clients of the contract know it": {
			streams.APIv1, problems.New(problems.BudgetExceeded, "No room."),
			`data: {"budget_exceeded":true,"code":"budget_exceeded","error":"No room."}`,
		},
		"what is ours stays with us": {
			streams.APIv1, errors.New("a secret"), `data: {"code":"internal","error":"Internal error."}`,
		},
		"an internal problem too": {
			streams.OpenAI, problems.New(problems.Internal, "a secret"),
			`data: {"error":{"code":"internal","message":"Internal error.","param":null,"type":"server_error"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(_ context.Context, out *streams.Sink) error {
				out.Start()
				for _, text := range []string{"a", "b", "c"} {
					if err := out.Send(delta("%s", text)); err != nil {
						return err
					}
				}
				return row.fails
			})
			r.frames = row.frames
			url, client := r.serve(t)
			wantLines(t, post(t, client, url),
				`data: {"delta":"a"}`, ``, `data: {"delta":"b"}`, ``, `data: {"delta":"c"}`, ``, row.want, ``)
			r.counts.want(t, map[string]int{"chat " + problems.Of(row.fails).Kind.Code(): 1})
		})
	}
}

// A panic of a source is an internal failure of its stream alone; it gives the slot back and is logged with its stack.
func TestAPanicIsAFailureOfItsStream(t *testing.T) {
	t.Parallel()
	began := false
	r := newRig(t, func(_ context.Context, out *streams.Sink) error {
		if began {
			out.Start()
		}
		panic("a secret")
	}, func(o *streams.Options) { o.Places = 1 })
	url, client := r.serve(t)
	wantProblem(t, post(t, client, url), http.StatusInternalServerError, "internal")
	began = true
	wantLines(t, post(t, client, url), `data: {"code":"internal","error":"Internal error."}`, ``)
	r.counts.want(t, map[string]int{"chat internal": 2})
	if !strings.Contains(r.log.String(), "TestAPanicIsAFailureOfItsStream") {
		t.Errorf("the log has no stack: %s", r.log)
	}
}

// A wrapper that panics in the goroutine of the request gives the slot back too, and ends the provider's call.
func TestAPanicOfTheWriterLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	r := newRig(t, silent, func(o *streams.Options) { o.Places = 1 })
	r.wrap = func(w http.ResponseWriter) http.ResponseWriter { return &breaking{w} }
	url, client := r.serve(t)
	for range 3 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if response, err := client.Do(request); err == nil {
			response.Body.Close()
			t.Fatalf("answered %d", response.StatusCode)
		}
	}
	r.counts.want(t, map[string]int{})
}

type breaking struct{ http.ResponseWriter }

func (b *breaking) Write([]byte) (int, error)   { panic(http.ErrAbortHandler) }
func (b *breaking) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// An event that is no JSON, or larger than what may wait for a client, is the source's failure.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]any{"no JSON": func() {}, "too large": delta("%s", strings.Repeat("x", 256<<10))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(_ context.Context, out *streams.Sink) error {
				out.Start()
				return out.Send(event)
			})
			url, client := r.serve(t)
			wantLines(t, post(t, client, url), `data: {"code":"internal","error":"Internal error."}`, ``)
		})
	}
}

// Nothing is streamed without what bounds it: an opener that nobody made, an end of no style, or an answer that is held
// back and cannot be bounded opens nothing, takes no slot and asks no provider.
func TestNothingIsStreamedUnbounded(t *testing.T) {
	t.Parallel()
	asked := func(context.Context, *streams.Sink) error {
		t.Error("the source was asked")
		return nil
	}
	r := newRig(t, asked)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	for name, opener := range map[string]streams.Opener{
		"the zero Opener":              {},
		"an opener of the zero maker":  streams.Openers{}.Of(httptest.NewRecorder(), request, streams.Caller{Frames: streams.APIv1}),
		"an opener of the zero Frames": r.streams.Openers().Of(httptest.NewRecorder(), request, streams.Caller{OrganizationID: 7}),
	} {
		if err := opener.Open(streams.Chatting, asked); err == nil || !strings.Contains(err.Error(), "no opener") {
			t.Errorf("%s opens: %v", name, err)
		}
	}
	held := struct{ http.ResponseWriter }{httptest.NewRecorder()} // as an idempotent row holds an answer
	opener := r.streams.Openers().Of(held, request, streams.Caller{OrganizationID: 7, Frames: streams.APIv1})
	if err := opener.Open(streams.Chatting, asked); !errors.Is(err, http.ErrNotSupported) {
		t.Errorf("an answer that is held back is streamed: %v", err)
	}
	if r.counts.most != 0 {
		t.Error("a slot was taken")
	}
}

// A clock that never lets anything through, or a heartbeat that never rests, is refused when the streams are made.
func TestDurationsMustBePositive(t *testing.T) {
	t.Parallel()
	whole := streams.Options{
		Lease: time.Second, Heartbeat: time.Second,
		Clocks: streams.Clocks{FirstByte: time.Second, Idle: time.Second, Total: time.Second, ClientStall: time.Second},
	}
	if _, err := streams.New(whole); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*streams.Options){
		"lease":              func(o *streams.Options) { o.Lease = 0 },
		"heartbeat":          func(o *streams.Options) { o.Heartbeat = 0 },
		"first byte clock":   func(o *streams.Options) { o.Clocks.FirstByte = 0 },
		"idle clock":         func(o *streams.Options) { o.Clocks.Idle = -1 },
		"total clock":        func(o *streams.Options) { o.Clocks.Total = 0 },
		"client stall clock": func(o *streams.Options) { o.Clocks.ClientStall = 0 },
	} {
		options := whole
		change(&options)
		if _, err := streams.New(options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
