package limits

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tests/testservices"
)

// behindProxy is a store whose connection a test can break when the server has answered.
func behindProxy(t *testing.T) (*Redis, *testservices.Proxy) {
	t.Helper()
	proxy := testservices.NewProxy(t, testservices.StoppableRedis(t).Address)
	return open(t, "redis://"+proxy.Address, RedisOptions{Timeout: 10 * time.Second}), proxy
}

// A decision whose answer is lost has been made. Made again, it could be refused by its own charge.
func TestDecisionWhoseAnswerIsLostIsNotMadeTwice(t *testing.T) {
	t.Parallel()
	r, proxy := behindProxy(t)
	stack := readStack(3, time.Hour)
	admitted(t, r, stack)
	proxy.CutAnswerTo(modeTake)
	if d, err := r.Take(t.Context(), stack, nil); !problems.Is(err, problems.LimitsUnavailable) || d.Admitted {
		t.Errorf("an answer that was lost: %+v, %v", d, err)
	}
	if got := remainingIn(t, r, stack); !slices.Equal(got, []int64{1, 1}) {
		t.Errorf("after one decision and one whose answer was lost: %v left of 3", got)
	}
}

// Those of a batch whose answers are lost are charged at most once each.
func TestBatchWhoseAnswerIsLostIsNotMadeTwice(t *testing.T) {
	t.Parallel()
	r, proxy := behindProxy(t)
	stack := readStack(1000, time.Hour)
	admitted(t, r, stack)
	proxy.Delay(100 * time.Millisecond)
	var group sync.WaitGroup
	errs := make([]error, 41)
	group.Go(func() { _, errs[40] = r.Take(t.Context(), stack, nil) })
	<-time.After(50 * time.Millisecond) // it is on the wire, and the others wait for it
	for i := range 40 {
		group.Go(func() { _, errs[i] = r.Take(t.Context(), stack, nil) })
	}
	waitingIn(t, &r.lanes[0], 40)
	proxy.CutAnswerTo("*") // whatever comes next
	group.Wait()
	proxy.Delay(0)
	if errors.Join(errs...) == nil {
		t.Fatal("no answer was lost")
	}
	if got := remainingIn(t, r, stack); got[0] < 1000-42 {
		t.Errorf("42 decisions were asked for: %v left of 1000", got)
	}
}

// A place whose answer is lost is asked for again under the same name, also where it was the last.
func TestLastPlaceWhoseAnswerIsLostIsHeld(t *testing.T) {
	t.Parallel()
	r, proxy := behindProxy(t)
	if _, ok, err := r.Acquire(t.Context(), "jobs:9", 1, time.Hour); err != nil || !ok {
		t.Fatal(ok, err)
	}
	proxy.CutAnswerTo("jobs:3")
	lease, ok, err := r.Acquire(t.Context(), "jobs:3", 1, time.Hour)
	if err != nil || !ok {
		t.Fatalf("the only place was taken, and its holder is told %v, %v", ok, err)
	}
	if kept, err := r.Renew(t.Context(), lease, time.Hour); err != nil || !kept {
		t.Errorf("renewing it: %v, %v", kept, err)
	}
	if _, ok, _ := r.Acquire(t.Context(), "jobs:3", 1, time.Hour); ok {
		t.Error("the only place was given twice")
	}
}

// What was surely not run is sent once more, and nothing else.
func TestOnlyWhatWasNotRunIsRepeated(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		&net.OpError{Op: "dial", Err: errors.New("refused")}: true,
		&net.OpError{Op: "read", Err: errors.New("reset")}:   false,
		io.EOF:                   false,
		context.DeadlineExceeded: false,
	} {
		if notRun(err) != want {
			t.Errorf("%v: not run is %v", err, !want)
		}
	}
	g, times := &gate{}, 0
	r := patient(t)
	g.single = func(redis.Cmder) { times++ }
	r.client.AddHook(g)
	admitted(t, r, readStack(5, time.Hour))
	if times != 1 {
		t.Errorf("a decision that was made was sent %d times", times)
	}
	stopped := testservices.StoppableRedis(t)
	absent := open(t, stopped.URL, RedisOptions{})
	stopped.Stop()
	absent.client.AddHook(g)
	times = 0
	if _, err := absent.Take(t.Context(), readStack(5, time.Hour), nil); err == nil || times != 2 {
		t.Errorf("a decision that nobody heard was sent %d times: %v", times, err)
	}
}

// A refund whose answer is lost is not paid twice: it would be paid out of what others were charged. And the refusal
// stands, because an error could be decided anew elsewhere.
func TestRefundWhoseAnswerIsLostIsPaidOnce(t *testing.T) {
	t.Parallel()
	cluster := testservices.Cluster(t)
	proxies := cluster.Proxies()
	r := open(t, cluster.URL, RedisOptions{Timeout: 10 * time.Second})
	stack, _, addresses := mixedStack(t, cluster, r, 5, 30)
	for range 2 {
		if !admitted(t, r, stack) {
			t.Fatal("one of the first two was refused")
		}
	}
	proxies[slices.Index(cluster.Masters, addresses)].CutAnswerTo(modeRefund)
	d, err := r.Take(t.Context(), stack, nil)
	if err != nil || d.Admitted || d.Binding != 0 || d.States[0].Context.Remaining != 1 {
		t.Errorf("a refusal whose refund was not answered: %+v, %v", d, err)
	}
	if got := remainingIn(t, r, stack); !slices.Equal(got, []int64{1, 24}) {
		t.Errorf("left are %v, want 1 and 24: what two others were charged stays", got)
	}
}

// A refusal stands also where what it was charged cannot be given back, and within the time of one decision.
func TestClusterRefusalStandsWhereTheRefundFails(t *testing.T) {
	t.Parallel()
	cluster := testservices.Cluster(t)
	proxies := cluster.Proxies()
	r := open(t, cluster.URL, RedisOptions{})
	stack, orgs, addresses := mixedStack(t, cluster, r, 2, 30)
	comesBack(t, r)
	if !admitted(t, r, stack) {
		t.Fatal("the first was refused")
	}
	org, address := proxies[slices.Index(cluster.Masters, orgs)], proxies[slices.Index(cluster.Masters, addresses)]
	org.Freeze()
	var group sync.WaitGroup
	group.Go(func() {
		before := address.Trips()
		for address.Trips() == before { // the address has been charged
			<-time.After(time.Millisecond)
		}
		<-time.After(10 * time.Millisecond)
		address.Freeze()
		org.Thaw()
	})
	start := time.Now()
	d, err := r.Take(t.Context(), stack, nil)
	group.Wait()
	if err != nil || d.Admitted || d.Binding != 0 {
		t.Errorf("%+v, %v, want a refusal by the account", d, err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("it took %v", took)
	}
}
