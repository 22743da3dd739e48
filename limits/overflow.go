package limits

import (
	"sync"
	"sync/atomic"
)

// overflow holds the logs that newcomers share when there is no room: one for each kind of counter.
type overflow struct {
	live atomic.Bool // something may be counted
	mu   sync.Mutex  // protects logs; taken after the locks of shards
	logs map[int]*window
}

// window is what is counted in common for a kind; only to be read.
func (o *overflow) window(kind int, m *moment, spans []span) window {
	w := o.logs[kind]
	if w == nil {
		return window{}
	}
	if w.idle(m) {
		o.sweep(m.now, spans)
		return window{}
	}
	return *w
}

// charge counts in common, and tells what is counted then.
func (o *overflow) charge(kind int, m *moment, cost int64) window {
	if o.logs == nil {
		o.logs = make(map[int]*window)
	}
	if o.logs[kind] == nil {
		o.logs[kind] = &window{}
	}
	o.logs[kind].charge(m, cost)
	o.live.Store(true)
	return *o.logs[kind]
}

// sweep forgets the logs in which nothing is counted.
func (o *overflow) sweep(now int64, spans []span) {
	for kind, w := range o.logs {
		if m := momentOf(now, spans[kind]); w.idle(&m) {
			delete(o.logs, kind)
		}
	}
	o.live.Store(len(o.logs) > 0)
}
