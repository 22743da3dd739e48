package resting

import (
	"context"
	"sync"
	"time"
)

// Watch is what a part of the server does again and again between its Start and its Stop. The zero Watch is ready.
type Watch struct {
	mu    sync.Mutex // guards what follows
	end   context.CancelFunc
	again *Recurrent
}

// Start has do repeated as Again has, until Stop: the end of ctx ends nothing. A second Start without a Stop between does
// nothing.
func (w *Watch) Start(ctx context.Context, first time.Duration, do func(context.Context) (next time.Duration)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.again != nil {
		return
	}
	ctx, w.end = context.WithCancel(context.WithoutCancel(ctx))
	w.again = Again(ctx, first, do)
}

// Stop ends what Start began and waits for it. It may be called without Start and more than once.
func (w *Watch) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.again == nil {
		return
	}
	w.end()
	w.again.End()
	w.again = nil
}
