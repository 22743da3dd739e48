package limits

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	// DefaultRedisTimeout is the longest that one decision waits for Redis.
	DefaultRedisTimeout = 100 * time.Millisecond
	// DefaultRedisPrefix begins every key.
	DefaultRedisPrefix = "stn"
	// redisFirstContact is how long OpenRedis goes on asking a server that does not answer.
	redisFirstContact = 3 * time.Second
)

// RedisOptions are what a Redis store may be told besides its URI. The zero value is what a server uses.
type RedisOptions struct {
	// Prefix begins every key, so that several installations can share a server; empty: DefaultRedisPrefix. It must
	// not contain a brace.
	Prefix string
	// Timeout is the longest that one decision waits; 0: DefaultRedisTimeout.
	Timeout time.Duration
	// Now is the clock of State.Context.Reset alone; decisions go by the server's. Nil: time.Now.
	Now func() time.Time
}

// Redis is the store that several processes share. A decision is one script and one round trip, by the server's
// clock. Where Redis does not answer nothing is admitted: every method fails with problems.LimitsUnavailable.
type Redis struct {
	client  *redis.Client
	prefix  string
	timeout time.Duration
	now     func() time.Time
}

var (
	_ Store  = (*Redis)(nil)
	_ Leases = (*Redis)(nil)
)

//go:embed take.lua
var takeSource string

var takeScript = redis.NewScript(takeSource)

// OpenRedis connects to redis://[user:password@]host[:port][/database] and waits for the first answer, at most 3
// seconds. A server that refuses the name or the password is an error at once. No error shows the password.
func OpenRedis(ctx context.Context, uri string, options RedisOptions) (*Redis, error) {
	parsed, err := redis.ParseURL(uri)
	if err != nil {
		// The library's error quotes the URI, or the part of it that a password was mistaken for.
		return nil, errors.New("reading the URI of the limits' storage: it is not redis://[user:password@]host[:port][/database]; " +
			"special characters of a password must be percent-encoded")
	}
	if strings.ContainsAny(options.Prefix, "{}") {
		return nil, fmt.Errorf("opening the limits' storage: the prefix %q contains a brace", options.Prefix)
	}
	r := &Redis{prefix: options.Prefix, timeout: options.Timeout, now: options.Now}
	if r.prefix == "" {
		r.prefix = DefaultRedisPrefix
	}
	if r.timeout <= 0 {
		r.timeout = DefaultRedisTimeout
	}
	if r.now == nil {
		r.now = time.Now
	}
	// The library would write a line of its own to stderr for every failed dial; our errors say the same. Its logger
	// belongs to the process, not to a client.
	redis.SetLogger(&logging.VoidLogger{})
	r.client = redis.NewClient(r.clientOptions(parsed))
	if err := r.firstContact(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the limits' storage at %s: %w", parsed.Addr, err), r.client.Close())
	}
	return r, nil
}

// clientOptions makes the library give up in time: as it comes it waits 5 seconds for a server that hangs, whatever
// the context says, and most of 2 seconds for one that is not there. A command is sent again only after an error that
// came early: one that took the whole time may have been carried out, and would be charged twice.
func (r *Redis) clientOptions(o *redis.Options) *redis.Options {
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.DialerRetries, o.DialerRetryTimeout = r.timeout/2, 1, r.timeout/10
	o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = r.timeout, r.timeout, r.timeout
	o.MaxRetries, o.MinRetryBackoff, o.MaxRetryBackoff = 1, 5*time.Millisecond, 10*time.Millisecond
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.DisableIdentity = true
	return o
}

func (r *Redis) firstContact(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisFirstContact)
	defer cancel()
	for {
		err := r.Ping(ctx)
		if err == nil || refusesUs(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(redisFirstContact / 30):
		}
	}
}

// refusesUs reports whether Redis answered that it does not know our name or password, or that we may not even ping.
func refusesUs(err error) bool {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return false
	}
	code, _, _ := strings.Cut(answer.Error(), " ")
	return code == "WRONGPASS" || code == "NOAUTH" || code == "NOPERM" || strings.Contains(answer.Error(), "AUTH")
}

// Ping asks whether Redis answers; its error is the reason, for an operator.
func (r *Redis) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if err := r.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("asking Redis: %w", err)
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
	states, admitted, err := r.run(ctx, "take", stack, room)
	if err != nil {
		return Decision{}, err
	}
	return Decision{Admitted: admitted, States: states, Binding: bindingOf(states)}, nil
}

// Peek implements Store.
func (r *Redis) Peek(ctx context.Context, stack []Limit) ([]State, error) {
	states, _, err := r.run(ctx, "peek", stack, nil)
	return states, err
}

func (r *Redis) run(ctx context.Context, mode string, stack []Limit, room []State) (states []State, admitted bool, err error) {
	if err := check(stack); err != nil {
		return nil, false, err
	}
	if len(stack) == 0 {
		return nil, true, nil
	}
	keys := make([]string, len(stack))
	args := make([]any, 1, 1+5*len(stack))
	args[0] = mode
	for i := range stack {
		l := &stack[i]
		s := spanOf(l.Rate.Period)
		keys[i] = r.key(l)
		args = append(args, l.Rate.Limit, s.length, s.quantum, s.tick/int64(time.Microsecond), l.Cost)
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	answer, err := takeScript.Run(ctx, r.client, keys, args...).Int64Slice()
	if err != nil {
		return nil, false, unavailable("deciding about limits in Redis", err)
	}
	if len(answer) != 1+4*len(stack) {
		return nil, false, unavailable("deciding about limits in Redis", fmt.Errorf("the script answered %d numbers for %d limits", len(answer), len(stack)))
	}
	wall := r.now()
	states = statesIn(room, len(stack))
	for i := range stack {
		n := answer[1+4*i:]
		st := stand{used: n[0], wait: microseconds(n[1]), next: microseconds(n[2]), whole: microseconds(n[3])}
		st.state(&states[i], &stack[i], wall)
	}
	return states, answer[0] == 1, nil
}

// key is a counter's name in Redis: "stn:rl:{org:3}:token:17:read:60". What stands in braces decides where a clustered
// storage keeps it: all counters of an organization together, all of an address together.
func (r *Redis) key(l *Limit) string {
	together := "org:" + strconv.FormatInt(l.Key.Org, 10)
	if l.Plan.Subject == Address {
		together = "ip:" + l.Key.address()
	}
	window := strconv.FormatInt(int64(l.Rate.Period/time.Second), 10)
	if l.Rate.Period%time.Second != 0 {
		window = strconv.FormatInt(l.Rate.Period.Milliseconds(), 10) + "ms"
	}
	return r.prefix + ":rl:{" + together + "}:" + l.String() + ":" + window
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// unavailable is Unavailable with what was attempted.
func unavailable(doing string, err error) error {
	return Unavailable(fmt.Errorf("%s: %w", doing, err))
}
