package testservices

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

// OwnRedis starts a Redis for one test alone, whose keys collide with nobody's, and ends it with the test. It
// returns the URL. The test needs the same program that Redis(t) needs.
func OwnRedis(t testing.TB) string {
	t.Helper()
	return StoppableRedis(t).URL
}

// PrivateRedis is a Redis of one test that the test may stop, freeze and start again at the same address.
type PrivateRedis struct {
	// URL is what RATELIMIT_STORAGE_URI says to use it.
	URL string
	// Address is its host and port, or the path of its socket.
	Address string

	t         testing.TB
	arguments []string
	client    *redis.Client
	process   *process
}

// StoppableRedis is OwnRedis for a test of what happens while Redis is away.
func StoppableRedis(t testing.TB) *PrivateRedis {
	t.Helper()
	Redis(t)
	return start(t, func(port int) *PrivateRedis {
		return &PrivateRedis{
			URL:       fmt.Sprintf("redis://%s/0", local(port)),
			Address:   local(port),
			arguments: []string{"--port", fmt.Sprint(port), "--bind", "127.0.0.1"},
			client:    connect(&redis.Options{Addr: local(port)}),
		}
	})
}

// start starts what describe says for a free port, on another one where that was taken meanwhile.
func start(t testing.TB, describe func(port int) *PrivateRedis) *PrivateRedis {
	t.Helper()
	var free ports
	for range 5 {
		r := describe(free.next(t))
		r.t = t
		r.arguments = append(r.arguments, "--save", "", "--appendonly", "no", "--dir", t.TempDir())
		t.Cleanup(func() { _ = r.client.Close() })
		if p, ok := startProcess(t, r.client, r.arguments...); ok {
			r.process = p
			return r
		}
	}
	t.Fatal("redis-server did not start on any of five free ports")
	return nil
}

// connect makes the test's own connection. It dials once where it comes, five times as the library has it.
func connect(o *redis.Options) *redis.Client {
	o.DialerRetries = 1
	return redis.NewClient(o)
}

// Stop ends it; what it held is gone. It may be called twice.
func (r *PrivateRedis) Stop() { r.process.stop() }

// Start brings it back at the same address, empty.
func (r *PrivateRedis) Start() {
	r.t.Helper()
	p, ok := startProcess(r.t, r.client, r.arguments...)
	if !ok {
		r.t.Fatalf("redis-server did not come back at %s", r.Address)
	}
	r.process = p
}

// Freeze stops it from doing anything; connections stay, and new ones are made by the kernel without an answer.
func (r *PrivateRedis) Freeze() {
	r.t.Helper()
	r.process.signal(r.t, syscall.SIGSTOP)
}

// Thaw lets it go on where it was frozen.
func (r *PrivateRedis) Thaw() {
	r.t.Helper()
	r.process.signal(r.t, syscall.SIGCONT)
}

// Client is a connection of the test's own. It was made before any password was set, and stays in.
func (r *PrivateRedis) Client() *redis.Client { return r.client }

// Configure changes one setting of the running server, such as requirepass or maxmemory.
func (r *PrivateRedis) Configure(setting, value string) {
	r.t.Helper()
	if err := r.client.ConfigSet(context.Background(), setting, value).Err(); err != nil {
		r.t.Fatalf("setting %s of Redis: %v", setting, err)
	}
}
