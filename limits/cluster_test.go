package limits

import (
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tests/testservices"
)

// mixedStack is an address's limit behind an account's, in two places of a cluster of three: the account's counter is
// at the first of these masters, the address's at the second.
func mixedStack(t *testing.T, cluster *testservices.PrivateCluster, r *Redis, account, address int64) (stack []Limit, orgs, addresses *testservices.PrivateRedis) {
	t.Helper()
	masterOf := func(l *Limit) *testservices.PrivateRedis {
		slot := cluster.Masters[0].Client().ClusterKeySlot(t.Context(), r.keyOf(l)).Val()
		return cluster.Masters[slot*3/16384]
	}
	stack = []Limit{
		{Plan: AccountRead, Key: Key{Org: 3, ID: 5}, Rate: Rate{Limit: account, Period: time.Hour}, Cost: 2},
		{Plan: AddressAI, Rate: Rate{Limit: address, Period: time.Hour}, Cost: 3},
	}
	orgs = masterOf(&stack[0])
	for i := range 256 {
		stack[1].Key.Addr = netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})
		if addresses = masterOf(&stack[1]); addresses != orgs {
			return stack, orgs, addresses
		}
	}
	t.Fatal("no address of 256 is at another master")
	return nil, nil, nil
}

func remainingIn(t *testing.T, r *Redis, stack []Limit) []int64 {
	t.Helper()
	states, err := r.Peek(t.Context(), stack)
	if err != nil {
		t.Fatal(err)
	}
	var remaining []int64
	for i := range states {
		remaining = append(remaining, states[i].Context.Remaining)
	}
	return remaining
}

// The refusal of one part leaves the other as it was, and the answer tells of both as they are.
func TestClusterGivesBackWhatTheOtherPartRefuses(t *testing.T) {
	t.Parallel()
	cluster := testservices.Cluster(t)
	for name, c := range map[string]struct {
		account, address int64
		binding          int
		rest             []int64
	}{
		"the account refuses": {5, 30, 0, []int64{1, 24}},
		"the address refuses": {50, 8, 1, []int64{46, 2}},
		"both refuse":         {5, 8, 0, []int64{1, 2}},
	} {
		r := open(t, cluster.URL, RedisOptions{Timeout: 10 * time.Second})
		stack, _, _ := mixedStack(t, cluster, r, c.account, c.address)
		for range 2 {
			if !admitted(t, r, stack) {
				t.Fatalf("%s: one of the first two was refused", name)
			}
		}
		<-time.After(20 * time.Millisecond) // equal waits: a stamp is rounded up, and the parts are looked at in turn
		for range 3 {
			d, err := r.Take(t.Context(), stack, nil)
			if err != nil || d.Admitted || d.Binding != c.binding {
				t.Errorf("%s: %+v, %v", name, d, err)
			}
			told := []int64{d.States[0].Context.Remaining, d.States[1].Context.Remaining}
			reached := []bool{d.States[0].Context.Reached, d.States[1].Context.Reached}
			if !slices.Equal(told, c.rest) || !slices.Equal(remainingIn(t, r, stack), c.rest) || !slices.Equal(reached, []bool{c.rest[0] < 2, c.rest[1] < 3}) {
				t.Errorf("%s: told %v left, reached %v; left are %v, want %v", name, told, reached, remainingIn(t, r, stack), c.rest)
			}
		}
		if err := r.client.Del(t.Context(), r.keyOf(&stack[0])).Err(); err != nil {
			t.Fatal(err)
		}
		if err := r.client.Del(t.Context(), r.keyOf(&stack[1])).Err(); err != nil {
			t.Fatal(err)
		}
		stack[0].Cost = c.account + 1
		if d, err := r.Take(t.Context(), stack, nil); err != nil || d.Admitted || d.States[0].Wait >= 0 {
			t.Errorf("%s: a request that can never pass: %+v, %v", name, d, err)
		}
		if n := r.client.Exists(t.Context(), r.keyOf(&stack[1])).Val(); n != 0 {
			t.Errorf("%s: what was given back whole has left a counter behind", name)
		}
	}
}

