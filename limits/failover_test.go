package limits_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/problems"
)

func TestWhileTheStorageAnswersItDecides(t *testing.T) {
	t.Parallel()
	i := running(t, "deny,deny,deny")
	i.replicas = 3
	for _, class := range []limits.Class{limits.OnRead, limits.OnWrite, limits.OnProcess} {
		if got := i.admittedOf(class, 4, 9); class != limits.OnProcess && got != 4 || class == limits.OnProcess && got != 1 {
			t.Errorf("%v: %d pass; the classes share the storage's counters", class, got)
		}
	}
	if len(i.counted.decision) != 0 || i.log.Len() != 0 {
		t.Errorf("counted %v, logged %s", i.counted.decision, &i.log)
	}
}

// Each class has its own policy: counted here at this process's part of the figure, which the answer shows, or 503.
func TestWithoutTheStorageEachClassFollowsItsPolicy(t *testing.T) {
	t.Parallel()
	i := running(t, "local,local,deny")
	i.replicas = 3
	i.goAway()
	asked := i.storage.questions()
	if got := i.admittedOf(limits.OnRead, 30, 20); got != 6 {
		t.Errorf("%d of 30 reads pass, want a third of 20, rounded down", got)
	}
	decision, err := i.For(limits.OnWrite).Take(t.Context(), reads(20), make([]limits.State, 0, 4))
	if err != nil || decision.Admitted || decision.States[0].Context.Limit != 6 || decision.States[0].Rate.Limit != 6 {
		t.Errorf("a write after them: %+v, %v, want a refusal that shows 6", decision, err)
	}
	states, err := i.For(limits.OnRead).Peek(t.Context(), reads(20))
	if err != nil || states[0].Context.Limit != 6 || states[0].Context.Remaining != 0 {
		t.Errorf("a peek: %+v, %v", states, err)
	}
	for range 3 {
		_, err := i.For(limits.OnProcess).Take(t.Context(), reads(20), nil)
		answer := problems.Of(err)
		if answer.Kind != problems.LimitsUnavailable || answer.RetryAfter != time.Second {
			t.Errorf("paid work: %v, want limits_unavailable with a wait of a second", err)
		}
	}
	if i.storage.questions() != asked {
		t.Error("a storage that counts as away was asked")
	}
	want := map[string]int{"read local": 31, "write local": 4, "process deny": 3}
	if !maps.Equal(i.counted.decision, want) {
		t.Errorf("counted %v, want %v", i.counted.decision, want)
	}
}

func TestAPartIsNeverNothing(t *testing.T) {
	t.Parallel()
	i := running(t, "local,local,local")
	i.goAway()
	i.replicas = 5
	if got := i.admittedOf(limits.OnRead, 4, 3); got != 1 {
		t.Errorf("%d of 4 reads pass at a fifth of 3, want 1", got)
	}
	i.replicas = 0
	if got := i.admittedOf(limits.OnRead, 4, 3); got != 2 {
		t.Errorf("%d more pass at 3 once it is alone, want 2", got)
	}
}

// A batch weighs at most the figure; it must not be refused for ever because the part of the figure is smaller.
func TestABatchFitsThePartOfItsFigure(t *testing.T) {
	t.Parallel()
	i := running(t, "local,local,local")
	i.replicas = 2
	i.goAway()
	take := func(cost int64) limits.Decision {
		stack := reads(10)
		stack[0].Cost = cost
		decision, err := i.For(limits.OnWrite).Take(t.Context(), stack, nil)
		if err != nil {
			t.Fatal(err)
		}
		return decision
	}
	if d := take(11); d.Admitted || d.States[0].Wait >= 0 {
		t.Errorf("more than the whole figure: %+v, want a refusal for ever", d)
	}
	if d := take(10); !d.Admitted || d.States[0].Context.Remaining != 0 {
		t.Errorf("the whole figure: %+v, want it to take the whole part", d)
	}
}

// Only a storage that did not answer is away: not one whose caller left, nor one that was asked nonsense.
func TestWhatIsNoFailureOfTheStorage(t *testing.T) {
	t.Parallel()
	i := running(t, "local,local,local")
	gone, leave := context.WithCancel(t.Context())
	leave()
	i.storage.fail(limits.Unavailable(context.Canceled))
	for range 10 {
		if _, err := i.For(limits.OnRead).Take(gone, reads(5), nil); !errors.Is(err, context.Canceled) || problems.Is(err, problems.LimitsUnavailable) {
			t.Fatalf("a caller that left: %v", err)
		}
	}
	i.storage.fail(nil)
	for range 10 {
		_, err := i.For(limits.OnRead).Take(t.Context(), reads(0), nil)
		if err == nil || problems.Is(err, problems.LimitsUnavailable) {
			t.Fatalf("a figure of 0: %v, want a fault of the program", err)
		}
	}
	if i.Away() || len(i.counted.decision) != 0 {
		t.Errorf("away %v, decided %v", i.Away(), i.counted.decision)
	}
	i.replicas = 3
	i.goAway()
	if _, err := i.For(limits.OnRead).Take(t.Context(), reads(0), nil); err == nil {
		t.Error("dividing a figure of 0 made a limit of it")
	}
}

// A storage that reads but cannot write is away: refusals and looks do not end the row of failures.
func TestOnlyWhatIsCountedShowsThatTheStorageCounts(t *testing.T) {
	t.Parallel()
	i := running(t, "local,local,local")
	i.admittedOf(limits.OnRead, 1, 1)
	for range 3 {
		i.storage.fail(limits.Unavailable(errors.New("OOM command not allowed")))
		i.admittedOf(limits.OnRead, 1, 50)
		i.storage.fail(nil)
		if i.Away() {
			break
		}
		i.admittedOf(limits.OnRead, 1, 1)
		if _, err := i.For(limits.OnRead).Peek(t.Context(), reads(5)); err != nil {
			t.Fatal(err)
		}
	}
	if !i.Away() {
		t.Error("a storage that refuses to count three times in a row does not count as away")
	}
}

