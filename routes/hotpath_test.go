package routes_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
)

// unread is an answer that nobody reads, which costs nothing itself.
type unread struct{ header http.Header }

func (w unread) Header() http.Header         { return w.header }
func (w unread) WriteHeader(int)             {}
func (w unread) Write(p []byte) (int, error) { return len(p), nil }
func (w unread) Flush()                      {}

// BenchmarkRequest is what a request costs without the network and without a log: of a row that asks for nothing, and
// of one that the guard admits against two limits in memory.
func BenchmarkRequest(b *testing.B) {
	finder, figures := authtest.NewFinder(), ample()
	for plan := range figures {
		figures[plan] = perMinute(limits.MaxFigure)
	}
	table := routes.New(routes.Options{
		Guard:  auth.NewGuard(authtest.GuardOptions(finder, figures, limits.NewMemory(time.Now))),
		Bounds: routes.Bounds{Upload: 1 << 20}, Metrics: noMetrics{}, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	fine := func(c echo.Context) error { return c.NoContent(http.StatusNoContent) }
	table.Public("GET", "/healthz", "it is measured", fine, said, routes.Uncounted())
	table.Token("GET", "/api/v1/guarded", auth.Read, func(c echo.Context, _ auth.Principal) error { return fine(c) }, said)
	token := finder.Mint(auth.Token{ID: 1, UserID: 1, OrganizationID: 1, Role: auth.RoleEditor, Scopes: auth.FullScopes()})
	for _, path := range []string{"/healthz", "/api/v1/guarded"} {
		b.Run(path, func(b *testing.B) {
			handler := table.Handler()
			request := httptest.NewRequest(http.MethodGet, path, nil)
			request.Header.Set("Authorization", "Bearer "+token)
			answer := unread{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				clear(answer.header)
				handler.ServeHTTP(answer, request)
			}
		})
	}
}