// A refund takes no more than is there, and from no other quantum.
func TestRefundTakesOnlyWhatWasCounted(t *testing.T) {
	t.Parallel()
	r := patient(t)
	l := Limit{Plan: AddressAI, Key: Key{Addr: netip.MustParseAddr("203.0.113.9")}, Rate: Rate{Limit: 100, Period: time.Hour}, Cost: 3}
	s := spanOf(l.Rate.Period)
	charge := func() *part {
		p := &part{stack: []Limit{l, l}} // named twice, charged once
		v, err := r.ask(t.Context(), modeTake, p.stack, nil, time.Now().Add(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		p.verdict = v
		return p
	}
	first, second := charge(), charge()
	giveBack := func(p *part) {
		t.Helper()
		if err := r.giveBack(t.Context(), []*part{p}, time.Now().Add(10*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	giveBack(first)
	if got := remainingIn(t, r, []Limit{l}); got[0] != 97 {
		t.Errorf("after 3, 3 and a refund: %d left of 100", got[0])
	}
	earlier := &part{stack: second.stack, verdict: slices.Clone(second.verdict)}
	earlier.verdict[1] -= 2 * s.quantum * s.tick / 1000 // a quantum in which nothing was counted
	giveBack(earlier)
	if got := remainingIn(t, r, []Limit{l}); got[0] != 97 {
		t.Errorf("a refund of another quantum was paid: %d left of 100", got[0])
	}
	for range 3 {
		giveBack(second)
	}
	if got := remainingIn(t, r, []Limit{l}); got[0] != 100 {
		t.Errorf("after refunds of everything: %d left of 100", got[0])
	}
	if n := r.client.Exists(t.Context(), r.keyOf(&l)).Val(); n != 0 {
		t.Error("an empty counter is kept")
	}
}

// Not even a refund of too much takes from what was counted beside it.
func TestRefundLeavesOtherQuantaAlone(t *testing.T) {
	t.Parallel()
	r := patient(t)
	l := Limit{Plan: AddressAI, Key: Key{Addr: netip.MustParseAddr("203.0.113.9")}, Rate: Rate{Limit: 100, Period: time.Minute}, Cost: 3}
	deadline := time.Now().Add(10 * time.Second)
	if _, err := r.ask(t.Context(), modeTake, []Limit{l}, nil, deadline); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Minute/resolution + 50*time.Millisecond) // the next quantum
	v, err := r.ask(t.Context(), modeTake, []Limit{l}, nil, deadline)
	if err != nil {
		t.Fatal(err)
	}
	l.Cost = 5
	if err := r.giveBack(t.Context(), []*part{{stack: []Limit{l}, verdict: v}}, deadline); err != nil {
		t.Fatal(err)
	}
	if got := remainingIn(t, r, []Limit{l}); got[0] != 97 {
		t.Errorf("3 were counted before: %d left of 100", got[0])
	}
}

// Where the second part does not answer, the address gets back what it was charged, within the time of one decision.
func TestClusterWithAFrozenMasterAdmitsNothingAndGivesBack(t *testing.T) {
	t.Parallel()
	cluster := testservices.Cluster(t)
	r := open(t, cluster.URL, RedisOptions{Timeout: 500 * time.Millisecond}) // a fifth is left for a busy machine to give back in
	stack, orgs, _ := mixedStack(t, cluster, r, 1000, 1000)
	comesBack(t, r)
	if !admitted(t, r, stack) {
		t.Fatal("the first was refused")
	}
	orgs.Freeze()
	for range 3 {
		start := time.Now()
		d, err := r.Take(t.Context(), stack, nil)
		if !problems.Is(err, problems.LimitsUnavailable) || d.Admitted {
			t.Errorf("admitted is %v, error %v", d.Admitted, err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("a decision took %v", took)
		}
	}
	if got := remainingIn(t, r, stack[1:]); got[0] != 997 {
		t.Errorf("the address has %d left of 1000, want 997", got[0])
	}
	// Whoever is counted elsewhere does not wait for the frozen one.
	if !admitted(t, r, stack[1:]) {
		t.Error("another master refuses")
	}
	orgs.Thaw()
	comesBack(t, r)
}

// What the address refuses is refused, also where nobody can say how the account stands: as an error it could be
// admitted by the policy.
func TestClusterRefusalNeedsNoAnswerOfTheOtherPart(t *testing.T) {
	t.Parallel()
	cluster := testservices.Cluster(t)
	r := open(t, cluster.URL, RedisOptions{})
	stack, orgs, _ := mixedStack(t, cluster, r, 1000, 3)
	comesBack(t, r)
	if !admitted(t, r, stack) {
		t.Fatal("the first was refused")
	}
	orgs.Freeze()
	d, err := r.Take(t.Context(), stack, nil)
	if err != nil || d.Admitted || d.Binding != 1 || d.States[1].Wait <= 0 || d.States[0].Context.Reached || d.States[0].Wait != 0 {
		t.Errorf("%+v, %v, want a refusal by the address", d, err)
	}
	orgs.Thaw()
}

// While one master keeps a decision waiting, those of another are on their way at once: no lane has both.
func TestClusterMasterThatHangsHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	cluster := testservices.Cluster(t)
	r := open(t, cluster.URL, RedisOptions{Timeout: 5 * time.Second})
	stack, orgs, _ := mixedStack(t, cluster, r, 1000, 1000)
	admitted(t, r, stack)
	orgs.Freeze()
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := r.Take(t.Context(), stack[:1], nil); err != nil {
			t.Error(err)
		}
	})
	lane, err := r.laneOf(t.Context(), &call{words: []string{r.keyOf(&stack[0])}, deadline: time.Now().Add(time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	for flying := 0; flying == 0; { // until the first is on the wire
		lane.mu.Lock()
		flying = lane.flying
		lane.mu.Unlock()
	}
	fastest := time.Hour
	for range 5 {
		start := time.Now()
		admitted(t, r, stack[1:])
		fastest = min(fastest, time.Since(start))
	}
	orgs.Thaw()
	group.Wait()
	if fastest > 100*time.Millisecond { // a tenth of the timeout is what a decision waits for another in its lane
		t.Errorf("behind a master that hangs the fastest of 5 decisions of another took %v", fastest)
	}
}

func TestClusterGoesOnAfterAFailover(t *testing.T) {
	t.Parallel()
	cluster := testservices.Cluster(t)
	r := open(t, cluster.URL, RedisOptions{})
	stack, orgs, _ := mixedStack(t, cluster, r, 2, 1000)
	admitted(t, r, stack)
	replica := cluster.AddReplica(orgs)
	cluster.FailOver(orgs, replica)
	refusesAfterAFailover(t, r, stack)
}

// refusesAfterAFailover waits until the new master answers, which must know that the stack is used up.
func refusesAfterAFailover(t *testing.T, r *Redis, stack []Limit) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		d, err := r.Take(t.Context(), stack, nil)
		if d.Admitted {
			t.Fatal("the new master has forgotten what the old one counted")
		}
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("20 seconds after the failover: %v", err)
		}
		<-time.After(20 * time.Millisecond)
	}
}
