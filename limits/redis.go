package limits

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/stenometer/stenometer/config"
)

const (
	// DefaultRedisTimeout is the longest that one decision waits for Redis.
	DefaultRedisTimeout = 100 * time.Millisecond
	// DefaultRedisPrefix begins every key.
	DefaultRedisPrefix = "stn"
)

// RedisOptions are what a Redis store may be told besides where it is. The zero value is what a server uses.
type RedisOptions struct {
	// Prefix begins every key, so that several installations can share a server; empty: DefaultRedisPrefix. It must
	// not contain a brace.
	Prefix string
	// Timeout is the longest that one decision waits; 0: DefaultRedisTimeout.
	Timeout time.Duration
	// MaxKeys is how many keys the server's database, or each master of a cluster, may hold before newcomers of one
	// organization, plan and window share one counter, and likewise those of an address with others. Every key there
	// is counted, whoever wrote it. 0: DefaultMaxKeys.
	MaxKeys int
	// Now is the clock of State.Context.Reset alone; decisions go by the server's. Nil: time.Now.
	Now func() time.Time
}

// Redis is the store that several processes share: one server, the master that Sentinels name, or a cluster. A
// decision goes by the server's clock. It is one script and one round trip, and on a cluster two where an address is
// among the limits. Where Redis does not answer nothing is admitted: every method fails with
// problems.LimitsUnavailable. It is safe for concurrent use.
type Redis struct {
	client  redis.UniversalClient
	cluster *redis.ClusterClient // the client, where it is one of a cluster
	masters *masters             // of the cluster
	lanes   []lane               // one, and on a cluster one for each site
	calls   sync.Pool            // of *call
	maxKeys int64
	prefix  string
	timeout time.Duration
	now     func() time.Time

	epochMu sync.Mutex // protects epochs
	epochs  []string   // as last seen, in the order of epochKeys; "" before
}

var (
	_ Store  = (*Redis)(nil)
	_ Leases = (*Redis)(nil)
)

// OpenRedis connects to what the URI named and waits for the first answer, at most 3 seconds. One that is not there is
// no error: the store fails until it comes. A server that says that this will never do is one, at once: it refuses the
// name or the password, has no such database, shows a certificate that nobody vouches for, is part of a cluster or is
// none. No error shows the password. The Redis library's own lines in the log, of which it has one for every failed
// dial, are switched off, for the whole process: its logger belongs to no client.
func OpenRedis(ctx context.Context, storage config.LimitsStorage, options RedisOptions) (*Redis, error) {
	if strings.ContainsAny(options.Prefix, "{}") {
		return nil, fmt.Errorf("opening the limits' storage: the prefix %q contains a brace", options.Prefix)
	}
	trusted, err := tlsOf(storage)
	if err != nil {
		return nil, fmt.Errorf("opening the limits' storage: %w", err)
	}
	r := &Redis{prefix: options.Prefix, timeout: options.Timeout, maxKeys: int64(options.MaxKeys), now: options.Now}
	if r.prefix == "" {
		r.prefix = DefaultRedisPrefix
	}
	if r.timeout <= 0 {
		r.timeout = DefaultRedisTimeout
	}
	if r.maxKeys <= 0 {
		r.maxKeys = DefaultMaxKeys
	}
	if r.now == nil {
		r.now = time.Now
	}
	redis.SetLogger(&logging.VoidLogger{})
	if err := r.connect(storage, trusted); err != nil {
		return nil, fmt.Errorf("opening the limits' storage: %w", err)
	}
	if err := firstContact(ctx, r.contact, neverUs); err != nil {
		where := strings.Join(storage.Addresses, ",") + storage.Socket
		return nil, errors.Join(fmt.Errorf("opening the limits' storage at %s: %w", where, err), r.client.Close())
	}
	return r, nil
}

func (r *Redis) connect(storage config.LimitsStorage, trusted *tls.Config) error {
	width := 1
	switch storage.Kind {
	case config.LimitsInRedis:
		r.client = redis.NewClient(r.serverOptions(storage, trusted))
	case config.LimitsInSentinel:
		r.client = redis.NewFailoverClient(r.options(storage, trusted).Failover())
	case config.LimitsInCluster:
		r.cluster = redis.NewClusterClient(r.clusterOptions(storage, trusted))
		r.client, width, r.masters = r.cluster, sitesOfStorage, &masters{numbers: make(map[string]int)}
	default:
		return fmt.Errorf("%q is no kind of Redis", storage.Kind)
	}
	r.lanes = make([]lane, width)
	for i := range r.lanes {
		r.lanes[i].client, r.lanes[i].patience = r.client, r.timeout/10
	}
	return nil
}

// Close implements Store.
func (r *Redis) Close() error {
	if err := r.client.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("closing the connections to Redis: %w", err)
	}
	return nil
}

// Take implements Store.
func (r *Redis) Take(ctx context.Context, stack []Limit, room []State) (Decision, error) {
	if err := check(stack); err != nil {
		return Decision{}, err
	}
	states := statesIn(room, len(stack))
	admitted, err := r.decide(ctx, modeTake, stack, states)
	if err != nil {
		return Decision{}, err
	}
	return Decision{Admitted: admitted, States: states, Binding: bindingOf(states)}, nil
}

// Peek implements Store.
func (r *Redis) Peek(ctx context.Context, stack []Limit) ([]State, error) {
	if err := check(stack); err != nil {
		return nil, err
	}
	states := make([]State, len(stack))
	_, err := r.decide(ctx, modePeek, stack, states)
	return states, err
}

// decide writes how the limits stand into states, one for each limit.
func (r *Redis) decide(ctx context.Context, mode string, stack []Limit, states []State) (admitted bool, err error) {
	if len(stack) == 0 {
		return true, nil
	}
	deadline := time.Now().Add(r.timeout)
	if r.cluster != nil && !together(stack) {
		return r.decideApart(ctx, mode, stack, states, deadline)
	}
	v, err := r.ask(ctx, mode, stack, nil, deadline)
	if err != nil {
		return false, err
	}
	v.write(states, stack, r.now())
	return v.admitted(), nil
}

// together reports whether a cluster keeps the counters of the stack in one place.
func together(stack []Limit) bool {
	for i := 1; i < len(stack); i++ {
		if tagOf(&stack[i]) != tagOf(&stack[0]) {
			return false
		}
	}
	return true
}

// appendKey writes a counter's name in Redis: "stn:rl:{org:3}:token:17:read:60". What stands in braces decides where a
// cluster keeps it: all counters of an organization together, all of an address together. A part follows the window,
// "60/z", because the script finds plan and window at the end of a key.
func (r *Redis) appendKey(b []byte, l *Limit) []byte {
	b = append(append(b, r.prefix...), ":rl:{"...)
	if tag := tagOf(l); tag.addresses {
		b = strconv.AppendInt(append(b, "ip:"...), tag.number, 10)
	} else {
		b = strconv.AppendInt(append(b, "org:"...), tag.number, 10)
	}
	b = append(b, "}:"...)
	if l.Key.Part == 0 {
		return appendWindow(append(appendSubject(b, l), ':'), l)
	}
	whole := *l
	whole.Key.Part = 0
	b = append(appendWindow(append(appendSubject(b, &whole), ':'), l), '/')
	return strconv.AppendUint(b, l.Key.Part, 36)
}

// unavailable is Unavailable with what was attempted.
func unavailable(doing string, err error) error {
	return Unavailable(fmt.Errorf("%s: %w", doing, err))
}
