package limits

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// flights is how many batches of a lane are on the wire before decisions wait for each other.
	flights = 1
	// batchSize bounds the decisions that go out together: Redis does nothing else while it runs them.
	batchSize = 64
	// loads is how often a batch is sent for the sake of those whose server did not know the script.
	loads = 3
)

// lane sends decisions to one server. One that comes while another is on the wire waits for it, and goes out together
// with all that came meanwhile: one write, one read and one wake-up of the server for all of them. There is no
// goroutine: the first that waits leads the next batch. It waits for a tenth of the timeout at most, so that a server
// that is slow, or an answer that got lost, does not cost those behind it their time.
type lane struct {
	client   redis.UniversalClient
	patience time.Duration

	mu      sync.Mutex // protects what follows, and the state of the calls here
	flying  int        // batches on the wire
	waiting []*call    // in the order in which they came
}

// callState is where a call is in its lane.
type callState uint8

const (
	callWaits  callState = iota
	callLeads            // it is to send a batch
	callFlies            // another sends it
	callIsDone           // its answer or its error is there
)

// do returns when the call has its answer or its error, or is left behind because its time is up or its caller gone.
func (l *lane) do(ctx context.Context, c *call) (left bool, err error) {
	l.mu.Lock()
	if l.flying >= flights {
		c.state = callWaits
		l.waiting = append(l.waiting, c)
		l.mu.Unlock()
		if left, err := l.follow(ctx, c); left || c.state == callIsDone {
			return left, err
		}
		l.mu.Lock()
	} else {
		l.flying++
	}
	l.lead(ctx, c)
	return false, c.err
}

// follow waits until the call is done or has to lead.
func (l *lane) follow(ctx context.Context, c *call) (left bool, err error) {
	c.timer.Reset(l.patience)
	defer c.timer.Stop()
	for {
		select {
		case <-c.turn:
		case <-ctx.Done():
		case <-c.timer.C:
		}
		l.mu.Lock()
		select {
		case <-c.turn: // its news is the state
		default:
		}
		over := ctx.Err()
		if over == nil && !time.Now().Before(c.deadline) {
			over = context.DeadlineExceeded
		}
		switch {
		case c.state == callIsDone:
			l.mu.Unlock()
			return false, c.err
		case over != nil:
			l.leave(c)
			l.mu.Unlock()
			return true, over
		case c.state == callLeads:
			l.mu.Unlock()
			return false, nil
		case c.state == callWaits:
			l.waiting = slices.DeleteFunc(l.waiting, func(w *call) bool { return w == c })
			c.state = callLeads
			l.flying++
			l.mu.Unlock()
			return false, nil
		}
		c.timer.Reset(time.Until(c.deadline)) // it flies: the answer comes, or is late
		l.mu.Unlock()
	}
}

// leave takes a call out that nobody waits for any more. One that flies is carried out all the same.
func (l *lane) leave(c *call) {
	switch c.state {
	case callWaits:
		l.waiting = slices.DeleteFunc(l.waiting, func(w *call) bool { return w == c })
	case callLeads:
		l.next()
	default:
	}
}

// next makes the first that waits lead, in place of a batch that has landed.
func (l *lane) next() {
	if len(l.waiting) == 0 || l.flying > flights {
		l.flying--
		return
	}
	c := l.waiting[0]
	l.waiting = slices.Delete(l.waiting, 0, 1)
	c.state = callLeads
	c.turn <- struct{}{}
}

// lead sends the call and those that wait. It is entered with the lane locked.
func (l *lane) lead(ctx context.Context, c *call) {
	n := min(len(l.waiting), batchSize-1)
	batch := append(make([]*call, 0, n+1), c)
	batch = append(batch, l.waiting[:n]...)
	l.waiting = slices.Delete(l.waiting, 0, n)
	for _, other := range batch[1:] {
		other.state = callFlies
	}
	l.mu.Unlock()

	if n > 0 {
		ctx = context.WithoutCancel(ctx) // the others' caller has not gone
	}
	ctx, cancel := context.WithDeadline(ctx, c.deadline)
	l.send(ctx, batch)
	cancel()

	l.mu.Lock()
	defer l.mu.Unlock()
	for _, other := range batch[1:] {
		other.state = callIsDone
		other.turn <- struct{}{}
	}
	l.next()
}

// send carries a batch out. What was surely not run is sent once more after a moment, and nothing else. A server that
// does not know the script has run nothing; the first of those calls that it said so of brings the script along, and
// the others follow on the same connection.
func (l *lane) send(ctx context.Context, batch []*call) {
	l.exchange(ctx, batch, false)
	if again := failing(batch, notRun); len(again) > 0 && paused(ctx, shortestPause) {
		l.exchange(ctx, again, false)
	}
	for range loads {
		if batch = failing(batch, unknown); len(batch) == 0 {
			return
		}
		l.exchange(ctx, batch, true)
	}
}

// failing are those calls that have such an error.
func failing(batch []*call, such func(error) bool) []*call {
	var calls []*call
	for _, c := range batch {
		if c.err != nil && such(c.err) {
			calls = append(calls, c)
		}
	}
	return calls
}

// unknown reports whether the server did not know the script.
func unknown(err error) bool { return redis.HasErrorPrefix(err, "NOSCRIPT") }

// paused waits, and reports whether there is time left.
func paused(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// exchange sends a batch once and takes the answers.
func (l *lane) exchange(ctx context.Context, batch []*call, loading bool) {
	if len(batch) == 1 {
		command := batch[0].command(ctx, loading)
		_ = l.client.Process(ctx, command) // the command has its error
		batch[0].answer, batch[0].err = verdictIn(command.Result())
		return
	}
	commands := make([]once, len(batch))
	pipeline := l.client.Pipeline()
	for i, c := range batch {
		commands[i] = c.command(ctx, loading && i == 0)
		_ = pipeline.Process(ctx, commands[i])
	}
	_, _ = pipeline.Exec(ctx) // each command has its own error
	for i, c := range batch {
		c.answer, c.err = verdictIn(commands[i].Result())
	}
}