// One line says that an outage began, why and what happens meanwhile, and one that it ended.
func TestAnOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	i := running(t, "local,local,deny")
	i.goAway()
	for range 50 {
		i.Probe(t.Context())
		i.admittedOf(limits.OnRead, 1, 5)
	}
	i.now = i.now.Add(90 * time.Second)
	i.comeBack()
	i.admittedOf(limits.OnRead, 1, 5)
	lines := i.lines()
	if len(lines) != 2 {
		t.Fatalf("%d lines:\n%s", len(lines), &i.log)
	}
	for n, parts := range [][]string{
		{"level=ERROR", "connection refused", "reads and writes are counted by each process, paid work is refused"},
		{"level=INFO", "answers again", "1m30s"},
	} {
		for _, part := range parts {
			if !strings.Contains(lines[n], part) {
				t.Errorf("line %d lacks %q: %s", n, part, lines[n])
			}
		}
	}
	if got := i.counted.outages; len(got) != 3 || got[0] || !got[1] || got[2] {
		t.Errorf("the metrics were told %v", got)
	}
}

// A storage that fails now and then is noticed too, at most once a minute.
func TestSingleFailuresAreLoggedAtMostOnceAMinute(t *testing.T) {
	t.Parallel()
	i := running(t, "local,local,local")
	for second := range 130 {
		i.now = i.now.Add(time.Second)
		i.storage.fail(errRefused)
		i.admittedOf(limits.OnWrite, 1, 1000)
		i.storage.fail(nil)
		i.admittedOf(limits.OnWrite, 1, 1000)
		if i.Away() {
			t.Fatalf("away after %d single failures", second+1)
		}
	}
	if lines := i.lines(); len(lines) != 3 || !strings.Contains(lines[0], "level=WARN") {
		t.Errorf("%d lines in 130 seconds:\n%s", len(lines), &i.log)
	}
}

// Before the storage was ever reached, the policy decides, and the server is not ready.
func TestAStorageThatWasNeverReachedCountsAsAway(t *testing.T) {
	t.Parallel()
	i := install(t, "local,deny,deny")
	i.storage.fail(errRefused)
	for range 5 {
		i.Probe(t.Context())
	}
	if i.Reached() || !i.Away() || len(i.lines()) != 1 {
		t.Errorf("reached %v, away %v, logged:\n%s", i.Reached(), i.Away(), &i.log)
	}
	if got := i.admittedOf(limits.OnRead, 9, 5); got != 5 {
		t.Errorf("%d of 9 reads pass, want 5", got)
	}
	if _, err := i.For(limits.OnWrite).Take(t.Context(), reads(5), nil); !problems.Is(err, problems.LimitsUnavailable) {
		t.Errorf("a write: %v", err)
	}
	i.comeBack()
	if !i.Reached() || len(i.lines()) != 2 {
		t.Errorf("reached %v, logged:\n%s", i.Reached(), &i.log)
	}
}

// What was counted here still counts in the next outage: one that comes and goes lets no new figure through each time.
func TestCountsOfAnOutageOutliveIt(t *testing.T) {
	t.Parallel()
	i := running(t, "local,local,local")
	i.goAway()
	if got := i.admittedOf(limits.OnRead, 4, 5); got != 4 {
		t.Fatalf("%d of 4", got)
	}
	i.comeBack()
	i.Sweep()
	i.goAway()
	if got := i.admittedOf(limits.OnRead, 4, 5); got != 1 {
		t.Errorf("%d of 4 pass in the second outage, want the one that is left of 5", got)
	}
}

func TestMeanwhileSaysWhatHappens(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{
		"local,local,deny":  "reads and writes are counted by each process, paid work is refused",
		"local,local,local": "reads, writes and paid work are counted by each process",
		"deny,deny,deny":    "reads, writes and paid work are refused",
		"deny,local,deny":   "writes are counted by each process, reads and paid work are refused",
		"local,deny,local":  "reads and paid work are counted by each process, writes are refused",
	} {
		if got := install(t, policy).Meanwhile(); got != want {
			t.Errorf("%s: %q, want %q", policy, got, want)
		}
	}
}

func TestManyCallersThroughAnOutage(t *testing.T) {
	t.Parallel()
	i := running(t, "local,local,deny")
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			for round := range 300 {
				switch {
				case n == 0:
					i.storage.fail(map[bool]error{true: errRefused}[round/20%2 == 0])
					i.Probe(t.Context())
				default:
					class := []limits.Class{limits.OnRead, limits.OnWrite, limits.OnProcess}[round%3]
					if _, err := i.For(class).Take(t.Context(), reads(1<<30), nil); err != nil && !problems.Is(err, problems.LimitsUnavailable) {
						t.Errorf("%v: %v", class, err)
					}
					if lease, ok, err := i.Acquire(t.Context(), "jobs:3", 100, time.Minute); err == nil && ok {
						if err := i.Release(t.Context(), lease); err != nil {
							t.Error(err)
						}
					}
				}
			}
		})
	}
	group.Wait()
	i.comeBack()
	for n, away := range i.counted.outages {
		if away != (n%2 == 1) {
			t.Fatalf("outages began and ended out of turn: %v", i.counted.outages)
		}
	}
}
