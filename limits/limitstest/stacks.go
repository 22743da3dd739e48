package limitstest

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenometer/stenometer/limits"
)

// allOrNothing exhausts each limit of a stack in turn: the others must keep what they had.
func allOrNothing(t *testing.T, s Subject) {
	stack := []limits.Limit{
		one(limits.AccountProcess, account5, per(10, time.Minute)),
		one(limits.TokenProcess, token17, per(10, time.Minute)),
		one(limits.OrganizationAI, organization, per(10, time.Minute)),
		one(limits.UserAI, account5, per(10, time.Minute)),
		one(limits.AddressAI, address, per(10, time.Minute)),
	}
	for i := range stack {
		exhausted := slices.Clone(stack)
		exhausted[i].Key.ID += 100
		if exhausted[i].Plan.Subject == limits.Address {
			exhausted[i].Key.Addr = exhausted[i].Key.Addr.Next()
		}
		fill(t, s, 10, exhausted[i])
		before := remaining(t, s, exhausted...)
		d := refused(t, s, exhausted...)
		if d.Binding != i {
			t.Errorf("%s is exhausted, %s binds", exhausted[i], d.States[d.Binding].Limit)
		}
		for j := range d.States {
			if d.States[j].Context.Reached != (i == j) {
				t.Errorf("%s is exhausted; %s: reached is %v", exhausted[i], d.States[j].Limit, d.States[j].Context.Reached)
			}
		}
		if after := remaining(t, s, exhausted...); !slices.Equal(before, after) {
			t.Errorf("%s refused; remaining went from %v to %v", exhausted[i], before, after)
		}
	}
	fill(t, s, 1, stack...)
	if left := remaining(t, s, stack...); !slices.Equal(left, []int64{9, 9, 9, 9, 9}) {
		t.Errorf("after one admitted request: %v left of 10 each", left)
	}
}

func weights(t *testing.T, s Subject) {
	token := one(limits.TokenWrite, token17, per(10, time.Minute))
	account := one(limits.AccountWrite, account5, per(20, time.Minute))
	fill(t, s, 1, weighing(4, account), weighing(4, token))
	if left := remaining(t, s, account, token); !slices.Equal(left, []int64{16, 6}) {
		t.Fatalf("after a weight of 4: %v left of 20 and 10", left)
	}
	d := refused(t, s, weighing(7, account), weighing(7, token))
	if d.Binding != 1 || d.States[1].Context.Remaining != 6 {
		t.Errorf("7 units with 6 left: binding %d, %+v", d.Binding, d.States[1].Context)
	}
	fill(t, s, 1, weighing(2, account), weighing(6, token))
	if left := remaining(t, s, account, token); !slices.Equal(left, []int64{14, 0}) {
		t.Errorf("after weights of 2 and 6: %v left", left)
	}
}

func longestWaitBinds(t *testing.T, s Subject) {
	short := one(limits.SessionAddress, address, per(1, time.Minute))
	long := one(limits.SessionAddress, address, per(1, time.Hour))
	token := one(limits.TokenRead, token17, per(1, 10*time.Minute))
	fill(t, s, 1, short, long, token)
	if d := refused(t, s, short, token, long); d.Binding != 2 {
		t.Errorf("%s binds with a wait of %v; the hour was exhausted too", d.States[d.Binding].Limit, d.States[d.Binding].Wait)
	}
}

// precedence exhausts limits with one request, so that their waits are equal, and takes the first of them away.
func precedence(t *testing.T, s Subject) {
	rate := per(1, time.Minute)
	stack := []limits.Limit{
		one(limits.AddressAI, address, rate),
		one(limits.TokenChange, account5, rate),
		one(limits.UserAI, account5, rate),
		one(limits.OrganizationAI, organization, rate),
		one(limits.TokenProcess, token17, rate),
		one(limits.AccountProcess, account5, rate),
	}
	fill(t, s, 1, stack...)
	if s.Apart {
		s.Wait(20 * time.Millisecond) // clocks read a moment apart: waits of 60.000 and 60.001 seconds would not be equal
	}
	for len(stack) > 0 {
		last := len(stack) - 1
		if d := refused(t, s, stack...); d.Binding != last {
			t.Errorf("%s binds before %s", d.States[d.Binding].Plan.Name, stack[last].Plan.Name)
		}
		stack = stack[:last]
	}
}

