package testservices

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// process is one redis-server of a test. It ends with the test, also with one that is killed.
type process struct {
	command *exec.Cmd
	ended   chan struct{}
}

// startProcess starts redis-server and waits until it answers the client; false: it ended, or is deaf.
func startProcess(t testing.TB, client *redis.Client, arguments ...string) (*process, bool) {
	t.Helper()
	command := exec.Command("redis-server", arguments...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		t.Fatalf("starting redis-server: %v", err)
	}
	p := &process{command: command, ended: make(chan struct{})}
	go func() {
		_ = command.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.stop)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	for client.Ping(context.Background()).Err() != nil {
		select {
		case <-tick.C:
		case <-p.ended:
			return p, false
		case <-deadline.C:
			p.stop()
			return p, false
		}
	}
	return p, true
}

// stop ends it, frozen or not, and may be called twice.
func (p *process) stop() {
	_ = p.command.Process.Kill()
	<-p.ended
}

func (p *process) signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := p.command.Process.Signal(signal); err != nil {
		t.Fatalf("sending %v to redis-server: %v", signal, err)
	}
}

// ports are free ports of this machine, no two of them alike. Another process may take one before its user does.
type ports struct {
	mu    sync.Mutex
	given map[int]bool
}

func (p *ports) next(t testing.TB) int {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for range 100 {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := listener.Addr().(*net.TCPAddr).Port
		_ = listener.Close()
		if !p.given[port] {
			if p.given == nil {
				p.given = make(map[int]bool)
			}
			p.given[port] = true
			return port
		}
	}
	t.Fatal("found no free port on 127.0.0.1")
	return 0
}

func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// eventually waits until a condition holds that servers reach by themselves.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("30 seconds, and still not: %s", what)
		}
	}
}
