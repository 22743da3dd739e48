// Package door times one request inside the process, without a network: what the every-request chain takes, and what
// the guard adds to it, in time and in allocations. It is for working on the two; the figures that count are those
// over HTTP.
package door

import (
	"log/slog"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/bench/answer"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/metrics"
	"github.com/stenometer/stenometer/routes"
)

// finder is the tests' finder without its list of uses, which grows with every request.
type finder struct{ *authtest.Finder }

func (finder) Used(int64, time.Time, netip.Addr) {}

func BenchmarkRequest(b *testing.B) {
	known := finder{authtest.NewFinder()}
	plain := known.Mint(auth.Token{ID: 1, UserID: 1, OrganizationID: 1, Role: auth.RoleEditor, Scopes: auth.FullScopes()})
	figures := authtest.NoFigures()
	for _, plan := range []*limits.Plan{limits.AccountRead, limits.TokenRead} {
		figures[plan] = []limits.Rate{{Limit: limits.MaxFigure, Period: time.Minute}}
	}
	options := authtest.GuardOptions(known.Finder, figures, limits.NewMemory(time.Now))
	options.Tokens = known
	send := func(c echo.Context) error { return c.JSON(http.StatusOK, answer.Capabilities{Server: "stenometer"}) }

	b.Run("bare", func(b *testing.B) {
		e := echo.New()
		e.GET(answer.Path, send)
		requests(b, e, plain)
	})
	timed := routes.Operation{Summary: "Answer", Group: routes.GroupServer, Answers: routes.Answers{http.StatusOK: answer.Capabilities{}}}
	for _, door := range []struct {
		name    string
		logged  slog.Level
		declare func(*routes.Table)
	}{
		{"chain", slog.LevelDebug, func(t *routes.Table) { t.Public("GET", answer.Path, "timed", send, timed, routes.Uncounted()) }},
		{"chain without the log", slog.LevelError, func(t *routes.Table) { t.Public("GET", answer.Path, "timed", send, timed, routes.Uncounted()) }},
		{"guarded", slog.LevelDebug, func(t *routes.Table) {
			t.Token("GET", answer.Path, auth.AnyToken, func(c echo.Context, _ auth.Principal) error { return send(c) }, timed)
		}},
	} {
		b.Run(door.name, func(b *testing.B) {
			table := routes.New(routes.Options{
				Guard: auth.NewGuard(options), Metrics: metrics.New("bench"), Now: time.Now,
				Logger: slog.New(slog.NewJSONHandler(nowhere{}, &slog.HandlerOptions{Level: door.logged})),
			})
			door.declare(table)
			requests(b, table.Handler(), plain)
		})
	}
}

func requests(b *testing.B, handler http.Handler, token string) {
	b.Helper()
	b.ReportAllocs()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, answer.Path, nil)
	if err != nil {
		b.Fatal(err)
	}
	request.RemoteAddr = "127.0.0.1:1"
	request.RequestURI = answer.Path
	request.Header.Set("Authorization", "Bearer "+token)
	w := &writer{header: make(http.Header)}
	for b.Loop() {
		clear(w.header)
		handler.ServeHTTP(w, request)
	}
	if w.status != http.StatusOK {
		b.Fatalf("the answer was %d", w.status)
	}
}

// nowhere takes the log.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// writer takes an answer and keeps nothing, so that no recorder is timed.
type writer struct {
	header http.Header
	status int
}

func (w *writer) Header() http.Header         { return w.header }
func (w *writer) Write(p []byte) (int, error) { return len(p), nil }
func (w *writer) WriteHeader(status int)      { w.status = status }

// Deadlines are set by the chain as on a connection.
func (w *writer) SetReadDeadline(time.Time) error  { return nil }
func (w *writer) SetWriteDeadline(time.Time) error { return nil }
