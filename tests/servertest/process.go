package servertest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is one running server.
type Process struct {
	// URL is where it listens, without a slash at the end.
	URL string

	t       testing.TB
	command *exec.Cmd
	logs    *logs
	done    chan struct{}
	ended   error
}

// logs collects what a process writes to its standard error.
type logs struct {
	mu   sync.Mutex // protects text
	text strings.Builder
}

func (l *logs) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(line + "\n")
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Start runs `server serve` and returns once readyz says that it can do its work. It is ended with the test.
func Start(t testing.TB, environment Environment, arguments ...string) *Process {
	t.Helper()
	p := Launch(t, Binary(t), environment, append([]string{"serve"}, arguments...)...)
	p.AwaitReady()
	return p
}

// Launch runs a binary and returns once it listens.
func Launch(t testing.TB, binary string, environment Environment, arguments ...string) *Process {
	t.Helper()
	command := exec.Command(binary, arguments...)
	command.Dir = t.TempDir()
	command.Env = environment.list()
	// A group of its own: what the test runner gets on Ctrl-C must not reach it before the test ends it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	pipe, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("starting the server: %v", err)
	}
	p := &Process{t: t, command: command, logs: &logs{}, done: make(chan struct{})}
	listening := make(chan string, 1)
	go p.follow(pipe, listening)
	t.Cleanup(p.Kill)
	select {
	case address := <-listening:
		p.URL = "http://" + address
	case <-p.done:
		t.Fatalf("the server ended before it listened: %v\n%s", p.ended, p.Logs())
	case <-time.After(time.Minute):
		t.Fatalf("the server does not listen\n%s", p.Logs())
	}
	return p
}

// follow reads the process's log until it ends, and finds the line that tells the address.
func (p *Process) follow(pipe io.Reader, listening chan<- string) {
	defer close(p.done)
	lines := bufio.NewScanner(pipe)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.logs.add(lines.Text())
		var entry struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "listening" {
			listening <- entry.Address
		}
	}
	p.ended = p.command.Wait()
}

// AwaitReady returns once readyz answers 200.
func (p *Process) AwaitReady() {
	p.t.Helper()
	Eventually(p.t, time.Minute, "the server becomes ready", func() bool {
		select {
		case <-p.done:
			p.t.Fatalf("the server ended: %v\n%s", p.ended, p.Logs())
		default:
		}
		response, err := http.Get(p.URL + "/readyz")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

// Logs is what the process has written so far.
func (p *Process) Logs() string { return p.logs.String() }

// PID is the process's id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Kill ends the process as a power cut would, and waits for its end.
func (p *Process) Kill() {
	_ = p.command.Process.Kill()
	<-p.done
}

// Signal sends the process a signal.
func (p *Process) Signal(signal syscall.Signal) {
	p.t.Helper()
	if err := p.command.Process.Signal(signal); err != nil {
		p.t.Fatalf("sending %v: %v", signal, err)
	}
}

// Stop ends the process as an orchestrator would and returns how it ended.
func (p *Process) Stop() error {
	p.t.Helper()
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		p.t.Fatalf("the server does not stop\n%s", p.Logs())
	}
	return p.ended
}

// Eventually returns once holds does, looking every few milliseconds; it fails the test after patience.
func Eventually(t testing.TB, patience time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited %v, but never: %s", patience, what)
		}
	}
}

// LogField is a field of the first log entry with this message; the test fails when there is none.
func (p *Process) LogField(message, field string) string {
	p.t.Helper()
	for line := range strings.Lines(p.Logs()) {
		var entry map[string]any
		if json.Unmarshal([]byte(line), &entry) == nil && entry["msg"] == message {
			value, _ := entry[field].(string)
			return value
		}
	}
	p.t.Fatalf("the log has no entry %q\n%s", message, p.Logs())
	return ""
}
