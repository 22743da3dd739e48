package limits

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"
)

// clockedFunction is limits_take_1 with its clock replaced by a setting of the session; nothing else of it is changed.
// It lives in the test's database alone.
type clockedFunction struct{ conn *pgx.Conn }

func newClockedFunction(t *testing.T) *clockedFunction {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), migratedPostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	var text string
	if err := conn.QueryRow(t.Context(), "SELECT pg_get_functiondef('limits_take_1'::regproc)").Scan(&text); err != nil {
		t.Fatal(err)
	}
	const clock = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
	if strings.Count(text, clock) != 1 || strings.Count(text, "clock_timestamp") != 1 {
		t.Fatal("the function reads its clock otherwise than this test thinks")
	}
	text = strings.Replace(text, "limits_take_1", "limits_take_clocked", 1)
	if _, err := conn.Exec(t.Context(), strings.Replace(text, clock, "current_setting('test.now')::bigint", 1)); err != nil {
		t.Fatal(err)
	}
	return &clockedFunction{conn: conn}
}

// decide answers as take.lua does.
func (c *clockedFunction) decide(prefix, mode string, stack []Limit, now time.Time) ([]int64, error) {
	var names, commons []string
	var numbers []int64
	for i := range stack {
		s := spanOf(stack[i].Rate.Period)
		names, commons = append(names, prefix+stack[i].String()), append(commons, prefix+"common")
		numbers = append(numbers, stack[i].Rate.Limit, s.length, s.quantum, s.tick/int64(time.Microsecond), stack[i].Cost)
	}
	ctx := context.Background()
	if _, err := c.conn.Exec(ctx, "SELECT set_config('test.now', $1, false)", fmt.Sprint(now.UnixMicro())); err != nil {
		return nil, err
	}
	var answer []int64
	err := c.conn.QueryRow(ctx, "SELECT limits_take_clocked($1, false, $2, $3, $4)", mode == "take", names, commons, numbers).Scan(&answer)
	if err != nil {
		return nil, err
	}
	return append(answer[:1], answer[2:]...), nil
}

// checkRows: a row is kept until nothing is counted, whatever the clock did, and a counter is small.
func (c *clockedFunction) checkRows(prefix string, stack []Limit, windows map[string]*twin) error {
	for i := range stack {
		w := windows[stack[i].String()]
		if w == nil {
			continue
		}
		var endsAt, lookAt int64
		var quanta, size int
		err := c.conn.QueryRow(context.Background(),
			"SELECT ends_at, look_at, cardinality(moments), pg_column_size(c.*) FROM limit_counters AS c WHERE name = $1", prefix+stack[i].String()).
			Scan(&endsAt, &lookAt, &quanta, &size)
		if err != nil {
			return err
		}
		s := spanOf(stack[i].Rate.Period)
		if want := (w.last() + s.length) * s.tick / int64(time.Microsecond); endsAt != want || lookAt > endsAt {
			return fmt.Errorf("a counter ends at %d and is looked at by the sweep at %d, want %d", endsAt, lookAt, want)
		}
		if quanta != int(w.size) || quanta > resolution+1 || size > 1536 {
			return fmt.Errorf("a counter of %d quanta has %d and takes %d bytes", w.size, quanta, size)
		}
	}
	return nil
}

// The rules of windows are written a third time in the function of PostgreSQL: the same requests by the same clock,
// which steps back at times, have the same numbers as in window.go.
func TestFunctionDecidesAsMemoryDoes(t *testing.T) {
	t.Parallel()
	function := newClockedFunction(t)
	rapid.Check(t, func(t *rapid.T) {
		prefix := "test-" + rand.Text() + ":"
		period := rapid.SampledFrom([]time.Duration{time.Minute, 7 * time.Minute, 24 * time.Hour, coarseFrom, MaxWindow}).Draw(t, "period")
		now := time.Unix(1790000000, 0)
		windows := map[string]*twin{}
		answer := []int64{0}
		for range rapid.IntRange(1, 60).Draw(t, "arrivals") {
			now = now.Add(drawMoment(period, answer).Draw(t, "pause").Truncate(time.Microsecond))
			if rapid.IntRange(0, 20).Draw(t, "step") == 0 {
				now = now.Add(-time.Duration(rapid.Int64Range(0, int64(2*period)).Draw(t, "back")).Truncate(time.Microsecond))
			}
			mode := rapid.SampledFrom([]string{"take", "take", "take", "peek"}).Draw(t, "mode")
			stack := drawStack(t, period)
			answer = function.compare(t, prefix, mode, stack, windows, now)
		}
	})
}

// compare wants one decision to be the same in both.
func (c *clockedFunction) compare(t rapid.TB, prefix, mode string, stack []Limit, windows map[string]*twin, now time.Time) []int64 {
	t.Helper()
	want := expected(mode, stack, windows, now)
	got, err := c.decide(prefix, mode, stack, now)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s of %v: number %d is %d in PostgreSQL, %d in memory", mode, stack, i, got[i], want[i])
		}
	}
	if err := c.checkRows(prefix, stack, windows); err != nil {
		t.Fatal(err)
	}
	return got
}

// Moments and totals have 31 bits: a counter that is never idle for years, and one that counts billions, are counted
// from a later base again and again.
func TestFunctionOfALongLife(t *testing.T) {
	t.Parallel()
	function := newClockedFunction(t)
	for name, c := range map[string]struct {
		period, pause time.Duration
		cost          int64
	}{
		"fine ticks":   {coarseFrom, coarseFrom / 40, 1},
		"coarse ticks": {MaxWindow, MaxWindow / 40, 1},
		"a burst":      {time.Minute, time.Second / 2, 1},
		"billions":     {time.Hour, 17 * time.Minute, 500_000_000},
	} {
		windows := map[string]*twin{}
		now, bases := time.Unix(1790000000, 123456000), map[int64]bool{}
		for range 300 {
			now = now.Add(c.pause)
			stack := []Limit{{Plan: AccountRead, Key: Key{ID: 5}, Rate: Rate{Limit: MaxFigure, Period: c.period}, Cost: c.cost}}
			function.compare(t, name, "take", stack, windows, now)
			var base int64
			if err := function.conn.QueryRow(t.Context(), "SELECT base FROM limit_counters WHERE name = $1", name+stack[0].String()).Scan(&base); err != nil {
				t.Fatal(err)
			}
			bases[base] = true
		}
		if len(bases) < 2 && name != "a burst" {
			t.Errorf("%s: the log was never counted from a later base", name)
		}
		if got := windows["user:5:read"].size; name == "a burst" && got < resolution/2 {
			t.Errorf("the burst filled only %d quanta", got)
		}
	}
}
