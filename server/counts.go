package server

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/metrics"
)

// counts is where requests and places are counted, with what is done while a shared storage does not answer.
type counts struct {
	limits.Leases
	// For is the store that decides about requests of a class.
	For func(class limits.Class) limits.Store

	memory   *limits.Memory // with memory:// alone, which is never away
	storage  shared         // empty with memory://
	failover *limits.Failover
	metrics  *metrics.Metrics
	logger   *slog.Logger
	// unasked is whether the log has said that the storage cannot be looked at. It belongs to Look.
	unasked bool
}

// shared is a storage that several processes count in, and what a server looks after in it.
type shared struct {
	limits.Shared

	epochs  limits.Epochs
	sweeper limits.Sweeper // nil for a storage that forgets by itself
}

// openCounts opens what RATELIMIT_STORAGE_URI names. A storage that refuses our name or password is an error here, so
// that the server does not start unguarded. One that is not there yet is none: the policy decides until it comes.
func (s *Server) openCounts(ctx context.Context) (*counts, error) {
	c := &counts{metrics: s.metrics, logger: s.program.Logger}
	storage, err := openShared(ctx, s.config, s.now)
	if err != nil {
		return nil, fmt.Errorf("opening the storage that RATELIMIT_STORAGE_URI names: %w", err)
	}
	if storage.Shared == nil {
		c.memory = limits.NewMemory(s.now)
		c.Leases, c.For = c.memory, limits.Always(c.memory)
		return c, nil
	}
	c.storage = storage
	c.failover = limits.NewFailover(storage.Shared, limits.FailoverOptions{
		Policy: s.config.OnStorageError, Replicas: func() int { return int(s.alive.Load()) },
		Metrics: s.metrics, Logger: s.program.Logger, Now: s.now,
	})
	c.Leases, c.For = c.failover, c.failover.For
	c.failover.Probe(ctx)
	return c, nil
}

// openShared is the storage that several processes count in; empty with memory://. SQLite decides by the machine's
// clock, whatever this server's is: it is the one that all processes at the file have.
func openShared(ctx context.Context, cfg *config.Config, now func() time.Time) (shared, error) {
	named, err := cfg.LimitsStorage()
	if err != nil {
		return shared{}, err
	}
	switch named.Kind {
	case config.LimitsInMemory:
		return shared{}, nil
	case config.LimitsInDatabase:
		if database, embedded := strings.CutPrefix(cfg.DatabaseURL.Reveal(), "sqlite://"); embedded {
			return swept(limits.OpenSQLite(ctx, limitsFile(database), limits.DatabaseOptions{Timeout: cfg.StorageTimeout}))
		}
		return swept(limits.OpenPostgres(ctx, cfg.DatabaseURL.Reveal(), limits.DatabaseOptions{Timeout: cfg.StorageTimeout, Now: now}))
	default:
		storage, err := limits.OpenRedis(ctx, named, limits.RedisOptions{Timeout: cfg.StorageTimeout, Now: now})
		if err != nil {
			return shared{}, err
		}
		return shared{Shared: storage, epochs: storage}, nil
	}
}

// limitsFile is where database:// counts beside a SQLite database: "stenometer-limits.db" for "stenometer.db", so that
// two databases in one folder count apart.
func limitsFile(database string) string {
	extension := filepath.Ext(database)
	return strings.TrimSuffix(database, extension) + "-limits" + extension
}

// swept is a storage in a database.
func swept[S interface {
	limits.Shared
	limits.Epochs
	limits.Sweeper
}](storage S, err error) (shared, error) {
	if err != nil {
		return shared{}, err
	}
	return shared{Shared: storage, epochs: storage, sweeper: storage}, nil
}

// Probe asks a storage that counts as away whether it is back.
func (c *counts) Probe(ctx context.Context) {
	if c.failover != nil {
		c.failover.Probe(ctx)
	}
}

// Look asks the storage whether it answers and still knows what it counted, and lets it mend itself. One that was
// emptied lets everybody begin anew, which nobody would notice by its answers. One that counts as away is asked too: a
// damaged file is away until it is mended.
func (c *counts) Look(ctx context.Context) {
	if c.failover == nil {
		return
	}
	lost, err := c.storage.epochs.Epoch(ctx)
	if ctx.Err() != nil {
		return
	}
	c.metrics.LimitsStorageUp(err == nil)
	if lost {
		c.metrics.LimitsStorageFlushed()
		c.logger.Warn("the storage of the limits has forgotten what was counted: everybody's limits begin anew")
	}
	switch {
	case err == nil:
		c.unasked = false
	case !c.unasked && !c.failover.Away(): // of an outage the log has told
		c.unasked = true
		c.logger.Warn("the storage of the limits cannot be asked whether it has forgotten what was counted", "error", err.Error())
	}
}

// Sweep lets go of what counts nothing any more: after a flood of addresses its room returns.
func (c *counts) Sweep(ctx context.Context) {
	if c.memory != nil {
		c.memory.Sweep()
		return
	}
	c.failover.Sweep()
	if c.storage.sweeper == nil || c.failover.Away() {
		return
	}
	if err := c.storage.sweeper.Sweep(ctx); err != nil && ctx.Err() == nil {
		c.logger.Warn("the storage of the limits could not be swept", "error", err.Error())
	}
}

// Standing is what readyz tells of the storage: a fault as long as it was never reached, and a warning, with what
// happens meanwhile, when it is away.
func (c *counts) Standing(ctx context.Context) (fault, warning string) {
	switch {
	case c.failover == nil:
	case !c.failover.Reached():
		fault = "the storage of the limits has not answered yet"
	case c.failover.Away() || c.failover.Ping(ctx) != nil:
		warning = "the storage of the limits does not answer: " + c.failover.Meanwhile()
	}
	return fault, warning
}

// Close closes the storage.
func (c *counts) Close() error {
	if c.storage.Shared == nil {
		return nil
	}
	if err := c.storage.Close(); err != nil {
		return fmt.Errorf("closing the storage of the limits: %w", err)
	}
	return nil
}
