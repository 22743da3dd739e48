package server

import (
	"context"
	"errors"
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

	memory   *limits.Memory   // with memory:// alone, which is never away
	storage  limits.Shared    // nil with memory://
	failover *limits.Failover // before storage
	metrics  *metrics.Metrics
	logger   *slog.Logger
}

// openCounts opens what RATELIMIT_STORAGE_URI names. A storage that refuses our name or password is an error here, so
// that the server does not start unguarded. One that is not there yet is none: the policy decides until it comes.
func (s *Server) openCounts(ctx context.Context) (*counts, error) {
	c := &counts{metrics: s.metrics, logger: s.program.Logger}
	storage, err := openShared(ctx, s.config, s.now)
	if err != nil {
		return nil, fmt.Errorf("opening the storage that RATELIMIT_STORAGE_URI names: %w", err)
	}
	if storage == nil {
		c.memory = limits.NewMemory(s.now)
		c.Leases, c.For = c.memory, limits.Always(c.memory)
		return c, nil
	}
	c.storage = storage
	c.failover = limits.NewFailover(storage, limits.FailoverOptions{
		Policy: s.config.OnStorageError, Replicas: func() int { return int(s.alive.Load()) },
		Metrics: s.metrics, Logger: s.program.Logger, Now: s.now,
	})
	c.Leases, c.For = c.failover, c.failover.For
	c.failover.Probe(ctx)
	return c, nil
}

// openShared is the storage that several processes count in; nil with memory://.
func openShared(ctx context.Context, cfg *config.Config, now func() time.Time) (limits.Shared, error) {
	named, err := config.ParseLimitsStorage(cfg.RateLimitStorageURI.Reveal())
	if err != nil {
		return nil, err
	}
	switch named.Kind {
	case config.LimitsInMemory:
		return nil, nil //nolint:nilnil // the doc comment says what nil is
	case config.LimitsInDatabase:
		options := limits.DatabaseOptions{Timeout: cfg.StorageTimeout, Now: now}
		if database, embedded := strings.CutPrefix(cfg.DatabaseURL.Reveal(), "sqlite://"); embedded {
			return shared(limits.OpenSQLite(ctx, filepath.Join(filepath.Dir(database), limitsFile), options))
		}
		return shared(limits.OpenPostgres(ctx, cfg.DatabaseURL.Reveal(), options))
	default:
		return shared(limits.OpenRedis(ctx, named, limits.RedisOptions{Timeout: cfg.StorageTimeout, Now: now}))
	}
}

// limitsFile is where database:// counts beside a SQLite database.
const limitsFile = "limits.db"

// shared keeps a nil pointer from becoming a storage.
func shared[S limits.Shared](storage S, err error) (limits.Shared, error) {
	if err != nil {
		return nil, err
	}
	return storage, nil
}

// Probe asks a storage that counts as away whether it is back.
func (c *counts) Probe(ctx context.Context) {
	if c.failover != nil {
		c.failover.Probe(ctx)
	}
}

// Look asks the storage whether it answers and still knows what it counted. One that was emptied lets everybody begin
// anew, which nobody would notice by its answers.
func (c *counts) Look(ctx context.Context) {
	if c.failover == nil || c.failover.Away() {
		return
	}
	lost, err := c.storage.Epoch(ctx)
	if ctx.Err() != nil {
		return
	}
	c.metrics.LimitsStorageUp(err == nil && !c.failover.Away())
	if lost {
		c.metrics.LimitsStorageFlushed()
		c.logger.Warn("the storage of the limits has forgotten what was counted: everybody's limits begin anew")
	}
}

// Sweep lets go of what counts nothing any more: after a flood of addresses its room returns.
func (c *counts) Sweep(ctx context.Context) {
	if c.memory != nil {
		c.memory.Sweep()
		return
	}
	c.failover.Sweep()
	sweeping, can := c.storage.(interface {
		Sweep(ctx context.Context) error
	})
	if !can || c.failover.Away() {
		return
	}
	if err := sweeping.Sweep(ctx); err != nil && ctx.Err() == nil {
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
	if c.storage == nil {
		return nil
	}
	if err := c.storage.Close(); err != nil {
		return errors.Join(errors.New("closing the storage of the limits"), err)
	}
	return nil
}
