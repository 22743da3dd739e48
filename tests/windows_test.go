package tests

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/servertest"
)

// sent is one request: its answer came between two readings of the clock, and so was it decided.
type sent struct {
	from, to time.Time
	admitted bool
	answer   servertest.Answer
}

func read(t *testing.T, client *servertest.Client) sent {
	t.Helper()
	s := sent{from: time.Now()}
	s.answer = client.Get("/api/v1/recordings")
	s.to, s.admitted = time.Now(), s.answer.Status == http.StatusOK
	if !s.admitted && s.answer.Status != http.StatusTooManyRequests {
		t.Fatalf("got %v, want 200 or 429", s.answer)
	}
	return s
}

// expectNeverMore finds figure+1 admitted requests within less than a window, wherever that begins. Of the requests
// only the span is known in which each was decided, so that what is found is beyond doubt.
func expectNeverMore(t *testing.T, about string, log []sent, figure int, window time.Duration) {
	t.Helper()
	var admitted []sent
	for _, s := range log {
		if s.admitted {
			admitted = append(admitted, s)
		}
	}
	for i := figure; i < len(admitted); i++ {
		if apart := admitted[i].to.Sub(admitted[i-figure].from); apart < window {
			t.Errorf("%s: %d requests were admitted within %v; the limit is %d in %v", about, figure+1, apart, figure, window)
		}
	}
}

// windowed is an account on a server in this process, with so many tokens whose read limit alone binds.
func windowed(t *testing.T, limit string, tokens int) []*servertest.Client {
	t.Helper()
	environment := servertest.Fresh(t).With(servertest.Environment{
		"API_TOKEN_RATE_LIMIT_READ": limit, "API_USER_RATE_LIMIT_READ": "0",
		"API_MAX_TOKENS_PER_USER": "0", "API_TOKEN_CREATE_RATE_LIMIT": "0",
	})
	server := inProcess(t, environment, time.Now)
	return accountOn(t, environment, []*servertest.Client{server}, "ada@example.org", tokens)
}

// Rule: a refused request changes nothing. A client that asks ten times in the time of a window of two seconds is let
// in as often as one that waits as told (H-023).
func TestAClientThatHammersIsLetInAsOftenAsOneThatWaits(t *testing.T) {
	t.Parallel()
	const figure, window, rounds = 5, 2 * time.Second, 4
	clients := windowed(t, "5 per 2 seconds", 2)
	var hammered, waited []sent
	var both sync.WaitGroup
	end := time.Now().Add(rounds*window - window/4)
	both.Go(func() {
		for time.Now().Before(end) {
			hammered = append(hammered, read(t, clients[0]))
			<-time.After(50 * time.Millisecond)
		}
	})
	both.Go(func() {
		for time.Now().Before(end) {
			s := read(t, clients[1])
			waited = append(waited, s)
			if s.admitted {
				<-time.After(50 * time.Millisecond)
				continue
			}
			seconds, err := strconv.Atoi(s.answer.Header.Get("Retry-After"))
			if err != nil {
				t.Errorf("Retry-After: %v", err)
				return
			}
			<-time.After(time.Duration(seconds) * time.Second)
		}
	})
	both.Wait()
	expectNeverMore(t, "hammering", hammered, figure, window)
	expectNeverMore(t, "waiting", waited, figure, window)
	if a, b := admittedOf(hammered), admittedOf(waited); a < b || a != figure*rounds {
		t.Errorf("in %d windows the client that hammers was let in %d times, the one that waits %d times; the limit is %d", rounds, a, b, figure)
	}
}

func admittedOf(log []sent) int {
	admitted := 0
	for _, s := range log {
		if s.admitted {
			admitted++
		}
	}
	return admitted
}

// Rule: a sliding window. Ten requests just before a boundary of the wall clock's windows and ten just after it: never
// more than ten in two seconds, at twenty offsets (H-024).
func TestNoBoundaryLetsTwiceTheLimitThrough(t *testing.T) {
	t.Parallel()
	const figure, window, offsets = 10, 2 * time.Second, 20
	var all sync.WaitGroup
	for i, client := range windowed(t, "10 per 2 seconds", offsets) {
		all.Go(func() {
			// The wall clock's window, and so much of it.
			<-time.After(time.Until(time.Now().Truncate(window).Add(window + time.Duration(i)*window/offsets)))
			var log []sent
			for range 2 {
				for range figure {
					log = append(log, read(t, client))
				}
				<-time.After(window / 20)
			}
			expectNeverMore(t, fmt.Sprintf("offset %d", i), log, figure, window)
			if got := admittedOf(log); got < figure {
				t.Errorf("offset %d: %d of 20 were admitted", i, got)
			}
		})
	}
	all.Wait()
}

// Rule: Retry-After is a promise. Fifty rounds at random offsets, with one to four exhausted limits: whole seconds, at
// least 1, waiting exactly that long succeeds, and it is at most a second and the resolution later than need be (H-025).
func TestRetryAfterIsAPromise(t *testing.T) {
	t.Parallel()
	// The same burst uses up all of them.
	plans := []string{
		"4 per 3 seconds", "4 per second;4 per 3 seconds", "4 per second;4 per 3 seconds;4 per 2 seconds",
		"4 per 2 seconds;4 per second;4 per 4 seconds;4 per 3 seconds",
	}
	for i, limit := range plans {
		t.Run(fmt.Sprintf("%d limits", i+1), func(t *testing.T) {
			t.Parallel()
			var rounds sync.WaitGroup
			for round, client := range windowed(t, limit, 13) {
				rounds.Go(func() {
					<-time.After(time.Duration(round*173%1000) * time.Millisecond)
					keepsItsWord(t, client)
				})
			}
			rounds.Wait()
		})
	}
}

// keepsItsWord uses a token until it is refused, waits exactly as told, and wants to be let in.
func keepsItsWord(t *testing.T, client *servertest.Client) {
	t.Helper()
	log := []sent{read(t, client)}
	for log[len(log)-1].admitted {
		log = append(log, read(t, client))
	}
	first, refused := log[0], log[len(log)-1]
	seconds, err := strconv.Atoi(refused.answer.Header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		t.Errorf("Retry-After is %q", refused.answer.Header.Get("Retry-After"))
		return
	}
	limit, _ := refused.answer.JSON(t)["limit"].(map[string]any)
	window, _ := limit["window_seconds"].(float64)
	length := time.Duration(window) * time.Second
	// The named limit has room again when the first request of the burst has left it.
	if opens := first.from.Add(length); refused.to.Add(time.Duration(seconds) * time.Second).Before(opens) {
		t.Errorf("told to wait %d s, and the window of %v opens later", seconds, length)
	}
	latest := first.to.Add(length + time.Second + length/127 + 2*time.Millisecond)
	if told := refused.from.Add(time.Duration(seconds) * time.Second); told.After(latest) {
		t.Errorf("told to wait %d s in a window of %v, %v later than its resolution allows", seconds, length, told.Sub(latest))
	}
	<-time.After(time.Duration(seconds) * time.Second)
	if again := read(t, client); !again.admitted {
		t.Errorf("after waiting %d s as told: %v", seconds, again.answer)
	}
}
