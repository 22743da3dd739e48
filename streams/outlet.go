package streams

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// lastWord is how long a client may take to take what is being written when the stream ends.
const lastWord = time.Second

// outlet is the way to the client. Each write has a deadline of its own, and is sent on at once. Only the goroutine of
// the request writes; hurry may be called by others.
type outlet struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	wrote   time.Time

	mu      sync.Mutex // guards what follows, and the deadline of the connection
	hurried bool
	closed  bool
}

// newOutlet refuses an answer that something holds back, or whose writes cannot be bounded: it would be no stream.
func newOutlet(w http.ResponseWriter, stall time.Duration) (*outlet, error) {
	o := &outlet{w: w, control: http.NewResponseController(w), stall: stall}
	if err := o.control.SetWriteDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("open a stream: this answer cannot be streamed: %w", err)
	}
	return o, nil
}

// begin sends the status and headers of a stream. Proxies are told not to hold it back, and not to pack it.
func (o *outlet) begin() error {
	h := o.w.Header()
	h.Del("Content-Length")
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "private, no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	o.w.WriteHeader(http.StatusOK)
	return o.write(nil)
}

// write sends one frame.
func (o *outlet) write(frame []byte) error {
	if err := o.bound(); err != nil {
		return err
	}
	if _, err := o.w.Write(frame); err != nil {
		return fmt.Errorf("write a frame: %w", err)
	}
	if err := o.control.Flush(); err != nil {
		return fmt.Errorf("send a frame on: %w", err)
	}
	o.wrote = time.Now()
	return o.unbound()
}

func (o *outlet) bound() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	patience := o.stall
	if o.hurried {
		patience = min(patience, lastWord)
	}
	return o.control.SetWriteDeadline(time.Now().Add(patience))
}

// unbound takes the deadline off: between frames nobody waits for the client.
func (o *outlet) unbound() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.control.SetWriteDeadline(time.Time{})
}

// hurry bounds what is being written, and all that will be: the stream is over, and a client that takes nothing must
// not keep it.
func (o *outlet) hurry() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hurried || o.closed {
		return
	}
	o.hurried = true
	_ = o.control.SetWriteDeadline(time.Now().Add(min(o.stall, lastWord)))
}

// close leaves the connection to the server, which still writes the end of the body and then takes the deadline off.
func (o *outlet) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	_ = o.control.SetWriteDeadline(time.Now().Add(o.stall))
}
