package testservices

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// OwnRedis starts a Redis for one test alone, whose keys collide with nobody's, and ends it with the test. It
// returns the URL. The test needs the same program that Redis(t) needs.
func OwnRedis(t testing.TB) string {
	t.Helper()
	return StoppableRedis(t).URL
}

// PrivateRedis is a Redis of one test that the test may stop and start again at the same address.
type PrivateRedis struct {
	URL string

	t    testing.TB
	port int
	stop func()
}

// StoppableRedis is OwnRedis for a test of what happens while Redis is away.
func StoppableRedis(t testing.TB) *PrivateRedis {
	t.Helper()
	Redis(t)
	for range 5 { // another process may take the free port before redis-server does
		port, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		if stop, ok := startRedis(t, port); ok {
			r := &PrivateRedis{URL: fmt.Sprintf("redis://127.0.0.1:%d/0", port), t: t, port: port, stop: stop}
			t.Cleanup(r.Stop)
			return r
		}
	}
	t.Fatal("redis-server did not start on any of five free ports")
	return nil
}

// Stop ends it; what it held is gone.
func (r *PrivateRedis) Stop() { r.stop() }

// Start brings it back at the same address, empty.
func (r *PrivateRedis) Start() {
	r.t.Helper()
	stop, ok := startRedis(r.t, r.port)
	if !ok {
		r.t.Fatalf("redis-server did not come back on port %d", r.port)
	}
	r.stop = stop
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// startRedis starts one and waits until it answers; stop ends it and may be called twice.
func startRedis(t testing.TB, port int) (stop func(), ok bool) {
	t.Helper()
	command := exec.Command("redis-server", "--port", fmt.Sprint(port), "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no", "--dir", t.TempDir())
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		t.Fatalf("starting redis-server: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(ended)
	}()
	stop = func() {
		_ = command.Process.Kill()
		<-ended
	}
	client := redis.NewClient(&redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", port)})
	defer client.Close()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	for client.Ping(context.Background()).Err() != nil {
		select {
		case <-tick.C:
		case <-ended:
			return stop, false
		case <-deadline.C:
			stop()
			return stop, false
		}
	}
	return stop, true
}
