package routes_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/idempotency"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// costly is a house with one costly row, whose handler counts its runs and ends as the body says.
type costly struct {
	*house

	token change
	runs  atomic.Int64
	// enter is told that the handler runs and goes on when it returns.
	enter func()
}

func openCostly(t *testing.T) *costly {
	t.Helper()
	db := modelstest.SQLite(t)
	for _, name := range []string{"a", "b"} {
		modelstest.Account(t, db, "o", name, "editor")
	}
	h := &costly{enter: func() {}}
	row := plan{declare: func(t *routes.Table, _ *house) {
		t.Paid("POST", "/api/v1/recordings/:recording/transcribe", auth.Process, budgets.Transcription, h.handle, said)
	}}
	row.keys = idempotency.New(db, idempotency.Options{Life: time.Hour, Hold: time.Minute, Now: time.Now})
	h.house = open(t, row)
	h.token = bearer(h.house.token(1, "process"))
	return h
}

func (h *costly) handle(c echo.Context, _ auth.Principal, _ budgets.Purse) error {
	run := h.runs.Add(1)
	h.enter()
	sent, err := io.ReadAll(c.Request().Body)
	if err != nil {
		return err
	}
	switch string(sent) {
	case `{"end":"refused"}`:
		return problems.New(problems.InvalidState, "Refused in run %d.", run).With("field", "end")
	case `{"end":"busy"}`:
		return problems.New(problems.UserRateLimited, "Busy in run %d.", run).After(time.Second)
	case `{"end":"broken"}`:
		return fmt.Errorf("run %d broke", run)
	case `{"end":"panic"}`:
		panic("it is tested")
	}
	return c.JSON(http.StatusAccepted, map[string]int64{"run": run})
}

func (h *costly) ask(key, sent string, more ...change) answer {
	h.t.Helper()
	return h.call("POST", "/api/v1/recordings/7/transcribe", append([]change{h.token, body(sent), header("Idempotency-Key", key)}, more...)...)
}

// The same key with the same request is worked once and gets the same answer, be it a success or a refusal.
func TestARequestWithAKeyIsWorkedOnce(t *testing.T) {
	t.Parallel()
	for sent, status := range map[string]int{`{}`: 202, `{"end":"refused"}`: 400} {
		h := openCostly(t)
		first, again := h.ask("k", sent), h.ask(" k ", sent)
		h.want(first, status, "")
		h.want(again, status, "")
		if again.text != first.text || again.Header.Get("Content-Type") != first.Header.Get("Content-Type") || h.runs.Load() != 1 {
			t.Errorf("%d runs; first %q, again %q", h.runs.Load(), first.text, again.text)
		}
		if first.Header.Get("Idempotent-Replayed") != "" || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("replayed: %q and %q", first.Header.Get("Idempotent-Replayed"), again.Header.Get("Idempotent-Replayed"))
		}
		if again.Header.Get("X-RateLimit-Remaining") == first.Header.Get("X-RateLimit-Remaining") {
			t.Error("the replay was not charged to the limits")
		}
	}
}

// What another attempt may better is not kept: an overload, a failure, a broken handler.
func TestFailuresAreNotKept(t *testing.T) {
	t.Parallel()
	for sent, status := range map[string]int{`{"end":"busy"}`: 429, `{"end":"broken"}`: 500, `{"end":"panic"}`: 500} {
		h := openCostly(t)
		h.want(h.ask("k", sent), status, "")
		h.want(h.ask("k", sent), status, "")
		if h.runs.Load() != 2 {
			t.Errorf("%s: %d runs, want 2", sent, h.runs.Load())
		}
	}
}

// A key is for one request: another body, query or path under it is 422. Without a key, and for another account,
// everything is worked.
func TestAKeyIsForOneRequest(t *testing.T) {
	t.Parallel()
	h := openCostly(t)
	h.want(h.ask("k", `{}`), 202, "")
	h.want(h.ask("k", `{ }`), 422, "idempotency_key_reused")
	query := func(r *http.Request) { r.URL.RawQuery = "x=1" }
	path := func(r *http.Request) { r.URL.Path = "/api/v1/recordings/8/transcribe" }
	h.want(h.ask("k", `{}`, query), 422, "idempotency_key_reused")
	h.want(h.ask("k", `{}`, path), 422, "idempotency_key_reused")
	h.want(h.ask("", `{}`), 202, "")
	other := bearer(h.house.token(2, "process"))
	h.want(h.call("POST", "/api/v1/recordings/7/transcribe", other, body(`{}`), header("Idempotency-Key", "k")), 202, "")
	if h.runs.Load() != 3 {
		t.Errorf("%d runs, want 3", h.runs.Load())
	}
}

func TestAKeyHasBounds(t *testing.T) {
	t.Parallel()
	h := openCostly(t)
	h.want(h.ask(strings.Repeat("é", 100), `{}`), 202, "")
	h.want(h.ask(strings.Repeat("k", 101), `{}`), 400, "invalid_parameter")
	h.want(h.ask("k\xff", `{}`), 400, "invalid_parameter")
	h.want(h.ask("k", `{}`, header("Idempotency-Key", "other")), 400, "invalid_parameter")
	h.want(h.ask("twice", `{}`, header("Idempotency-Key", "twice")), 202, "")
}

// While the first request runs, others with its key are told to wait; then they get its answer.
func TestARequestThatRunsIsNotRunBeside(t *testing.T) {
	t.Parallel()
	h := openCostly(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	h.enter = func() { close(entered); <-leave }
	first := make(chan answer)
	go func() { first <- h.ask("k", `{}`) }()
	<-entered
	beside := h.ask("k", `{}`)
	h.want(beside, 409, "idempotency_in_progress")
	if beside.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	close(leave)
	answered := <-first
	h.want(answered, 202, "")
	if again := h.ask("k", `{}`); again.text != answered.text {
		t.Errorf("again %q, first %q", again.text, answered.text)
	}
}

// The key is looked at after the guard: who may not come in learns nothing of it and leaves nothing behind.
func TestAKeyIsBehindTheGuard(t *testing.T) {
	t.Parallel()
	h := openCostly(t)
	h.want(h.call("POST", "/api/v1/recordings/7/transcribe", body(`{}`), header("Idempotency-Key", "k")), 401, "")
	reader := bearer(h.house.token(1, "read"))
	h.want(h.call("POST", "/api/v1/recordings/7/transcribe", reader, body(`{}`), header("Idempotency-Key", "k")), 403, "")
	h.want(h.ask("k", `{"end":"refused"}`), 400, "invalid_state")
}

// The rows that are so are those that start paid work, and the table says it.
func TestCostlyRowsAreIdempotent(t *testing.T) {
	t.Parallel()
	for _, row := range open(t, plan{}).table.Rows() {
		want := row.Method == "POST" && row.Category == auth.CategoryProcess
		if row.Idempotent != want {
			t.Errorf("%s %s: idempotent %v, want %v", row.Method, row.Path, row.Idempotent, want)
		}
	}
}
