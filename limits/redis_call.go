package limits

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed take.lua
var takeSource string

// takeHash is what the server knows the script by once it has seen it.
var takeHash any = redis.NewScript(takeSource).Hash()

// What the script may be asked: to charge, to judge without charging, how the limits stand, or to give back what it
// charged before and judge then.
const (
	modeTake   = "take"
	modeJudge  = "judge"
	modePeek   = "peek"
	modeRefund = "refund"
)

// call is one question to the script. Calls are used again: a decision must not leave a dozen objects to the collector.
type call struct {
	text     []byte   // keys and numbers, one after the other
	ends     []int    // where each of them ends in text
	words    []string // the same as strings
	args     []any    // what is sent; it points into words
	answer   verdict
	err      error
	turn     chan struct{} // of capacity 1: its lane has news
	timer    *time.Timer
	state    callState // protected by its lane
	deadline time.Time
}

// verdict is what the script answered: whether the stack was admitted and what of it was counted in common, the
// server's clock in microseconds, and four numbers a limit.
type verdict []int64

func (v verdict) admitted() bool { return v[0] != 0 }

// common is 1 if the i-th limit was counted in the counter that newcomers share, and 0 if in its own.
func (v verdict) common(i int) int64 { return v[0] >> (i + 1) & 1 }

// stand is how the i-th limit stands.
func (v verdict) stand(i int) stand {
	n := v[2+4*i:]
	return stand{used: n[0], wait: microseconds(n[1]), next: microseconds(n[2]), whole: microseconds(n[3])}
}

// newest is the tick of the newest entry of the i-th counter, which is where an admitted request was counted.
func (v verdict) newest(i int, s span) int64 {
	whole := v[2+4*i+3]
	return (v[1]+whole)*int64(time.Microsecond)/s.tick - s.length
}

// verdictIn reads an answer of the script: doubles, as it has them.
func verdictIn(said string, err error) (verdict, error) {
	if err != nil {
		return nil, err //nolint:wrapcheck // its kind is looked at, and what was attempted is said then
	}
	v := make(verdict, len(said)/8)
	for i := range v {
		v[i] = int64(math.Float64frombits(binary.LittleEndian.Uint64([]byte(said[8*i : 8*i+8]))))
	}
	return v, nil
}

func (v verdict) write(states []State, stack []Limit, wall time.Time) {
	for i := range stack {
		v.stand(i).state(&states[i], &stack[i], wall)
	}
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// ask runs the script for a stack whose counters are in one place. Charged is what is to be given back, nil elsewhere.
func (r *Redis) ask(ctx context.Context, mode string, stack []Limit, charged verdict, deadline time.Time) (verdict, error) {
	c, _ := r.calls.Get().(*call)
	if c == nil {
		c = newCall()
	}
	r.fill(c, mode, stack, charged)
	c.deadline = deadline
	l, err := r.laneOf(ctx, c)
	if err == nil {
		var left bool
		if left, err = l.do(ctx, c); left { // the lane may still have the call, which must not be used again
			return nil, unavailable("deciding about limits in Redis", err)
		}
	}
	answer := c.answer
	r.calls.Put(c)
	if err == nil && len(answer) != 2+4*len(stack) {
		err = fmt.Errorf("the script answered %d numbers for %d limits", len(answer), len(stack))
	}
	if err != nil {
		return nil, unavailable("deciding about limits in Redis", err)
	}
	return answer, nil
}

func newCall() *call {
	c := &call{turn: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	c.timer.Stop()
	return c
}

// fill writes what is sent: the keys, the mode, and all numbers as one string.
func (r *Redis) fill(c *call, mode string, stack []Limit, charged verdict) {
	c.text, c.ends = c.text[:0], c.ends[:0]
	for i := range stack {
		c.text = r.appendKey(c.text, &stack[i])
		c.ends = append(c.ends, len(c.text))
	}
	c.text = append(c.text, mode...)
	c.ends = append(c.ends, len(c.text))
	for i := range stack {
		l := &stack[i]
		s := spanOf(l.Rate.Period)
		c.text = appendNumbers(c.text, l.Rate.Limit, s.length, s.quantum, s.tick/int64(time.Microsecond), l.Cost)
	}
	c.text = appendNumbers(c.text, r.maxKeys)
	if charged != nil {
		for i := range stack {
			c.text = appendNumbers(c.text, charged.newest(i, spanOf(stack[i].Rate.Period)), charged.common(i))
		}
	}
	c.ends = append(c.ends, len(c.text))

	text, from := string(c.text), 0
	c.words = c.words[:0]
	for _, end := range c.ends {
		c.words = append(c.words, text[from:end])
		from = end
	}
	c.args = append(c.args[:0], "evalsha", takeHash, len(stack))
	for i := range c.words {
		c.args = append(c.args, &c.words[i]) // a pointer, because a string in an interface would be copied to the heap
	}
}

// appendNumbers writes numbers as Lua has them: the script takes five at once out of a string, and would have to parse
// each of five strings. All but a cost that is refused anyway are below 2^53, and exact.
func appendNumbers(b []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(n)))
	}
	return b
}

// once is a command that the library must not send again by itself: where the connection broke it may have been run,
// and would charge or give back twice.
type once struct{ *redis.StringCmd }

// NoRetry implements redis.Cmder.
func (once) NoRetry() bool { return true }

// command is the call as the library sends it; loading brings the script itself along.
func (c *call) command(ctx context.Context, loading bool) once {
	if loading {
		c.args[0], c.args[1] = "eval", takeSource
	} else {
		c.args[0], c.args[1] = "evalsha", takeHash
	}
	command := redis.NewStringCmd(ctx, c.args...)
	command.SetFirstKeyPos(3)
	return once{command}
}

// notRun reports whether an error says that the script was not run, or could not write, and that this may be over in a
// moment: no connection was made, or the server is becoming another's master or replica.
func notRun(err error) bool {
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Op == "dial"
	}
	for _, code := range []string{"TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "LOADING", "READONLY"} {
		if redis.HasErrorPrefix(err, code) {
			return true
		}
	}
	return false
}
