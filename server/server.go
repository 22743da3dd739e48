// Package server is the only place where the parts are built and joined: New makes the program as a value that
// tests run too, Declare lists every owner of routes, and the subcommands live here.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"gocloud.dev/blob"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/idempotency"
	"github.com/stenometer/stenometer/integrations"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/metrics"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/orgs"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/settings"
	"github.com/stenometer/stenometer/spool"
	"github.com/stenometer/stenometer/streams"
	"github.com/stenometer/stenometer/tokens"
	"github.com/stenometer/stenometer/webhooks"
)

// Role is which work a process does.
type Role string

// The roles: a web process answers requests and queues jobs, a worker works them, all does both.
const (
	RoleAll    Role = "all"
	RoleWeb    Role = "web"
	RoleWorker Role = "worker"
)

// Program is what a Server is besides its configuration.
type Program struct {
	Role    Role
	Version string
	Logger  *slog.Logger
	// Collects lets the server say how much garbage its process may have; without it Go does.
	Collects bool
}

// Server is the whole program: everything built, nothing running until Start.
type Server struct {
	config  *config.Config
	program Program
	now     func() time.Time
	metrics *metrics.Metrics

	db         *models.DB
	files      *blob.Bucket
	counts     *counts
	alive      atomic.Int64 // processes last seen alive
	jobs       *jobs.Jobs
	figures    *orgs.Figures
	inForce    *limits.InForce
	tokens     *tokens.Tokens
	accounts   *accounts.Accounts
	recordings *recordings.Recordings
	settings   *settings.Settings
	keys       *idempotency.Keys
	budgets    *budgets.Budgets
	audit      *audit.Log
	streams    *streams.Streams
	table      *routes.Table

	webhooks     *webhooks.Webhooks
	integrations *integrations.Integrations
	spool        *spool.Spool
	imports      recordings.ImportOptions

	watch *watch

	metricsServer *http.Server
	metricsServed chan error

	started []part
}

// part is something that runs beside the requests.
type part struct {
	name  string
	start func(context.Context) error
	stop  func(context.Context) error
}

// New opens the database and the storages, migrates, and joins the parts. Nothing is left open when it fails.
func New(ctx context.Context, cfg *config.Config, now func() time.Time, program Program) (server *Server, err error) {
	s := &Server{config: cfg, program: program, now: now, metrics: metrics.New(program.Version)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.prepareFolders(); err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	if err := s.join(); err != nil {
		return nil, err
	}
	s.noteSwitchedOff()
	return s, nil
}

// prepareFolders makes DATA_DIR and the folder of temporary files, readable by nobody else. A folder that exists keeps
// its mode: it may be one that others use too.
func (s *Server) prepareFolders() error {
	if err := os.MkdirAll(s.temporary(), 0o700); err != nil {
		return fmt.Errorf("making the data folder: %w", err)
	}
	if err := config.EnsureSecretKey(s.config); err != nil {
		return fmt.Errorf("preparing SECRET_KEY: %w", err)
	}
	return nil
}

// temporary is where uploads and media wait while they are worked on; the sweeper empties it.
func (s *Server) temporary() string { return filepath.Join(s.config.DataDir, "tmp") }

// open connects the database and the storages and migrates.
func (s *Server) open(ctx context.Context) (err error) {
	s.db, err = models.Open(ctx, models.Options{
		URL:            s.config.DatabaseURL.Reveal(),
		MaxConnections: s.config.DatabaseMaxConnections,
		Now:            s.now,
	})
	if err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	if err := s.db.Migrate(ctx, jobs.Migrate); err != nil {
		return fmt.Errorf("migrating the database: %w", err)
	}
	s.files, err = openFiles(ctx, s.config.FileStorageURL.Reveal())
	if err != nil {
		return fmt.Errorf("opening the file storage: %w", err)
	}
	s.counts, err = s.openCounts(ctx)
	return err
}

// noteSwitchedOff says which limits a setting of 0 has switched off: a guard that is not there is told.
func (s *Server) noteSwitchedOff() {
	for _, variable := range s.config.Off() {
		s.program.Logger.Warn("limit switched off", "variable", variable)
		s.metrics.LimitSwitchedOff(variable)
	}
}

// Handler answers every request.
func (s *Server) Handler() http.Handler { return s.table.Handler() }

// Start sets going what runs beside the requests. On a failure what had started is stopped again.
func (s *Server) Start(ctx context.Context) error {
	for _, p := range s.parts() {
		if err := p.start(ctx); err != nil {
			return errors.Join(fmt.Errorf("starting %s: %w", p.name, err), s.Stop(ctx))
		}
		s.started = append(s.started, p)
	}
	return nil
}

// Stop ends what Start began, last first: jobs go back to the queue, what is queued for writing is written.
func (s *Server) Stop(ctx context.Context) error {
	var faults []error
	for len(s.started) > 0 {
		last := s.started[len(s.started)-1]
		s.started = s.started[:len(s.started)-1]
		if err := last.stop(ctx); err != nil {
			faults = append(faults, fmt.Errorf("stopping %s: %w", last.name, err))
		}
	}
	return errors.Join(faults...)
}

// Close lets go of the database and the storages; it may be called on a half-built Server.
func (s *Server) Close() error {
	var faults []error
	if s.counts != nil {
		faults = append(faults, s.counts.Close())
	}
	if s.files != nil {
		faults = append(faults, s.files.Close())
	}
	if s.db != nil {
		faults = append(faults, s.db.Close())
	}
	return errors.Join(faults...)
}
