package testservices

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy passes TCP connections on and can be slow, silent or away. It ends with the test.
type Proxy struct {
	// Address is where it listens.
	Address string

	t  testing.TB
	to string

	mu       sync.Mutex // protects what follows
	listener net.Listener
	conns    map[net.Conn]bool
	delay    time.Duration
	frozen   chan struct{} // closed by Thaw; nil when bytes flow
	trips    int
	cut      string // a question whose answer is lost; "" for none
	running  sync.WaitGroup
}

// NewProxy listens on a free port for connections to an address.
func NewProxy(t testing.TB, to string) *Proxy {
	t.Helper()
	p := &Proxy{t: t, to: to, conns: make(map[net.Conn]bool)}
	p.listen("127.0.0.1:0")
	p.Address = p.listener.Addr().String()
	t.Cleanup(func() {
		p.Thaw()
		p.Cut()
		p.running.Wait()
	})
	return p
}

func (p *Proxy) listen(address string) {
	p.t.Helper()
	listener, err := new(net.ListenConfig).Listen(p.t.Context(), "tcp", address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.listener = listener
	p.mu.Unlock()
	p.running.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(from) })
		}
	})
}

func (p *Proxy) serve(from net.Conn) {
	defer from.Close()
	to, err := new(net.Dialer).DialContext(p.t.Context(), "tcp", p.to)
	if err != nil {
		return
	}
	defer to.Close()
	p.mu.Lock()
	p.conns[from], p.conns[to] = true, true
	p.mu.Unlock()
	c := &passage{proxy: p, answered: true}
	var both sync.WaitGroup
	both.Go(func() { c.pass(to, from, true) })
	both.Go(func() { c.pass(from, to, false) })
	both.Wait()
	p.mu.Lock()
	delete(p.conns, from)
	delete(p.conns, to)
	p.mu.Unlock()
}

// passage is one connection through the proxy.
type passage struct {
	proxy    *Proxy
	mu       sync.Mutex // protects what follows
	answered bool       // the last bytes were the server's
	cut      bool       // the next answer is lost
}

func (c *passage) pass(to, from net.Conn, asking bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32*1024)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		c.mu.Lock()
		trip := asking && c.answered
		c.answered = !asking
		c.cut = c.cut || asking && c.proxy.cutsAnswerTo(buffer[:n])
		cut := c.cut && !asking
		c.mu.Unlock()
		if cut {
			return
		}
		c.proxy.pause(trip)
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// pause holds bytes back as long as the proxy is told to.
func (p *Proxy) pause(trip bool) {
	p.mu.Lock()
	delay, frozen := p.delay, p.frozen
	if trip {
		p.trips++
	}
	p.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	if delay > 0 {
		<-time.After(delay)
	}
}

// Trips is how many round trips there were: each begins with bytes of a client that had its answer.
func (p *Proxy) Trips() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trips
}

// Delay holds every piece back for so long, in both directions; 0 for none.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Freeze takes connections and bytes and passes nothing on.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil {
		p.frozen = make(chan struct{})
	}
}

// Thaw passes on what was held back.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen != nil {
		close(p.frozen)
		p.frozen = nil
	}
}

// CutAnswerTo breaks, once, the connection on which a question with this text was asked, when the server has answered.
func (p *Proxy) CutAnswerTo(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = text
}

// cutsAnswerTo reports whether these bytes ask what CutAnswerTo waits for, and has it wait no more.
func (p *Proxy) cutsAnswerTo(question []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut == "" || !bytes.Contains(question, []byte(p.cut)) {
		return false
	}
	p.cut = ""
	return true
}

// Cut breaks every connection and refuses new ones.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.listener.Close()
	for conn := range p.conns {
		_ = conn.Close()
	}
}

// Mend takes connections at the same address again.
func (p *Proxy) Mend() {
	p.t.Helper()
	p.listen(p.Address)
}
