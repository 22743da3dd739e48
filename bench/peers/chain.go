package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/bench/answer"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/metrics"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/server"
)

// maxHeaderBytes is the product's (server/run.go).
const maxHeaderBytes = 256 << 10

// serveChain is the product without its guard: the whole server is built and started, so that the same things run
// beside the requests, and its table is replaced by one whose only row is an uncounted public one. Such a row passes
// through everything of routes/every.go and routes.Table.entered, and through nothing of auth but the look at the
// declared length of the body. The handler gets a fixed principal, as it would from the guard.
func serveChain(ctx context.Context, s settings) error {
	cfg, _, err := config.Load(os.Environ(), "")
	if err != nil {
		return fmt.Errorf("reading the settings: %w", err)
	}
	// Uncounted rows are logged as probes are, at the level debug: at that level the line is written here too.
	level := slog.LevelDebug
	if s.quiet {
		level = slog.LevelWarn
	}
	logger := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	built, err := server.New(ctx, cfg, time.Now, server.Program{Role: server.RoleAll, Version: "bench", Logger: logger})
	if err != nil {
		return fmt.Errorf("building the server: %w", err)
	}
	defer built.Close()
	if err := built.Start(ctx); err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	defer built.Stop(context.WithoutCancel(ctx))

	web := &http.Server{
		Handler:           gated(chain(cfg, s.answer, logger).Handler()),
		ReadHeaderTimeout: cfg.HeaderTimeout,
		IdleTimeout:       cfg.IdleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
	}
	return serve(ctx, s.listen, web)
}

// chain is the table with the one row. Its guard is never asked.
func chain(cfg *config.Config, fixed answer.Capabilities, logger *slog.Logger) *routes.Table {
	table := routes.New(routes.Options{
		Guard:    auth.NewGuard(authtest.GuardOptions(authtest.NewFinder(), authtest.NoFigures(), limits.NewMemory(time.Now))),
		Bounds:   routes.Bounds{Upload: int64(cfg.MaxUploadMB) << 20},
		Timeouts: routes.Timeouts{Handler: cfg.HandlerTimeout, BodyStall: cfg.UploadStallTimeout, WriteStall: cfg.UploadStallTimeout},
		Metrics:  metrics.New("bench"), Logger: logger, Now: time.Now,
	})
	var principal auth.Principal
	said := routes.Operation{Summary: "Answer", Group: routes.GroupServer, Answers: routes.Answers{http.StatusOK: answer.Capabilities{}}}
	show := func(c echo.Context, _ auth.Principal) error { return c.JSON(http.StatusOK, fixed) }
	table.Public("GET", answer.Path, "measured without the guard", func(c echo.Context) error {
		return show(c, principal)
	}, said, routes.Uncounted())
	return table
}

// gated holds a lock for reading during each request, as the product does to know when the last one has ended.
func gated(next http.Handler) http.Handler {
	var inside sync.RWMutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inside.RLock()
		defer inside.RUnlock()
		next.ServeHTTP(w, r)
	})
}