func neverAdmitted(t *testing.T, s Subject) {
	token := one(limits.TokenWrite, token17, per(1, time.Hour))
	account := weighing(6, one(limits.AccountWrite, account5, per(5, time.Minute)))
	fill(t, s, 1, token)
	d := refused(t, s, token, account)
	if d.Binding != 1 || d.States[1].Wait >= 0 || d.States[1].Context.Remaining != 5 {
		t.Errorf("a request of 6 with a figure of 5: binding %d, wait %v, %+v", d.Binding, d.States[1].Wait, d.States[1].Context)
	}
}

func racing(t *testing.T, s Subject) {
	account := one(limits.AccountRead, account5, per(240, time.Hour))
	token := one(limits.TokenRead, token17, per(1000, time.Hour))
	address := one(limits.SessionAddress, address, per(1000, time.Hour))
	if admitted := race(t, s, 400, func(int) []limits.Limit { return []limits.Limit{token, address, account} }); admitted != 240 {
		t.Errorf("%d of 400 racing requests were admitted; the figure is 240", admitted)
	}
	if left := remaining(t, s, account, token, address); !slices.Equal(left, []int64{0, 760, 760}) {
		t.Errorf("left after the race: %v", left)
	}
}

// racingOverAnAddress lets an address and an account run out at about the same time. Afterwards nothing is missing on
// either, whatever was refused.
func racingOverAnAddress(t *testing.T, s Subject) {
	account := one(limits.AccountRead, account5, per(100, time.Hour))
	address := one(limits.SessionAddress, address, per(120, time.Hour))
	admitted := race(t, s, 400, func(int) []limits.Limit { return []limits.Limit{account, address} })
	if admitted > 100 || (admitted < 100 && !s.Apart) {
		t.Errorf("%d of 400 racing requests were admitted; the figure is 100", admitted)
	}
	if left := remaining(t, s, account, address); !slices.Equal(left, []int64{100 - admitted, 120 - admitted}) {
		t.Errorf("%d were admitted, and left of 100 and 120: %v", admitted, left)
	}
	fill(t, s, int(100-admitted), account, address)
	refused(t, s, account, address)
	if left := remaining(t, s, account, address); !slices.Equal(left, []int64{0, 20}) {
		t.Errorf("left when the account is exhausted: %v", left)
	}
}

func fourTokens(t *testing.T, s Subject) {
	account := one(limits.AccountRead, account5, per(240, time.Hour))
	stack := func(i int) []limits.Limit {
		return []limits.Limit{account, one(limits.TokenRead, limits.Key{Org: 3, ID: int64(20 + i%4)}, per(120, time.Hour))}
	}
	if admitted := race(t, s, 400, stack); admitted != 240 {
		t.Errorf("%d of 400 requests with four tokens were admitted; the account's figure is 240", admitted)
	}
	d := take(t, s, stack(0)...)
	if d.Admitted || d.States[d.Binding].Plan != limits.AccountRead {
		t.Errorf("the account binds; got %+v", d)
	}
}

// race takes so many stacks from 64 goroutines and counts those that were admitted.
func race(t *testing.T, s Subject, attempts int, stack func(i int) []limits.Limit) int64 {
	t.Helper()
	var admitted, next atomic.Int64
	var group sync.WaitGroup
	start := make(chan struct{})
	for range 64 {
		group.Go(func() {
			<-start
			for i := int(next.Add(1)); i <= attempts; i = int(next.Add(1)) {
				d, err := s.Store.Take(t.Context(), stack(i), nil)
				if err != nil {
					t.Errorf("Take: %v", err)
				}
				if d.Admitted {
					admitted.Add(1)
				}
			}
		})
	}
	close(start)
	group.Wait()
	return admitted.Load()
}

func readLeavesWrite(t *testing.T, s Subject) {
	fill(t, s, 3, one(limits.AccountRead, account5, per(3, time.Minute)), one(limits.TokenRead, token17, per(3, time.Minute)))
	refused(t, s, one(limits.AccountRead, account5, per(3, time.Minute)))
	fill(t, s, 3, one(limits.AccountWrite, account5, per(3, time.Minute)), one(limits.TokenWrite, token17, per(3, time.Minute)))
}

func tokensApart(t *testing.T, s Subject) {
	account := one(limits.AccountRead, account5, per(10, time.Minute))
	fill(t, s, 4, account, one(limits.TokenRead, token17, per(4, time.Minute)))
	refused(t, s, account, one(limits.TokenRead, token17, per(4, time.Minute)))
	fill(t, s, 4, account, one(limits.TokenRead, token18, per(4, time.Minute)))
}

