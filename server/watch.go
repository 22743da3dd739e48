package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stenometer/stenometer/api/health"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/metrics"
	"github.com/stenometer/stenometer/models"
)

const (
	// readinessPatience bounds one look at the database and the storages.
	readinessPatience = time.Second
	// warnEvery is how often the log repeats that counts in memory are each process's own.
	warnEvery = time.Hour
	// countEvery is how often the processes that share the database are counted.
	countEvery = 2 * time.Second
)

// watch knows how the server stands: for readyz, for the log, and for the metrics.
type watch struct {
	db *models.DB
	// files asks whether the file storage can be used.
	files   func(ctx context.Context) error
	counts  *counts
	jobs    *jobs.Jobs
	metrics *metrics.Metrics
	logger  *slog.Logger
	now     func() time.Time
	// alive is where the processes last seen alive are noted; probeEvery is how often a storage of the limits that is
	// away is asked whether it is back.
	alive      *atomic.Int64
	probeEvery time.Duration
	// sweepEvery is how often counters that count nothing any more are let go.
	sweepEvery time.Duration
	// lookEvery is how often the storage of the limits is asked whether it still knows what it counted.
	lookEvery time.Duration
	// collects says that garbage is the server's own matter.
	collects bool

	ending atomic.Bool
	cancel context.CancelFunc
	ended  sync.WaitGroup
	// warned is touched by whoever counts the processes alone.
	warned time.Time
	// several is how many processes count in memory while that is more than one; else 0.
	several atomic.Int64
}

// stopping withdraws readiness: load balancers send no new requests while the running ones end.
func (w *watch) stopping() { w.ending.Store(true) }

// start counts the processes that share the database, and goes on counting them and looking after the counts.
func (w *watch) start(ctx context.Context) error {
	w.count(ctx)
	w.counts.Look(ctx) // what is lost from now on is noticed
	ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.every(ctx, countEvery, w.count)
	w.every(ctx, w.sweepEvery, w.counts.Sweep)
	w.every(ctx, w.sweepEvery, newMemoryRelease().look)
	w.every(ctx, w.lookEvery, w.counts.Look)
	w.every(ctx, w.probeEvery, w.counts.Probe)
	if w.collects {
		w.every(ctx, garbageEvery, newGarbage().look)
	}
	return nil
}

// every does something again and again until ctx is over, each thing on its own: a database that is slow to count
// must not delay the return of the limits' storage.
func (w *watch) every(ctx context.Context, interval time.Duration, do func(context.Context)) {
	w.ended.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				do(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
}

func (w *watch) stop(context.Context) error {
	w.cancel()
	w.ended.Wait()
	return nil
}

// count looks how many processes live. Several with counts in memory each let a whole figure through.
func (w *watch) count(ctx context.Context) {
	alive, err := w.jobs.Alive(ctx)
	if err != nil {
		if ctx.Err() == nil {
			w.logger.Warn("the processes could not be counted", "error", err.Error())
		}
		return
	}
	apart, inMemory := w.counts.memory != nil, 0
	for _, process := range alive {
		if process.LimitsStorage == string(config.LimitsInMemory) {
			inMemory++
		}
	}
	w.alive.Store(int64(len(alive)))
	w.metrics.ProcessesAlive(len(alive), apart)
	if !apart || inMemory < 2 {
		w.several.Store(0)
		w.warned = time.Time{}
		return
	}
	w.several.Store(int64(inMemory))
	if now := w.now(); w.warned.IsZero() || now.Sub(w.warned) >= warnEvery {
		w.warned = now
		w.logger.Warn(severalInMemory(inMemory))
	}
}

func severalInMemory(processes int) string {
	return fmt.Sprintf("RATELIMIT_STORAGE_URI is memory:// and %d processes share the database: each process counts for itself, so that about %d times each figure passes", processes, processes)
}

// report is what readyz tells.
func (w *watch) report(ctx context.Context) health.Report {
	ctx, cancel := context.WithTimeout(ctx, readinessPatience)
	defer cancel()
	var report health.Report
	fault := func(text string, err error) {
		if err != nil {
			// The cause may name an address or an account of ours; readyz is public, the log is not.
			w.logger.Warn(text, "error", err.Error())
			report.Faults = append(report.Faults, text)
		}
	}
	if w.ending.Load() {
		report.Faults = append(report.Faults, "stopping")
	}
	fault("the database does not answer", w.db.Ping(ctx))
	fault("the file storage does not answer", w.files(ctx))
	// Its outages are logged when they begin and end; a probe that is answered every few seconds must not repeat them.
	switch missing, handled := w.counts.Standing(ctx); {
	case missing != "":
		report.Faults = append(report.Faults, missing)
	case handled != "":
		report.Warnings = append(report.Warnings, handled)
	}
	if processes := w.several.Load(); processes > 1 {
		report.Warnings = append(report.Warnings, severalInMemory(int(processes)))
	}
	return report
}
