package jobs

import (
	"context"
	"log/slog"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// fromWarn passes on what River warns of. What it tells at level info, each job's errors among it, we say
// ourselves or nobody needs to know.
type fromWarn struct{ slog.Handler }

func (h fromWarn) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

func (h fromWarn) WithAttrs(attrs []slog.Attr) slog.Handler {
	return fromWarn{h.Handler.WithAttrs(attrs)}
}
func (h fromWarn) WithGroup(name string) slog.Handler { return fromWarn{h.Handler.WithGroup(name)} }

// errorLog tells of every failed attempt, in the log alone: what an owner is told is the worker's affair.
type errorLog struct{ logger *slog.Logger }

func (l errorLog) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	l.logger.WarnContext(ctx, "job failed", "job", job.ID, "kind", job.Kind,
		"attempt", job.Attempt, "attempts", job.MaxAttempts, "error", err)
	return nil
}

func (l errorLog) HandlePanic(ctx context.Context, job *rivertype.JobRow, value any, trace string) *river.ErrorHandlerResult {
	l.logger.ErrorContext(ctx, "job panicked", "job", job.ID, "kind", job.Kind, "panic", value, "trace", trace)
	return nil
}
