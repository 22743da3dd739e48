package server

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stenometer/stenometer/api/health"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/models"
)

// maxHeaderBytes is where net/http itself gives up on a request's headers, with a bare text answer; routes refuses
// them at 32 KiB already, with the API's own.
const maxHeaderBytes = 256 << 10

// openingRetry is how long the server waits between two attempts at a database that does not answer yet.
const openingRetry = time.Second

// Running is a server that has an address. Wait returns when it has ended.
type Running struct {
	listener net.Listener
	gate     *gate
	done     chan struct{}
	ended    error
	ready    chan struct{}
}

// Address is host:port of the listener, also where the configuration left the port open.
func (r *Running) Address() string { return r.listener.Addr().String() }

// Wait returns when the server has ended, with what made it end; nil after an orderly stop.
func (r *Running) Wait() error {
	<-r.done
	return r.ended
}

// Server is the built program; it waits for it. nil when the server ended before it was built.
func (r *Running) Server() *Server {
	select {
	case <-r.ready:
		return r.gate.server.Load()
	case <-r.done:
		return nil
	}
}

// gate answers for the server before it is built, so that an orchestrator sees a live process while the database
// is awaited and migrated.
type gate struct {
	starting http.Handler
	server   atomic.Pointer[Server]
	// inside is held for reading by each request.
	inside sync.RWMutex
}

// empty is closed when no request is inside; those that come after the call wait for ever.
func (g *gate) empty() <-chan struct{} {
	empty := make(chan struct{})
	go func() {
		g.inside.Lock()
		close(empty)
	}()
	return empty
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.inside.RLock()
	defer g.inside.RUnlock()
	if s := g.server.Load(); s != nil {
		s.Handler().ServeHTTP(w, r)
		return
	}
	g.starting.ServeHTTP(w, r)
}

func serve(ctx context.Context, call Invocation, arguments []string) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	role := flags.String("role", string(RoleAll), "what this process does: all, web or worker")
	if err := parse(call, flags, arguments); err != nil {
		return err
	}
	switch Role(*role) {
	case RoleAll, RoleWeb, RoleWorker:
	default:
		return fmt.Errorf("%w: --role %q is none of all, web, worker", errUsage, *role)
	}
	cfg, err := load(call)
	if err != nil {
		return err
	}
	running, err := start(ctx, call, cfg, Role(*role))
	if err != nil {
		return err
	}
	return running.Wait()
}

// start listens, then builds and starts the server behind the listener, and returns once it has an address. The
// server ends when ctx does.
func start(ctx context.Context, call Invocation, cfg *config.Config, role Role) (*Running, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.ListenAddr)
	if err != nil {
		return nil, fmt.Errorf("listening on LISTEN_ADDR: %w", err)
	}
	logger := newLogger(call.Errors, cfg.LogLevel)
	running := &Running{
		listener: listener,
		gate:     &gate{starting: health.Starting()},
		done:     make(chan struct{}),
		ready:    make(chan struct{}),
	}
	program := Program{Role: role, Version: call.Version, Logger: logger, Collects: call.OwnProcess && leavesGarbage(call.Environment)}
	go func() {
		defer close(running.done)
		running.ended = running.run(ctx, cfg, program)
	}()
	return running, nil
}

func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

// run serves until ctx ends, then stops in order: readiness is withdrawn, requests end, jobs go back to the queue.
func (r *Running) run(ctx context.Context, cfg *config.Config, program Program) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	requests, giveUp := context.WithCancel(context.Background())
	web := &http.Server{
		Handler:           r.gate,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: cfg.HeaderTimeout,
		IdleTimeout:       cfg.IdleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(program.Logger.Handler(), slog.LevelDebug),
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := web.Serve(r.listener); !errors.Is(err, http.ErrServerClosed) {
			cancel(fmt.Errorf("serving HTTP: %w", err))
		}
	}()
	program.Logger.Info("listening", "address", r.Address(), "version", program.Version, "role", string(program.Role))

	s, err := build(ctx, cfg, program)
	if err == nil {
		err = s.Start(ctx)
	}
	if err == nil {
		r.gate.server.Store(s)
		close(r.ready)
		program.Logger.Info("ready")
		<-ctx.Done()
		err = context.Cause(ctx)
		if errors.Is(err, context.Canceled) {
			err = nil
		}
	} else if errors.Is(context.Cause(ctx), context.Canceled) {
		err = nil // told to stop while starting
	}
	return errors.Join(err, r.stop(cfg, program, web, giveUp, s, served))
}

// build makes the server, again and again while the database cannot be reached: an orchestrator may start both at
// once. What waiting cannot mend (a refused password, a failing migration) ends the start.
func build(ctx context.Context, cfg *config.Config, program Program) (*Server, error) {
	for {
		s, err := New(ctx, cfg, time.Now, program)
		if err == nil || !models.IsBusy(err) {
			return s, err
		}
		program.Logger.Warn("the database does not answer yet", "error", err.Error())
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(openingRetry):
		}
	}
}

// stop ends what run began, within SHUTDOWN_TIMEOUT_SECONDS. Jobs go back to the queue at once. Requests have three
// quarters of the time: those that take longer are given up and say so, and what does not end even then is cut off, so
// that what they leave can still be put in order.
func (r *Running) stop(
	cfg *config.Config, program Program, web *http.Server, giveUp context.CancelFunc, s *Server, served <-chan struct{},
) error {
	ctx, cancel := context.WithTimeout(context.Background(), cfg.ShutdownTimeout)
	defer cancel()
	program.Logger.Info("stopping")
	working := make(chan error, 1)
	if s != nil {
		s.watch.stopping()
		s.streams.Stop()
		go func() { working <- s.jobs.Stop(ctx) }()
	} else {
		working <- nil
	}
	err := r.endRequests(ctx, cfg.ShutdownTimeout*3/4, web, giveUp)
	<-served
	err = errors.Join(err, <-working)
	if s != nil {
		err = errors.Join(err, s.Stop(ctx), s.Close())
	}
	program.Logger.Info("stopped")
	return err
}

// endRequests takes no new request and waits for those at work. After a while it gives them up: who waits for a model is
// answered 503 while its call is settled. Connections on which even that brings no end are cut off; their handlers clean up
// before it returns, as long as ctx allows.
func (r *Running) endRequests(ctx context.Context, patience time.Duration, web *http.Server, giveUp context.CancelFunc) error {
	err := shutDown(ctx, patience, web)
	giveUp()
	if err == nil || shutDown(ctx, min(patience/6, time.Second), web) == nil {
		return nil
	}
	err = errors.Join(fmt.Errorf("ending requests: %w", err), web.Close())
	select {
	case <-r.gate.empty():
	case <-ctx.Done():
	}
	return err
}

func shutDown(ctx context.Context, patience time.Duration, web *http.Server) error {
	draining, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return web.Shutdown(draining) //nolint:wrapcheck // the caller says what was attempted
}
