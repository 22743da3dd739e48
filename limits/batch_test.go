package limits

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tests/testservices"
)

// gate holds the commands of a client back, and looks at them.
type gate struct {
	single   func(redis.Cmder)                 // before one command
	together func([]redis.Cmder) []redis.Cmder // before a pipeline: what of it is sent
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		if g.single != nil {
			g.single(command)
		}
		return next(ctx, command)
	}
}

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		if g.together != nil {
			commands = g.together(commands)
		}
		return next(ctx, commands)
	}
}

// waitingIn waits until so many calls wait in the lane.
func waitingIn(t *testing.T, l *lane, n int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		l.mu.Lock()
		waiting := len(l.waiting)
		l.mu.Unlock()
		if waiting == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d calls wait, want %d", waiting, n)
		}
		<-time.After(time.Millisecond)
	}
}

// crowd has one decision on the wire, held back, and n that wait for it. Land lets them go on and waits for all.
type crowd struct {
	*Redis

	results []error // of those that wait
	land    func()
}

func newCrowd(ctx context.Context, t *testing.T, n int, g *gate) *crowd {
	t.Helper()
	r := open(t, testservices.OwnRedis(t), RedisOptions{Timeout: 10 * time.Minute}) // a tenth of it is patience
	stack := readStack(MaxFigure, time.Hour)
	admitted(t, r, stack)
	held, flying := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	g.single = func(redis.Cmder) {
		if first.CompareAndSwap(false, true) {
			close(flying)
			<-held
		}
	}
	r.client.AddHook(g)
	c := &crowd{Redis: r, results: make([]error, n)}
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := r.Take(t.Context(), stack, nil); err != nil {
			t.Errorf("the leader: %v", err)
		}
	})
	<-flying
	for i := range n {
		group.Go(func() {
			d, err := r.Take(ctx, stack, nil)
			if c.results[i] = err; err == nil && !d.Admitted {
				t.Error("refused")
			}
		})
	}
	c.land = func() {
		close(held)
		group.Wait()
	}
	waitingIn(t, &r.lanes[0], n)
	return c
}

// counted is what the crowd has used, the one before it and the one on the wire included.
func (c *crowd) counted(t *testing.T) int64 {
	t.Helper()
	return MaxFigure - remainingIn(t, c.Redis, readStack(MaxFigure, time.Hour))[0]
}

func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var sizes []int
	g := &gate{together: func(commands []redis.Cmder) []redis.Cmder {
		mu.Lock()
		defer mu.Unlock()
		sizes = append(sizes, len(commands))
		return commands
	}}
	c := newCrowd(t.Context(), t, 150, g)
	c.land()
	if len(sizes) < 3 || sizes[0] != batchSize || sizes[1] != batchSize {
		t.Errorf("150 decisions went out in batches of %v", sizes)
	}
	if err := errors.Join(c.results...); err != nil || c.counted(t) != 152 {
		t.Errorf("%d were counted of 152: %v", c.counted(t), err)
	}
}

func TestFailedBatchFailsEachOfItsDecisions(t *testing.T) {
	t.Parallel()
	g := &gate{}
	c := newCrowd(t.Context(), t, 20, g)
	g.together = func(commands []redis.Cmder) []redis.Cmder {
		_ = c.client.Close()
		return commands
	}
	c.land()
	for i, err := range c.results {
		if !problems.Is(err, problems.LimitsUnavailable) {
			t.Errorf("decision %d of a batch that failed: %v", i, err)
		}
	}
}

// The script is sent once, and what has run is not run again.
func TestBatchSurvivesALostScript(t *testing.T) {
	t.Parallel()
	g := &gate{}
	c := newCrowd(t.Context(), t, 20, g)
	other := redis.NewClient(c.client.(*redis.Client).Options())
	defer other.Close()
	var batches [][]string
	g.together = func(commands []redis.Cmder) []redis.Cmder {
		if len(batches) == 0 {
			other.ScriptFlush(t.Context())
		}
		var names []string
		for _, command := range commands {
			names = append(names, command.Name())
		}
		batches = append(batches, names)
		return commands
	}
	c.land()
	if err := errors.Join(c.results...); err != nil || c.counted(t) != 22 {
		t.Errorf("%d were counted of 22: %v", c.counted(t), err)
	}
	if len(batches) != 2 || len(batches[1]) != 20 || batches[1][0] != "eval" || slices.Contains(batches[1][1:], "eval") {
		t.Errorf("sent: %v", batches)
	}
}

// Another process may have loaded the script while a batch was being run: only the first of it was not run.
func TestBatchRunsAgainOnlyWhatWasNotRun(t *testing.T) {
	t.Parallel()
	g := &gate{}
	c := newCrowd(t.Context(), t, 20, g)
	unknown := c.client.EvalSha(t.Context(), "0000000000000000000000000000000000000000", nil).Err()
	var first atomic.Bool
	g.together = func(commands []redis.Cmder) []redis.Cmder {
		if !first.CompareAndSwap(false, true) {
			return commands
		}
		commands[0].SetErr(unknown)
		return commands[1:]
	}
	c.land()
	if err := errors.Join(c.results...); err != nil || c.counted(t) != 22 {
		t.Errorf("%d were counted of 22: %v", c.counted(t), err)
	}
}

// The leader's caller may go; those that it sends stay.
func TestBatchGoesOnWithoutTheCallerOfItsLeader(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	g := &gate{}
	c := newCrowd(ctx, t, 5, g)
	g.together = func(commands []redis.Cmder) []redis.Cmder {
		cancel()
		return commands
	}
	c.land()
	if n := c.counted(t); n != 7 {
		t.Errorf("%d were counted of 7", n)
	}
}

func TestFollowerLeavesWithItsCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := newCrowd(ctx, t, 5, &gate{})
	cancel()
	waitingIn(t, &c.lanes[0], 0)
	c.land()
	for i, err := range c.results {
		if !problems.Is(err, problems.LimitsUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("follower %d whose caller has gone: %v", i, err)
		}
	}
	if n := c.counted(t); n != 2 {
		t.Errorf("%d were counted; those that left before they were sent are none", n)
	}
	if !admitted(t, c.Redis, readStack(MaxFigure, time.Hour)) {
		t.Error("the lane is stuck")
	}
}

// A server that is slow, and answers in time, must not cost the second caller twice its time.
func TestSlowServerDecidesInTimeForAll(t *testing.T) {
	t.Parallel()
	server := testservices.StoppableRedis(t)
	proxy := testservices.NewProxy(t, server.Address)
	r := open(t, "redis://"+proxy.Address, RedisOptions{Timeout: 3 * time.Second})
	stack := readStack(1000, time.Hour)
	var group sync.WaitGroup
	var connections [4]*redis.Conn // made beforehand, which takes trips of its own
	for i := range connections {
		connections[i] = r.client.(*redis.Client).Conn()
		if err := connections[i].Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, connection := range connections {
		_ = connection.Close()
	}
	proxy.Delay(time.Second) // two seconds there and back
	for i := range 4 {
		group.Go(func() {
			<-time.After(time.Duration(i) * 20 * time.Millisecond)
			if _, err := r.Take(t.Context(), stack, nil); err != nil {
				t.Errorf("decision %d: %v", i, err)
			}
		})
	}
	group.Wait()
}
