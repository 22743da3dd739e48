package limits

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Postgres is the store that several processes share through the application's PostgreSQL database, over connections
// of its own. A decision is one function and one round trip, by the server's clock. Where PostgreSQL does not answer
// nothing is admitted: a decision, a look and a lease fail with problems.LimitsUnavailable.
type Postgres struct {
	pool    *pgxpool.Pool
	timeout time.Duration
	// patience is the longest that a batch of a sweep, or a count, waits for the server.
	patience time.Duration
	now      func() time.Time
	space    *space

	mu    sync.Mutex // protects epoch
	epoch string     // as last seen; empty before the first look
}

// Take implements Store.
func (p *Postgres) Take(ctx context.Context, stack []Limit, room []State) (Decision, error) {
	states, admitted, err := p.run(ctx, true, stack, room)
	if err != nil {
		return Decision{}, err
	}
	return Decision{Admitted: admitted, States: states, Binding: bindingOf(states)}, nil
}

// Peek implements Store.
func (p *Postgres) Peek(ctx context.Context, stack []Limit) ([]State, error) {
	states, _, err := p.run(ctx, false, stack, nil)
	return states, err
}

// run has the function of models/migrations/postgres decide. Its answer is taken when PostgreSQL has said that the
// transaction is kept: a row whose commit failed is an error, and admits nothing.
func (p *Postgres) run(ctx context.Context, taking bool, stack []Limit, room []State) (states []State, admitted bool, err error) {
	if err := check(stack); err != nil {
		return nil, false, err
	}
	if len(stack) == 0 {
		return nil, true, nil
	}
	names, commons, numbers := make([]string, len(stack)), make([]string, len(stack)), make([]int64, 0, 5*len(stack))
	for i := range stack {
		l := &stack[i]
		s := spanOf(l.Rate.Period)
		names[i], commons[i] = rowName(l), commonName(l)
		numbers = append(numbers, l.Rate.Limit, s.length, s.quantum, s.tick/int64(time.Microsecond), l.Cost)
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	var answer verdict // in the place of the clock it has how many counters were made
	err = p.pool.QueryRow(ctx, "SELECT limits_take_1($1, $2, $3, $4, $5)", taking, p.space.crowded(), names, commons, numbers).Scan((*[]int64)(&answer))
	if err == nil && len(answer) != 2+4*len(stack) {
		err = fmt.Errorf("the function answered %d numbers for %d limits", len(answer), len(stack))
	}
	if err != nil {
		return nil, false, unavailable("deciding about limits in PostgreSQL", err)
	}
	p.space.made(answer[1])
	states = statesIn(room, len(stack))
	answer.write(states, stack, p.now())
	return states, answer.admitted(), nil
}

// Ping asks whether PostgreSQL answers; its error is the reason, for an operator.
func (p *Postgres) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	if err := p.pool.Ping(ctx); err != nil {
		return fmt.Errorf("asking PostgreSQL: %w", err)
	}
	return nil
}

// Close implements Store. It waits for the decisions under way.
func (p *Postgres) Close() error {
	p.pool.Close()
	return nil
}
