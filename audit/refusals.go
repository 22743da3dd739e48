package audit

import (
	"context"
	"sync"
	"time"
)

const (
	// refusedEvery is how often the same refusal is written: a refused request takes no room in any limit, and whoever
	// repeats one for a day must not fill the database by it.
	refusedEvery = time.Minute
	// maxRefused bounds what is remembered of refusals.
	maxRefused = 10_000
)

// refusal is what makes two refusals the same.
type refusal struct {
	actor, token int64
	action       string
}

// refusals remembers those that were written lately.
type refusals struct {
	mu   sync.Mutex // protects last
	last map[refusal]time.Time
}

// due reports whether a refusal is to be written now, and remembers that it was.
func (r *refusals) due(which refusal, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, known := r.last[which]; known && now.Sub(last) < refusedEvery && !now.Before(last) {
		return false
	}
	if r.last == nil || len(r.last) >= maxRefused {
		r.last = make(map[refusal]time.Time)
	}
	r.last[which] = now
	return true
}

// Refused adds the entry of what somebody was not let do, once a minute for each action of a caller.
func (l *Log) Refused(ctx context.Context, entry Entry) {
	if l.refused.due(refusal{entry.ActorID, entry.TokenID, entry.Action}, l.options.Now()) {
		l.Write(ctx, entry)
	}
}
