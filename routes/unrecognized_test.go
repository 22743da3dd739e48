package routes_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
)

// Rule: an account whose role is none that there is, or empty, keeps its own work and has no verb; each of its requests
// is counted, and the log tells of it at most once a minute, by the account's id and without what stands in its row.
func TestAnUnknownRoleIsToldOf(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	now, finder := time.Unix(1_800_000_000, 0), authtest.NewFinder()
	options := authtest.GuardOptions(finder, authtest.NoFigures(), limits.NewMemory(time.Now))
	options.Now, options.Logger = func() time.Time { return now }, slog.New(slog.NewTextHandler(&log, nil))
	counts := options.Metrics.(*authtest.Metrics)
	table := routes.New(routes.Options{Guard: auth.NewGuard(options), Metrics: noMetrics{}, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	fine := func(c echo.Context, _ auth.Principal) error { return c.NoContent(http.StatusNoContent) }
	table.Token("GET", "/api/v1/recordings", auth.Read, fine, said)
	table.Token("POST", "/api/v1/recordings/:recording/share", auth.Share, fine, said, routes.Needs(auth.Publish))
	call := func(method, path, token string) int {
		request := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		request.Header.Set("Authorization", "Bearer "+token)
		recorder := httptest.NewRecorder()
		table.Handler().ServeHTTP(recorder, request)
		return recorder.Code
	}
	mint := func(account int64, role string) string {
		return finder.Mint(auth.Token{ID: account, UserID: account, OrganizationID: 1, Role: role, Scopes: auth.FullScopes(), Administration: true, Instance: true})
	}
	unknown, missing, known := mint(7, "s3cret superuser"), mint(8, ""), mint(9, auth.RoleViewer)
	for range 3 {
		for _, token := range []string{unknown, missing, known} {
			if own, gated := call("GET", "/api/v1/recordings", token), call("POST", "/api/v1/recordings/1/share", token); own != 204 || gated != 403 {
				t.Errorf("own work %d, a gated row %d, want 204 and 403", own, gated)
			}
		}
	}
	if counts.Unknown.Load() != 6 || counts.Missing.Load() != 6 {
		t.Errorf("%d requests of an unknown role and %d of none were counted, want 6 of each", counts.Unknown.Load(), counts.Missing.Load())
	}
	expectTold := func(times int) {
		t.Helper()
		for _, line := range []string{"event=authz.unknown_role account=7", "event=authz.missing_role account=8"} {
			if got := strings.Count(log.String(), line); got != times {
				t.Errorf("%q stands in the log %d times, want %d:\n%s", line, got, times, log.String())
			}
		}
	}
	expectTold(1)
	now = now.Add(59 * time.Second)
	call("GET", "/api/v1/recordings", unknown)
	expectTold(1)
	now = now.Add(time.Second)
	call("GET", "/api/v1/recordings", unknown)
	call("GET", "/api/v1/recordings", missing)
	expectTold(2)
	// The one event of an account does not silence the other.
	call("GET", "/api/v1/recordings", finder.Mint(auth.Token{ID: 70, UserID: 7, OrganizationID: 1, Scopes: auth.FullScopes()}))
	if !strings.Contains(log.String(), "event=authz.missing_role account=7") {
		t.Errorf("a role that was taken away is not told of:\n%s", log.String())
	}
	if strings.Contains(log.String(), "s3cret") || strings.Contains(log.String(), "account=9") {
		t.Errorf("the log tells more than it should:\n%s", log.String())
	}
}
