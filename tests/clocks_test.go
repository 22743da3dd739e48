package tests

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/server"
	"github.com/stenometer/stenometer/tests/servertest"
)

// inProcess is a server of this environment in the test's own process, by a clock of the test's.
func inProcess(t *testing.T, environment servertest.Environment, now func() time.Time) *servertest.Client {
	t.Helper()
	var settings []string
	for name, value := range environment.With(servertest.Environment{"TRUSTED_PROXY_COUNT": "0"}) {
		settings = append(settings, name+"="+value)
	}
	cfg, _, err := config.Load(settings, "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(t.Context(), cfg, now, server.Program{Role: server.RoleWeb, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		listening.Close()
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return servertest.ClientOf(t, listening.URL)
}

// Rule: the storage's clock decides. Two servers whose clocks are three seconds apart admit together what two with one
// clock would: no window opens for the clock of either (H-033).
func TestServersWhoseClocksDifferCountAlike(t *testing.T) {
	t.Parallel()
	const figure, window = 6, 2 * time.Second
	for _, storage := range sharedStorages() {
		t.Run(storage.name, func(t *testing.T) {
			t.Parallel()
			environment := onlyThere(t, storage).With(servertest.Environment{
				"API_TOKEN_RATE_LIMIT_READ": fmt.Sprintf("%d per 2 seconds", figure), "API_USER_RATE_LIMIT_READ": "0",
			})
			clients := []*servertest.Client{
				inProcess(t, environment, time.Now),
				inProcess(t, environment, func() time.Time { return time.Now().Add(-3 * time.Second) }),
			}
			servertest.CreateUser(t, environment, "ada@example.org")
			credential := http.Header{"Authorization": {"Bearer " + servertest.CreateToken(t, environment, "ada@example.org")}}
			for _, client := range clients {
				client.Header = credential
			}
			var log []sent
			for end := time.Now().Add(3*window - window/4); time.Now().Before(end); <-time.After(window / 40) {
				log = append(log, read(t, clients[len(log)%2]))
			}
			expectNeverMore(t, "two clocks", log, figure, window)
			if got := admittedOf(log); got != 3*figure {
				t.Errorf("%d were admitted in three windows, want %d", got, 3*figure)
			}
		})
	}
}
