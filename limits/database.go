package limits

import (
	"sync/atomic"
	"time"
)

// DefaultDatabaseTimeout is the longest that one decision waits for the database.
const DefaultDatabaseTimeout = 100 * time.Millisecond

// DatabaseOptions are what a store in a database may be told besides where it is. The zero value is what a server uses.
type DatabaseOptions struct {
	// Timeout is the longest that one decision waits; 0: DefaultDatabaseTimeout.
	Timeout time.Duration
	// Now is the clock; nil: time.Now. PostgreSQL decides by its own and takes this one for State.Context.Reset alone.
	// SQLite decides by it: all processes that share the file must have one clock, which the machine's is.
	Now func() time.Time
	// MaxKeys is how many counters are kept, as opening or the last Sweep counted them and this process added since;
	// further newcomers of one plan and window share one counter. 0: DefaultMaxKeys.
	MaxKeys int
	// Connections bounds PostgreSQL's pool; 0: 4. SQLite has one.
	Connections int
}

func (o DatabaseOptions) withDefaults() DatabaseOptions {
	if o.Timeout <= 0 {
		o.Timeout = DefaultDatabaseTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxKeys <= 0 {
		o.MaxKeys = DefaultMaxKeys
	}
	if o.Connections <= 0 {
		o.Connections = 4
	}
	return o
}

// rowName is a counter's name in a database: "token:17:read:60".
func rowName(l *Limit) string { return string(appendWindow(append(appendSubject(nil, l), ':'), l)) }

// commonName is the name of the counter that newcomers of one plan and window share while there is no room.
func commonName(l *Limit) string {
	return string(appendWindow([]byte("common:"+l.Plan.Subject.String()+":"+l.Plan.Bucket+":"), l))
}

// space is how many counters a process may still make. Other processes make some too, which it learns of when it
// counts again: the bound may be passed by what they add in between.
type space struct {
	max  int64
	left atomic.Int64
}

func newSpace(max int) *space {
	s := &space{max: int64(max)}
	s.left.Store(s.max)
	return s
}

func (s *space) crowded() bool       { return s.left.Load() <= 0 }
func (s *space) made(counters int64) { s.left.Add(-counters) }
func (s *space) counted(all int64)   { s.left.Store(s.max - all) }
