// Package streams writes what a model says to a client while it says it. A stream has sent its 200 before anything can
// go wrong, so all that can is bounded here: how many streams an organization has open, how long each waits for whom,
// and how the client learns that a stream has failed. No stream is written without an Opener, which only the door makes.
//
// Who waits for whom: a Source runs in a goroutine of its own and fills a bounded channel; the goroutine of the request
// is the only writer of the answer. Open ends and awaits both before it returns.
package streams

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/stenometer/stenometer/problems"
)

// Options is what Streams are made of. All of it is required.
type Options struct {
	Slots Slots
	// Places is how many streams of one organization may be open at once, over all processes; 0 lets none open.
	Places int
	// Lease is how long a slot is held after its process died.
	Lease  time.Duration
	Clocks Clocks
	// Heartbeat is the silence after which a comment is written, so that whoever stands between client and server
	// keeps the connection.
	Heartbeat time.Duration
	Metrics   Metrics
	Logger    *slog.Logger
}

// Metrics is told what becomes of streams.
type Metrics interface {
	// StreamsInFlight changes the number of open streams of an operation.
	StreamsInFlight(operation string, change int)
	// StreamRejected counts a stream that was refused, or ended other than well.
	StreamRejected(operation, reason string)
}

// Operation names in metrics and log what a stream is for.
type Operation string

// The operations.
const (
	Chatting   Operation = "chat"
	Inquiring  Operation = "inquire"
	Completing Operation = "completion"
)

// Streams are the streams of one process.
type Streams struct {
	Options

	stopping context.Context
	stop     context.CancelCauseFunc
}

// New makes the streams of a process. A duration that is not positive is refused: a clock that never lets anything
// through is as wrong as a heartbeat that never rests.
func New(options Options) (*Streams, error) {
	for name, duration := range map[string]time.Duration{
		"lease": options.Lease, "heartbeat": options.Heartbeat, "first byte clock": options.Clocks.FirstByte,
		"idle clock": options.Clocks.Idle, "total clock": options.Clocks.Total, "client stall clock": options.Clocks.ClientStall,
	} {
		if duration <= 0 {
			return nil, fmt.Errorf("make the streams: the %s is %v and must be more than 0", name, duration)
		}
	}
	stopping, stop := context.WithCancelCause(context.Background())
	return &Streams{Options: options, stopping: stopping, stop: stop}, nil
}

// Stop ends every open stream with server_stopping and lets no other begin. It does not wait for them: they end with
// their requests.
func (s *Streams) Stop() { s.stop(errStopping()) }

func errStopping() error {
	return problems.New(problems.Stopping, "The server is stopping.").After(stoppingHint)
}

// stoppingHint is about how long a server takes to start again.
const stoppingHint = 5 * time.Second

// Openers makes openers. Only the door has it.
type Openers struct{ streams *Streams }

// Openers gives the maker of openers.
func (s *Streams) Openers() Openers { return Openers{s} }

// Caller is whom a stream is for, as the guard found it.
type Caller struct {
	OrganizationID int64
	Frames         Frames
	// Alive is asked again and again while the stream is open: a *problems.Error says why the caller may not have it any
	// more, and ends it. nil is for callers that cannot lose it.
	Alive func(context.Context) error
}

// Of makes the opener of one request. The request's context must end with the client and must not end with the time of
// its row, which is that of a JSON answer. Whoever ends it with a *problems.Error as the cause ends the stream with that
// problem.
func (o Openers) Of(w http.ResponseWriter, r *http.Request, caller Caller) Opener {
	return Opener{streams: o.streams, w: w, r: r, caller: caller}
}

// Refused makes an opener of a request whose answer cannot be streamed, and the error that says so.
func (o Openers) Refused(why error) Opener { return Opener{refused: why} }

// While is the opener of a stream that ends too once may, asked as Alive is, answers with a *problems.Error: what it tells of
// can be taken from a caller whose credential stays.
func (o Opener) While(may func(context.Context) error) Opener {
	alive := o.caller.Alive
	o.caller.Alive = func(ctx context.Context) error {
		if alive != nil {
			if err := alive(ctx); err != nil {
				return err
			}
		}
		return may(ctx)
	}
	return o
}

// Opener is the permission to answer one request with a stream. Only Openers makes one; the zero value opens nothing.
type Opener struct {
	streams *Streams
	w       http.ResponseWriter
	r       *http.Request
	caller  Caller
	refused error
}
