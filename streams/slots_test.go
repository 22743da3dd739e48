package streams_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/streams"
)

// With all slots held the next stream is refused with a short hint, before its provider is asked; when one has ended its
// place is free by the time that its client reads the last frame.
func TestSlotsBoundTheStreamsOfAnOrganization(t *testing.T) {
	t.Parallel()
	waiting := make(chan chan struct{}, 1) // what ends the stream that began last
	r := newRig(t, func(ctx context.Context, out *streams.Sink) error {
		end := make(chan struct{})
		waiting <- end
		out.Start()
		select {
		case <-end:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	url, client := r.serve(t)
	type open struct {
		response *http.Response
		end      chan struct{}
	}
	begin := func() open { return open{post(t, client, url), <-waiting} }
	held := []open{begin(), begin(), begin()}
	for range 5 {
		refused := post(t, client, url)
		if hint := refused.Header.Get("Retry-After"); hint != "2" {
			t.Errorf("Retry-After is %q", hint)
		}
		problem := wantProblem(t, refused, http.StatusTooManyRequests, "stream_limit_reached")
		limit, _ := problem["limit"].(map[string]any)
		if problem["retry_after"] != 2.0 || limit["limit"] != 3.0 || limit["scope"] != "organization" || limit["name"] != "organization_streams" {
			t.Errorf("refused with %v", problem)
		}
	}
	for i := range 60 {
		ending := &held[i%len(held)]
		close(ending.end)
		wantLines(t, ending.response, `data: {"end_of_stream":true}`, ``)
		if *ending = begin(); ending.response.StatusCode != http.StatusOK {
			t.Fatalf("the slot of a stream that has ended is not free: %d", ending.response.StatusCode)
		}
	}
	for _, ending := range held {
		close(ending.end)
		wantLines(t, ending.response, `data: {"end_of_stream":true}`, ``)
	}
	r.counts.want(t, map[string]int{"chat stream_limit_reached": 5})
	if r.counts.most != 3 {
		t.Errorf("%d were open at once", r.counts.most)
	}
}

// A server that opens no streams says so, and does not ask for patience.
func TestNoPlacesAreNoStreams(t *testing.T) {
	t.Parallel()
	r := newRig(t, silent, func(o *streams.Options) { o.Places = 0 })
	url, client := r.serve(t)
	refused := post(t, client, url)
	wantProblem(t, refused, http.StatusTooManyRequests, "stream_limit_reached")
	if hint := refused.Header.Get("Retry-After"); hint != "" {
		t.Errorf("Retry-After is %q: waiting does not help", hint)
	}
}

// A lease that is shorter than its stream is renewed: with two slots of 30 seconds and two streams of 75 a third is
// refused at 20, 45 and 70 seconds, and let in when they have ended.
func TestALeaseIsRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, provider(15, 5*time.Second), func(o *streams.Options) { o.Places = 2 })
		url, client := r.bubble(t)
		began := time.Now()
		ended := make(chan []string, 2)
		for range 2 {
			response := post(t, client, url)
			go func() { ended <- lines(t, response) }()
		}
		for _, at := range []int{20, 45, 70} {
			<-time.After(time.Until(began.Add(time.Duration(at) * time.Second)))
			wantProblem(t, post(t, client, url), http.StatusTooManyRequests, "stream_limit_reached")
		}
		for range 2 {
			if read := <-ended; read[len(read)-2] != `data: {"end_of_stream":true}` {
				t.Errorf("read %q", read)
			}
		}
		if third := post(t, client, url); third.StatusCode != http.StatusOK || len(lines(t, third)) != 32 {
			t.Errorf("the third stream is answered %d", third.StatusCode)
		}
	})
}

// storage is one that can be away, or forget.
type storage struct {
	streams.Slots

	away, forgets atomic.Bool
	// slow is how long it takes to take and to give back.
	slow time.Duration
}

var errAway = errors.New("the storage is away")

func (s *storage) Acquire(ctx context.Context, key string, places int, life time.Duration) (string, bool, error) {
	if s.away.Load() {
		return "", false, problems.New(problems.LimitsUnavailable, "The storage of the limits did not answer.").Because(errAway)
	}
	id, ok, err := s.Slots.Acquire(ctx, key, places, life)
	if <-time.After(s.slow); ctx.Err() != nil {
		return "", false, ctx.Err() // nobody hears that the place is taken
	}
	return id, ok, err
}

