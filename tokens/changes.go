package tokens

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stenometer/stenometer/models"
)

const (
	// counterName is the row of change_counters that every change of a credential raises.
	counterName = "credentials"
	// trusted is how old a reading of the counter may be.
	trusted = time.Second
)

// changes is the last known value of the counter. Ages are measured by the machine's own monotonic clock, never by
// the clock of the rules: a clock that is set back must not keep a dead credential alive.
type changes struct {
	clock func() time.Time

	mu    sync.Mutex // protects what follows
	value int64
	asOf  time.Time // when the reading began; zero when there was none
}

// read notes a value that the database gave. Of two readings the one that began later counts: the other may have
// been made before a change.
func (c *changes) read(value int64, began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !began.Before(c.asOf) {
		c.value, c.asOf = value, began
	}
}

// raised notes a change that this process has committed. Two of them may report in the other order.
func (c *changes) raised(value int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.value, c.asOf = max(value, c.value), c.clock()
}

func (c *changes) known() (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, !c.asOf.IsZero() && c.clock().Sub(c.asOf) <= trusted
}

// Changes is the number of changes that ended or narrowed credentials, in any process, as of at most a second ago.
func (t *Tokens) Changes(ctx context.Context) (int64, error) {
	if value, ok := t.changes.known(); ok {
		return value, nil
	}
	return t.readChanges(ctx)
}

// Read makes sure that every change committed before its call is known in this process, whoever made it.
func (t *Tokens) Read(ctx context.Context) error {
	_, err := t.readChanges(ctx)
	return err
}

func (t *Tokens) readChanges(ctx context.Context) (int64, error) {
	began := t.changes.clock()
	var counter models.ChangeCounter
	err := t.db.Read.WithContext(ctx).Where("name = ?", counterName).Take(&counter).Error
	if err != nil {
		return 0, fmt.Errorf("read the counter of credential changes: %w", err)
	}
	t.changes.read(counter.Value, began)
	return counter.Value, nil
}

// poll keeps the reading fresh. What it can't read is asked for by whoever needs it, so an error is logged once
// per outage and no more.
func (t *Tokens) poll(ctx context.Context) {
	tick := time.NewTicker(t.options.PollEvery)
	defer tick.Stop()
	failing := false
	for {
		asking, done := context.WithTimeout(ctx, trusted)
		_, err := t.readChanges(asking)
		done()
		if err != nil && !failing && ctx.Err() == nil {
			t.options.Logger.ErrorContext(ctx, "the counter of credential changes can't be read", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