// keysApart exhausts one counter after the other and finds every neighbor untouched. A mapped IPv4 address is none.
func keysApart(t *testing.T, s Subject) {
	rate := per(1, time.Minute)
	from := func(addr string, part uint64) limits.Limit {
		return one(limits.LoginFailures, limits.Key{Addr: netip.MustParseAddr(addr), Part: part}, rate)
	}
	for _, l := range []limits.Limit{
		from("203.0.113.9", 1), from("203.0.113.9", 2), from("203.0.113.10", 1),
		from("2001:db8::", 1), from("2001:db8:0:1::", 1),
		one(limits.Login, address, rate), one(limits.Register, address, rate), one(limits.AddressAI, address, rate),
		one(limits.AccountRead, account5, rate), one(limits.AccountWrite, account5, rate), one(limits.UserAI, account5, rate),
		one(limits.TokenRead, limits.Key{Org: 3, ID: 5}, rate), one(limits.OrganizationAI, limits.Key{Org: 3, ID: 5}, rate),
	} {
		fill(t, s, 1, l)
		refused(t, s, l)
	}
	refused(t, s, from("::ffff:203.0.113.9", 1))
	for prefix := range 200 {
		fill(t, s, 1, from(fmt.Sprintf("2001:db8:1:%x::", prefix), 1))
	}
}

func windowsApart(t *testing.T, s Subject) {
	short, long := one(limits.SessionAddress, address, per(2, s.Window)), one(limits.SessionAddress, address, per(5, 100*s.Window))
	fill(t, s, 2, short, long)
	if left := remaining(t, s, short, long); !slices.Equal(left, []int64{0, 3}) {
		t.Errorf("after two: %v left of 2 and 5", left)
	}
	d := refused(t, s, short, long)
	if d.Binding != 0 {
		t.Errorf("the short window is used up, %d binds", d.Binding)
	}
	s.Wait(d.States[0].Whole)
	fill(t, s, 1, short)
	if left := remaining(t, s, short, long); !slices.Equal(left, []int64{1, 3}) {
		t.Errorf("after the short window and one more of it alone: %v left of 2 and 5", left)
	}
}

func namedTwice(t *testing.T, s Subject) {
	strict, lax := one(limits.TokenRead, token17, per(3, time.Minute)), one(limits.TokenRead, token17, per(5, time.Minute))
	fill(t, s, 3, lax, strict)
	if d := refused(t, s, lax, strict); d.Binding != 1 || d.States[0].Context.Remaining != 2 {
		t.Errorf("the strict figure binds after three: binding %d, %+v", d.Binding, d.States)
	}
	fill(t, s, 2, lax)
	refused(t, s, lax)
}

func wrongStack(t *testing.T, s Subject) {
	good := one(limits.TokenRead, token17, per(2, time.Minute))
	for name, wrong := range map[string]limits.Limit{
		"no plan":          {Key: token17, Rate: per(1, time.Minute), Cost: 1},
		"figure 0":         one(limits.AccountRead, account5, per(0, time.Minute)),
		"figure too high":  one(limits.AccountRead, account5, per(limits.MaxFigure+1, time.Minute)),
		"no window":        one(limits.AccountRead, account5, per(1, 0)),
		"window too long":  one(limits.AccountRead, account5, per(1, limits.MaxWindow+time.Second)),
		"window too fine":  one(limits.AccountRead, account5, per(1, time.Second+time.Microsecond)),
		"weighs nothing":   weighing(0, one(limits.AccountRead, account5, per(1, time.Minute))),
		"weighs below one": weighing(-3, one(limits.AccountRead, account5, per(1, time.Minute))),
	} {
		if d, err := s.Store.Take(t.Context(), []limits.Limit{good, wrong}, nil); err == nil || d.Admitted {
			t.Errorf("%s: Take admitted %v, error %v", name, d.Admitted, err)
		}
		if _, err := s.Store.Peek(t.Context(), []limits.Limit{good, wrong}); err == nil {
			t.Errorf("%s: Peek has no error", name)
		}
	}
	if left := remaining(t, s, good); left[0] != 2 {
		t.Errorf("wrong stacks charged: %d left of 2", left[0])
	}
}

func emptyStack(t *testing.T, s Subject) {
	if d := take(t, s); !d.Admitted {
		t.Error("a request without limits was refused")
	}
}
