package media

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func sandbox(t *testing.T) *Media {
	t.Helper()
	m, err := New(Options{MaxMemory: 512 << 20, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func shell(script string) child {
	return child{program: "/bin/sh", args: []string{"-c", script}, maxOutput: 64 << 10, maxFile: 1 << 20, timeout: 20 * time.Second}
}

func (m *Media) says(t *testing.T, script string) string {
	t.Helper()
	var output bytes.Buffer
	c := shell(script)
	c.stdout = &output
	if err := m.run(context.Background(), c); err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return strings.TrimSpace(output.String())
}

func TestChildSeesNothingOfOurs(t *testing.T) {
	t.Setenv("TRANSCRIPTION_API_KEY", "sk-secret")
	m := sandbox(t)
	var output bytes.Buffer
	env := child{program: "/usr/bin/env", stdout: &output, maxOutput: 1 << 10, timeout: 10 * time.Second}
	if err := m.run(context.Background(), env); err != nil || output.Len() > 0 {
		t.Errorf("the environment is %q, %v", output.String(), err)
	}
	if got := m.says(t, "cat; pwd"); got != "/" {
		t.Errorf("stdin and working folder: %q", got)
	}
}

func TestChildIsLimitedFromItsFirstInstruction(t *testing.T) {
	t.Parallel()
	m := sandbox(t)
	// In sh's units: kB of memory, seconds, files, blocks of 512 bytes a file, blocks of a core.
	got := m.says(t, "ulimit -v; ulimit -t; ulimit -n; ulimit -f; ulimit -c")
	if want := "524288\n84\n64\n2048\n0"; got != want {
		t.Errorf("limits are\n%s\nwant\n%s", got, want)
	}
}

func TestChildHasNoNetwork(t *testing.T) {
	t.Parallel()
	m := sandbox(t)
	if m.isolation.flags == 0 {
		t.Skip("the kernel gives no network namespace here; the format and protocol lists are tested by Probe")
	}
	if got := m.says(t, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"); got != "lo" {
		t.Errorf("network devices: %q, want lo alone", got)
	}
	if got := m.says(t, "tail -n +2 /proc/net/route"); got != "" {
		t.Errorf("routes: %q", got)
	}
}

// The second way in, for servers that do not run as root, must work as well as the first.
func TestChildInUserNamespace(t *testing.T) {
	t.Parallel()
	m := sandbox(t)
	c := shell("id -u; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '")
	var output bytes.Buffer
	c.stdout = &output
	if err := m.runIn(context.Background(), c, isolation{flags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET}); err != nil {
		t.Skipf("the kernel gives no user namespace here: %v", err)
	}
	if want := strconv.Itoa(os.Getuid()) + "\nlo\n"; output.String() != want {
		t.Errorf("got %q, want %q", output.String(), want)
	}
}

func TestChildThatWritesTooMuchIsEnded(t *testing.T) {
	t.Parallel()
	m := sandbox(t)
	started := time.Now()
	if err := m.run(context.Background(), shell("yes")); !errors.Is(err, ErrBounds) {
		t.Errorf("endless output: %v, want ErrBounds", err)
	}
	messages := shell("yes >&2")
	messages.timeout = time.Second
	if err := m.run(context.Background(), messages); !errors.Is(err, ErrBounds) {
		t.Errorf("endless messages: %v, want ErrBounds by the clock", err)
	}
	file := filepath.Join(t.TempDir(), "big")
	c := shell("exec head -c 9000000 /dev/zero > '" + file + "'")
	if err := m.run(context.Background(), c); !errors.Is(err, ErrBounds) {
		t.Errorf("a file above its bound: %v, want ErrBounds", err)
	}
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
}

// What a child says is kept up to a bound, however the bytes arrive.
func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	messages := &head{left: 10}
	n, err := io.Copy(messages, strings.NewReader(strings.Repeat("chatter ", 10_000)))
	if err != nil || n != 80_000 || messages.kept.String() != "chatter ch" {
		t.Errorf("copied %d, %v, kept %q", n, err, messages.kept.String())
	}
}

func TestChildAndItsChildrenEndWithTheCall(t *testing.T) {
	t.Parallel()
	m := sandbox(t)
	for name, wait := range map[string]string{"time is up": "; wait", "its leader is done": ""} {
		var output bytes.Buffer
		c := shell("sleep 300 >/dev/null 2>&1 & echo $!" + wait)
		c.stdout, c.timeout = &output, time.Second
		err := m.run(context.Background(), c)
		if wait != "" && !errors.Is(err, ErrBounds) {
			t.Errorf("%s: %v, want ErrBounds", name, err)
		}
		pid, parse := strconv.Atoi(strings.TrimSpace(output.String()))
		if parse != nil {
			t.Fatalf("%s: no pid in %q", name, output.String())
		}
		awaitGone(t, pid)
	}
}

func TestCallerWhoLeavesIsTold(t *testing.T) {
	t.Parallel()
	m := sandbox(t)
	ctx, cancel := context.WithCancel(context.Background())
	started, done := make(chan struct{}), make(chan error, 1)
	c := shell("echo started; exec sleep 300")
	c.stdout = writerFunc(func(p []byte) (int, error) { close(started); return len(p), nil })
	go func() { done <- m.run(ctx, c) }()
	<-started
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// kill -9 of the server takes its children along. The server is played by this test binary.
func TestChildDiesWithAKilledParent(t *testing.T) {
	const role = "STENOMETER_MEDIA_TEST_PARENT"
	if file := os.Getenv(role); file != "" {
		c := shell("echo $$ > '" + file + ".new'; mv '" + file + ".new' '" + file + "'; exec sleep 300")
		c.timeout = time.Minute
		t.Log(sandbox(t).run(context.Background(), c))
		return
	}
	file := filepath.Join(t.TempDir(), "pid")
	parent := exec.Command(os.Args[0], "-test.run", "^TestChildDiesWithAKilledParent$")
	parent.Env = append(os.Environ(), role+"="+file)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var content []byte
	until(t, "the child has started", func() bool {
		var err error
		content, err = os.ReadFile(file)
		return err == nil
	})
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	if syscall.Kill(pid, 0) != nil {
		t.Fatal("the child is not running")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	awaitGone(t, pid)
}

// A file that keeps the decoder at work is refused; a machine that gave it no time to work is our fault.
func TestLateProbeTellsWhoseFaultItIs(t *testing.T) {
	t.Parallel()
	late := &lateError{program: "ffprobe", limit: 4 * time.Second, used: 3 * time.Second}
	if err := refused(late); !errors.Is(err, ErrNotMedia) || errors.Is(err, ErrBusy) {
		t.Errorf("at work for 3 of 4 s: %v, want ErrNotMedia", err)
	}
	program := filepath.Join(t.TempDir(), "ffprobe")
	script := "#!/bin/sh\ncase \"$*\" in *-version*) exit 0;; esac\nexec sleep 60\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	m, err := New(Options{FFprobe: program, ProbeTimeout: 500 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Probe(context.Background(), program); !errors.Is(err, ErrBusy) || errors.Is(err, ErrNotMedia) {
		t.Errorf("never at work: %v, want ErrBusy", err)
	}
}

func TestNewNamesTheMissingProgram(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{FFprobe: "/nonexistent/ffprobe"}); err == nil || !strings.Contains(err.Error(), "ffprobe") {
		t.Errorf("got %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// awaitGone waits until a process is dead: gone, or a zombie that its new parent has not collected yet.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	until(t, "process "+strconv.Itoa(pid)+" is gone", func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) { //nolint:forbidigo // looks again, up to a deadline
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
