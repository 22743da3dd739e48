package routes

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/stenometer/stenometer/problems"
)

// bodyReader reads a request's body up to a bound, and only while it keeps coming. Its errors are problems.
type bodyReader struct {
	body    io.ReadCloser
	control *http.ResponseController
	// left is how many bytes may still be read.
	left  int64
	stall time.Duration
	// deadline is when the whole body must be here; zero where only standing still is bounded.
	deadline time.Time
	// least is how many bytes a second must come on average beyond the stall time; 0 for any. came did so far, and waited is
	// how long they were waited for: what the reader itself takes is not counted, nor held against the client.
	least  int64
	came   int64
	waited time.Duration
	failed error
}

// extend gives the client until the stall time from now, and no longer than the deadline and its rate: who sends a byte now
// and then would hold a connection for days. The error is that of a connection without deadlines, as in tests without a
// network.
func (b *bodyReader) extend() (now time.Time) {
	now = time.Now()
	wait := b.stall
	if b.least > 0 {
		seconds := min(float64(b.came)/float64(b.least), 1e9) // more is no time.Duration
		wait = min(wait, b.stall+time.Duration(seconds*float64(time.Second))-b.waited)
	}
	until := now.Add(wait)
	if !b.deadline.IsZero() && b.deadline.Before(until) {
		until = b.deadline
	}
	_ = b.control.SetReadDeadline(until)
	return now
}

func (b *bodyReader) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	began := b.extend()
	n, err := b.body.Read(p)
	b.came += int64(n)
	b.waited += time.Since(began)
	if int64(n) > b.left {
		b.failed = problems.New(problems.PayloadTooLarge, "The body is larger than is read here.")
		return int(b.left), b.failed
	}
	b.left -= int64(n)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		// The server now waits on the connection for the client to leave, and takes the deadline off itself.
		b.failed = io.EOF
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.failed = problems.New(problems.RequestTimeout, "The body arrived too slowly.").Because(err)
	default:
		b.failed = problems.New(problems.BadRequest, "The body was cut short or is malformed.").Because(err)
	}
	return n, b.failed
}

func (b *bodyReader) Close() error { return b.body.Close() }

// writePiece is how much of an answer is written under one deadline.
const writePiece = 64 << 10

// answerWriter writes an answer only while the client keeps taking it.
type answerWriter struct {
	http.ResponseWriter

	control *http.ResponseController
	stall   time.Duration
	until   time.Time
	// bounded is set when somebody else sets the deadlines.
	bounded atomic.Bool
}

// extend gives the client the stall time from now. Setting a deadline costs more than a look at the clock: it is set an
// eighth later than need be, so that the pieces of one answer rarely set another.
func (w *answerWriter) extend() {
	now := time.Now()
	if w.bounded.Load() || w.until.Sub(now) >= w.stall {
		return
	}
	w.until = now.Add(w.stall + w.stall/8)
	_ = w.control.SetWriteDeadline(w.until)
}

// WriteHeader gives the client its time for an answer without a body too. Before it there is nothing to take: net/http
// takes the deadline of one request off before the next.
func (w *answerWriter) WriteHeader(status int) {
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

func (w *answerWriter) Write(p []byte) (int, error) {
	written := 0
	for {
		piece := p[written:]
		if len(piece) > writePiece {
			piece = piece[:writePiece]
		}
		w.extend()
		n, err := w.ResponseWriter.Write(piece)
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// FlushError is found by http.ResponseController.
func (w *answerWriter) FlushError() error {
	w.extend()
	return w.control.Flush()
}

// SetWriteDeadline is found by http.ResponseController. Who sets a deadline, as a stream does for each frame, sets all of
// them: ours would put its off.
func (w *answerWriter) SetWriteDeadline(at time.Time) error {
	w.bounded.Store(true)
	return w.control.SetWriteDeadline(at)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
