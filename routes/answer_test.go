package routes_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/streams"
)

// answering is a house with one row that streams from a source, or answers at once when the body is not "stream".
func answering(t *testing.T, places int, timeouts routes.Timeouts, source streams.Source) *house {
	t.Helper()
	made, err := streams.New(streams.Options{
		Slots: limits.Slots{Leases: limits.NewMemory(time.Now)}, Places: places, Lease: time.Minute, Heartbeat: time.Minute,
		Clocks:  streams.Clocks{FirstByte: time.Minute, Idle: time.Minute, Total: time.Minute, ClientStall: time.Minute},
		Metrics: noStreamMetrics{}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return open(t, plan{streams: made, timeouts: timeouts, declare: func(table *routes.Table, _ *house) {
		table.Answer("POST", "/api/v1/recordings/:recording/chat", auth.Process, budgets.Text,
			func(c echo.Context, _ auth.Principal, _ budgets.Purse, opener streams.Opener) error {
				asked, err := io.ReadAll(c.Request().Body)
				if err != nil {
					return err
				}
				if string(asked) == "stream" {
					return opener.Open(streams.Chatting, source)
				}
				<-c.Request().Context().Done()
				return c.Request().Context().Err()
			}, said)
	}})
}

// waiting streams a word and then waits for its end.
func waiting(ctx context.Context, out *streams.Sink) error {
	out.Start()
	if err := out.Send(map[string]string{"delta": "word"}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// post sends a request over the network and gives the answer with its body unread.
func (h *house) post(t *testing.T, token, text string, changes ...change) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.serve().URL+"/api/v1/recordings/1/chat", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	for _, change := range changes {
		change(request)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func read(t *testing.T, response *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A stream ends within a second when its credential is revoked, expires, is narrowed below the row's scope, or its owner
// is disabled; a look-up that fails ends nothing.
func TestAStreamEndsWithItsCredential(t *testing.T) {
	t.Parallel()
	past := time.Unix(1, 0)
	for name, c := range map[string]struct {
		change func(*auth.Token)
		code   string
	}{
		"revoked":  {func(token *auth.Token) { token.Revoked = true }, "invalid_token"},
		"expired":  {func(token *auth.Token) { token.ExpiresAt = &past }, "invalid_token"},
		"disabled": {func(token *auth.Token) { token.OwnerDisabled = true }, "invalid_token"},
		"narrowed": {func(token *auth.Token) { token.Scopes = auth.ParseScopes("read") }, "insufficient_scope"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := answering(t, 1, routes.Timeouts{}, waiting)
			token := h.token(1, "process")
			response := h.post(t, token, "stream")
			if _, err := io.ReadFull(response.Body, make([]byte, len("data: {\"delta\":\"word\"}\n\n"))); err != nil {
				t.Fatal(err)
			}
			h.finder.Fail(errors.New("away"))
			<-time.After(900 * time.Millisecond) // a look-up or two
			h.finder.Fail(nil)
			changed := time.Now()
			h.finder.Change(token, c.change)
			text := read(t, response)
			if took := time.Since(changed); took > time.Second || !strings.Contains(text, `"code":"`+c.code+`"`) || strings.Contains(text, "end_of_stream") {
				t.Errorf("after %v it ended with %q", took, text)
			}
		})
	}
}

// The time of a row bounds a request that opens no stream, and no stream.
func TestTheTimeOfARowIsNotThatOfItsStreams(t *testing.T) {
	t.Parallel()
	h := answering(t, 1, routes.Timeouts{Handler: 200 * time.Millisecond, Model: 200 * time.Millisecond}, func(_ context.Context, out *streams.Sink) error {
		out.Start()
		for range 6 {
			<-time.After(100 * time.Millisecond)
			if err := out.Send(map[string]string{"delta": "word"}); err != nil {
				return err
			}
		}
		return nil
	})
	token := h.token(1, "process")
	if text := read(t, h.post(t, token, "stream")); strings.Count(text, "delta") != 6 || !strings.Contains(text, "end_of_stream") {
		t.Errorf("the stream is %q", text)
	}
	if response := h.post(t, token, "at once"); response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(read(t, response), `"timeout"`) {
		t.Errorf("the other is answered %d", response.StatusCode)
	}
}

// Nothing is streamed to who has no scope, no money or no slot, nor with a key of idempotency.
func TestAStreamHasItsGuards(t *testing.T) {
	t.Parallel()
	h := answering(t, 0, routes.Timeouts{}, func(context.Context, *streams.Sink) error {
		t.Error("the source was asked")
		return nil
	})
	for _, c := range []struct {
		token  string
		change change
		status int
		code   string
	}{
		{h.token(1, "read"), nil, http.StatusForbidden, "insufficient_scope"},
		{h.token(9, "process"), nil, http.StatusPaymentRequired, "budget_exceeded"},
		{h.token(1, "process"), nil, http.StatusTooManyRequests, "stream_limit_reached"},
		{h.token(1, "process"), header("Idempotency-Key", "k"), http.StatusBadRequest, "invalid_parameter"},
		{h.token(1, "process"), header("Idempotency-Key", strings.Repeat("k", 300)), http.StatusBadRequest, "invalid_parameter"},
	} {
		change := c.change
		if change == nil {
			change = func(*http.Request) {}
		}
		response := h.post(t, c.token, "stream", change)
		if text := read(t, response); response.StatusCode != c.status || !strings.Contains(text, `"code":"`+c.code+`"`) {
			t.Errorf("answered %d %s, want %d %s: %s", response.StatusCode, text, c.status, c.code, h.log)
		}
	}
}

// A table without streams opens none, and the table shows what bounds those of a row.
func TestTheTableShowsWhatBoundsAStream(t *testing.T) {
	t.Parallel()
	var with, without bytes.Buffer
	if err := answering(t, 4, routes.Timeouts{}, waiting).table.WriteText(&with); err != nil {
		t.Fatal(err)
	}
	h := open(t, plan{})
	if err := h.table.WriteText(&without); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(with.String(), "streams: 4 slots an organization, first byte 1m0s, idle 1m0s, total 1m0s, client stall 1m0s") {
		t.Errorf("the table is %s", with.String())
	}
	if !strings.Contains(without.String(), "streams: nothing") {
		t.Errorf("without streams it is %s", without.String())
	}
}