func (s *storage) Renew(ctx context.Context, key, id string, life time.Duration) (bool, error) {
	if s.forgets.Load() {
		return false, nil
	}
	if s.away.Load() {
		<-ctx.Done() // it does not even refuse
		return false, errAway
	}
	return s.Slots.Renew(ctx, key, id, life)
}

func (s *storage) Release(ctx context.Context, key, id string) error {
	if s.away.Load() {
		<-ctx.Done()
		return errAway
	}
	<-time.After(s.slow)
	return s.Slots.Release(ctx, key, id)
}

func newStoredRig(t *testing.T, source streams.Source) (*rig, *storage) {
	t.Helper()
	stored := &storage{}
	r := newRig(t, source, func(o *streams.Options) {
		stored.Slots = o.Slots
		o.Slots = stored
	})
	return r, stored
}

// The last frame is written when the slot is free, not before: who reads it may open the next stream.
func TestTheSlotIsFreeBeforeTheLastFrame(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]streams.Source{
		"success": provider(1, 0),
		"failure": func(_ context.Context, out *streams.Sink) error {
			out.Start()
			return errAway
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, stored := newStoredRig(t, source)
			stored.slow = 700 * time.Millisecond
			url, client := r.bubble(t)
			response := post(t, client, url)
			began := time.Now()
			for read, some := "", make([]byte, 4096); !strings.Contains(read, "end_of_stream") && !strings.Contains(read, "internal"); {
				n, err := response.Body.Read(some)
				if read += string(some[:n]); err != nil {
					t.Fatal(err)
				}
			}
			if waited := time.Since(began); waited != stored.slow {
				t.Errorf("%s: the last frame came after %v", name, waited)
			}
		})
	}
}

// A client that leaves while its slot is taken leaves no slot that nobody holds.
func TestALeavingClientLeavesNoSlotBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, stored := newStoredRig(t, provider(1, 0))
		stored.slow = time.Second
		url, client := r.bubble(t)
		for range 3 {
			ctx, leave := context.WithTimeout(t.Context(), 500*time.Millisecond)
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if response, err := client.Do(request); err == nil {
				response.Body.Close()
				t.Fatalf("answered %d", response.StatusCode)
			}
			leave()
			<-r.ended
		}
		if next := post(t, client, url); next.StatusCode != http.StatusOK || len(lines(t, next)) != 4 {
			t.Errorf("answered %d", next.StatusCode)
		}
	})
}

// A slot that the storage has given to another ends its stream: two must not go on in one place.
func TestALostSlotEndsTheStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, stored := newStoredRig(t, silent)
		stored.forgets.Store(true)
		url, client := r.bubble(t)
		began := time.Now()
		wantLines(t, post(t, client, url), `data: {"delta":"hello"}`, ``,
			`data: {"code":"stream_slot_lost","error":"The stream's slot could not be kept; the answer was given up."}`, ``)
		if waited := time.Since(began); waited != 10*time.Second {
			t.Errorf("it took %v: the first renewal is at a third of the lease", waited)
		}
		r.counts.want(t, map[string]int{"chat stream_slot_lost": 1})
	})
}

// While the storage is away a stream goes on for as long as its lease is believed in, and no longer.
func TestAStreamOutlivesAShortOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, stored := newStoredRig(t, provider(45, 2*time.Second))
		url, client := r.bubble(t)
		response := post(t, client, url)
		go func() {
			<-time.After(32 * time.Second) // the third renewal was two seconds ago
			stored.away.Store(true)
			<-time.After(25 * time.Second)
			stored.away.Store(false)
		}()
		if read := lines(t, response); read[len(read)-2] != `data: {"end_of_stream":true}` {
			t.Errorf("read %q", read)
		}

		response = post(t, client, url)
		began := time.Now()
		stored.away.Store(true)
		read := lines(t, response)
		if !strings.Contains(read[len(read)-2], `"code":"stream_slot_lost"`) {
			t.Errorf("read %q", read)
		}
		if waited := time.Since(began); waited < 30*time.Second || waited > 45*time.Second {
			t.Errorf("it took %v", waited)
		}
		wantProblem(t, post(t, client, url), http.StatusServiceUnavailable, "limits_unavailable")
		r.counts.want(t, map[string]int{"chat stream_slot_lost": 1, "chat limits_unavailable": 1})
	})
}
