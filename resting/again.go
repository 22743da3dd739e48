package resting

import (
	"context"
	"sync"
	"time"
)

// Recurrent is something that is done now and then. Between two times it has no goroutine.
type Recurrent struct {
	ctx context.Context
	do  func(context.Context) (next time.Duration)

	mu      sync.Mutex // guards what follows, and that nothing begins when it has ended
	timer   *time.Timer
	ended   bool
	running sync.WaitGroup
}

// Again calls do after the first wait, and after each that it returns, until one is not positive or ctx is over. The
// calls never overlap. End must be called.
func Again(ctx context.Context, first time.Duration, do func(context.Context) (next time.Duration)) *Recurrent {
	r := &Recurrent{ctx: ctx, do: do}
	r.mu.Lock() // a first wait may be over before its timer is known
	defer r.mu.Unlock()
	r.timer = time.AfterFunc(first, r.run)
	return r
}

func (r *Recurrent) run() {
	if !r.begin() {
		return
	}
	defer r.running.Done()
	next := r.do(r.ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if next > 0 && !r.ended {
		r.timer.Reset(next)
	}
}

func (r *Recurrent) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.ctx.Err() != nil {
		return false
	}
	r.running.Add(1)
	return true
}

// End lets nothing begin any more, and waits for what is being done: whoever wants that to be soon ends the context
// first. It must not be called from within.
func (r *Recurrent) End() {
	r.mu.Lock()
	r.ended = true
	r.timer.Stop()
	r.mu.Unlock()
	r.running.Wait()
}
