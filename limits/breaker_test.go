package limits

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// door is a breaker with what it told.
type door struct {
	breaker
	opened, closed int
	hiccups        []uint64
}

func (d *door) fail(t ticket) { d.failed(t, errors.New("away"), func() { d.opened++ }) }
func (d *door) probed()       { d.close(func() { d.closed++ }) }

func (d *door) answer(t ticket) {
	d.answered(t, func(n uint64, _ error) { d.hiccups = append(d.hiccups, n) })
}

func (d *door) began(t *testing.T) ticket {
	t.Helper()
	ticket, may := d.enter()
	if !may {
		t.Fatal("the breaker is open")
	}
	return ticket
}

func TestFailuresInARowOpenTheBreakerAndAProbeClosesIt(t *testing.T) {
	t.Parallel()
	d := &door{}
	for i := range breakerPatience {
		if d.isOpen() {
			t.Fatalf("open after %d failures", i)
		}
		d.fail(d.began(t))
	}
	if _, may := d.enter(); may || !d.isOpen() || d.opened != 1 {
		t.Fatalf("after %d failures: open %v, told %d times", breakerPatience, d.isOpen(), d.opened)
	}
	d.probed()
	d.probed()
	if d.isOpen() || d.closed != 1 {
		t.Errorf("after a probe: open %v, told %d times", d.isOpen(), d.closed)
	}
	d.fail(d.began(t))
	if d.isOpen() {
		t.Error("one failure after a probe opened it: the row begins anew")
	}
}

func TestAnAnswerEndsTheRowOfFailures(t *testing.T) {
	t.Parallel()
	d := &door{}
	for range 5 {
		d.fail(d.began(t))
		d.fail(d.began(t))
		d.answer(d.began(t))
		d.answer(d.began(t))
	}
	if d.isOpen() || len(d.hiccups) != 5 || d.hiccups[0] != 2 {
		t.Errorf("open %v, rows of failures %v", d.isOpen(), d.hiccups)
	}
}

// A storage that stands still for a moment fails everybody who was asking: that is one failure.
func TestDecisionsUnderWayTogetherFailOnce(t *testing.T) {
	t.Parallel()
	d := &door{}
	var together [100]ticket
	for i := range together {
		together[i] = d.began(t)
	}
	for _, ticket := range together {
		d.fail(ticket)
	}
	if d.isOpen() || d.failures.Load() != 1 {
		t.Errorf("one hiccup: open %v, %d failures", d.isOpen(), d.failures.Load())
	}
}

// What a decision finds out that began before the breaker turned says nothing about the time after.
func TestLateOutcomesOfAnEarlierTurnDoNotCount(t *testing.T) {
	t.Parallel()
	d := &door{}
	early := d.began(t)
	for range breakerPatience {
		d.fail(d.began(t))
	}
	d.answer(early)
	if !d.isOpen() {
		t.Error("an answer to a question from before closed it")
	}
	d.probed()
	d.fail(d.began(t))
	d.answer(early)
	if d.failures.Load() != 1 {
		t.Error("an answer to a question from two turns ago ended the row of failures")
	}
	d.fail(early)
	if d.failures.Load() != 1 {
		t.Error("a failure from two turns ago counted")
	}
}

func TestRacingDecisionsOpenAndCloseInTurn(t *testing.T) {
	t.Parallel()
	var b breaker
	var open, turns atomic.Int64
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 2000 {
				ticket, _ := b.enter()
				switch i % 4 {
				case 0:
					b.answered(ticket, func(uint64, error) {})
				case 1:
					b.close(func() {
						if open.Add(-1) != 0 {
							t.Error("closed twice in a row")
						}
					})
				default:
					b.failed(ticket, errors.New("away"), func() {
						turns.Add(1)
						if open.Add(1) != 1 {
							t.Error("opened twice in a row")
						}
					})
				}
			}
		})
	}
	group.Wait()
	if turns.Load() == 0 {
		t.Error("it never opened")
	}
}
