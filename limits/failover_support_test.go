package limits_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/problems"
)

// storage is a shared one of which a test says when it fails.
type storage struct {
	*limits.Memory

	mu    sync.Mutex // protects what follows
	fault error
	asked int
}

func (s *storage) ask() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return s.fault
}

func (s *storage) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = err
}

func (s *storage) questions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Epoch implements limits.Shared.
func (s *storage) Epoch(context.Context) (bool, error) { return false, nil }

func (s *storage) Take(ctx context.Context, stack []limits.Limit, room []limits.State) (limits.Decision, error) {
	if err := s.ask(); err != nil {
		return limits.Decision{}, err
	}
	return s.Memory.Take(ctx, stack, room)
}

func (s *storage) Peek(ctx context.Context, stack []limits.Limit) ([]limits.State, error) {
	if err := s.ask(); err != nil {
		return nil, err
	}
	return s.Memory.Peek(ctx, stack)
}

func (s *storage) Acquire(ctx context.Context, key string, places int, ttl time.Duration) (limits.Lease, bool, error) {
	if err := s.ask(); err != nil {
		return limits.Lease{}, false, err
	}
	return s.Memory.Acquire(ctx, key, places, ttl)
}

func (s *storage) Renew(ctx context.Context, lease limits.Lease, ttl time.Duration) (bool, error) {
	if err := s.ask(); err != nil {
		return false, err
	}
	return s.Memory.Renew(ctx, lease, ttl)
}

func (s *storage) Release(ctx context.Context, lease limits.Lease) error {
	if err := s.ask(); err != nil {
		return err
	}
	return s.Memory.Release(ctx, lease)
}

// counted is what a Failover told its metrics.
type counted struct {
	mu       sync.Mutex // protects what follows
	outages  []bool
	decision map[string]int
}

func (c *counted) LimitsOutage(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outages = append(c.outages, away)
}

func (c *counted) DecidedWithoutStorage(class, policy string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.decision[class+" "+policy]++
}

// installation is a Failover before a storage that a test governs.
type installation struct {
	*limits.Failover

	t        *testing.T
	storage  *storage
	now      time.Time
	replicas int
	log      bytes.Buffer
	counted  counted
}

func install(t *testing.T, policy string) *installation {
	t.Helper()
	parsed, err := config.ParseOnStorageError(policy)
	if err != nil {
		t.Fatal(err)
	}
	i := &installation{t: t, now: time.Unix(1_800_000_000, 0), replicas: 1, counted: counted{decision: map[string]int{}}}
	now := func() time.Time { return i.now }
	i.storage = &storage{Memory: limits.NewMemory(now)}
	i.Failover = limits.NewFailover(i.storage, limits.FailoverOptions{
		Policy: parsed, Replicas: func() int { return i.replicas }, Metrics: &i.counted,
		Logger: slog.New(slog.NewTextHandler(&i.log, nil)), Now: now,
	})
	return i
}

// running is one whose storage answers.
func running(t *testing.T, policy string) *installation {
	t.Helper()
	i := install(t, policy)
	i.Probe(t.Context())
	if !i.Reached() || i.Away() {
		t.Fatal("a storage that answers counts as away")
	}
	return i
}

var errRefused = limits.Unavailable(errors.New("connection refused"))

// goAway stops the storage and has it noticed.
func (i *installation) goAway() {
	i.t.Helper()
	i.storage.fail(errRefused)
	for range 3 {
		if _, err := i.For(limits.OnWrite).Peek(i.t.Context(), reads(1)); err != nil && !problems.Is(err, problems.LimitsUnavailable) {
			i.t.Fatal(err)
		}
	}
	if !i.Away() {
		i.t.Fatal("a storage that failed three times does not count as away")
	}
}

func (i *installation) comeBack() {
	i.t.Helper()
	i.storage.fail(nil)
	i.Probe(i.t.Context())
	if i.Away() {
		i.t.Fatal("a storage that answers a probe counts as away")
	}
}

func (i *installation) lines() []string {
	return strings.Split(strings.TrimSuffix(i.log.String(), "\n"), "\n")
}

func reads(figure int64) []limits.Limit {
	return []limits.Limit{{
		Plan: limits.AccountRead, Key: limits.Key{Org: 3, ID: 5}, Rate: limits.Rate{Limit: figure, Period: time.Minute}, Cost: 1,
	}}
}

// admittedOf counts how many of so many reads pass.
func (i *installation) admittedOf(class limits.Class, attempts int, figure int64) (admitted int) {
	i.t.Helper()
	for range attempts {
		decision, err := i.For(class).Take(i.t.Context(), reads(figure), nil)
		if err != nil {
			i.t.Fatal(err)
		}
		if decision.Admitted {
			admitted++
		}
	}
	return admitted
}
