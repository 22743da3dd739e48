package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stenometer/stenometer/api/health"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/limits"
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
	// sweepEvery is how often counters in memory that count nothing any more are let go.
	sweepEvery = 30 * time.Second
)

// watch knows how the server stands: for readyz, for the log, and for the metrics.
type watch struct {
	db *models.DB
	// files asks whether the file storage can be used.
	files    func(ctx context.Context) error
	counts   counts
	jobs     *jobs.Jobs
	inMemory bool
	metrics  *metrics.Metrics
	logger   *slog.Logger
	now      func() time.Time

	ending atomic.Bool
	cancel context.CancelFunc
	ended  sync.WaitGroup
	// warned and swept are touched by the counting goroutine alone.
	warned, swept time.Time
	// several is how many processes count in memory while that is more than one; else 0.
	several atomic.Int64
}

// stopping withdraws readiness: load balancers send no new requests while the running ones end.
func (w *watch) stopping() { w.ending.Store(true) }

// start begins to count the processes that share the database.
func (w *watch) start(ctx context.Context) error {
	ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.ended.Go(func() {
		tick := time.NewTicker(countEvery)
		defer tick.Stop()
		for {
			w.count(ctx)
			w.sweep()
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return nil
}

func (w *watch) stop(context.Context) error {
	w.cancel()
	w.ended.Wait()
	return nil
}

// sweep lets go of idle counters: after a flood of addresses their memory returns.
func (w *watch) sweep() {
	memory, is := w.counts.(*limits.Memory)
	if now := w.now(); is && now.Sub(w.swept) >= sweepEvery {
		w.swept = now
		memory.Sweep()
	}
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
	inMemory := 0
	for _, process := range alive {
		if process.LimitsStorage == memoryScheme {
			inMemory++
		}
	}
	w.metrics.ProcessesAlive(len(alive), w.inMemory)
	if !w.inMemory || inMemory < 2 {
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
	if err := w.counts.Ping(ctx); err != nil {
		// Handled by policy: requests are refused with 503 until it is back, and probes must not make it worse.
		w.logger.Warn("the storage of the limits does not answer", "error", err.Error())
		report.Warnings = append(report.Warnings, "the storage of the limits does not answer: requests are refused")
	}
	if processes := w.several.Load(); processes > 1 {
		report.Warnings = append(report.Warnings, severalInMemory(int(processes)))
	}
	return report
}
