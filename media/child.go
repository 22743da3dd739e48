package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxMessages is how much of a child's stderr is kept, for the log.
const maxMessages = 16 << 10

// child is one run of one program.
type child struct {
	program string
	args    []string
	// stdout receives at most maxOutput bytes; one byte more ends the child with ErrBounds.
	stdout    io.Writer
	maxOutput int64
	// maxFile bounds each file that the child writes, in bytes; 0 means that it may write none.
	maxFile int64
	timeout time.Duration
}

// run starts the child and waits for its end. The error is ErrBounds when a bound ended it, the context's error when
// the caller left, and an *exitError when it ended by itself with a failure.
func (m *Media) run(ctx context.Context, c child) error {
	return m.runIn(ctx, c, m.isolation)
}

func (m *Media) runIn(caller context.Context, c child, in isolation) error {
	if err := caller.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(caller, c.timeout)
	defer cancel()

	// The kernel sends the death signal when the *thread* that started the child ends, so we stay on it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	cmd := exec.CommandContext(ctx, m.prlimit, m.bounded(c)...)
	cmd.Dir = "/"
	cmd.Env = []string{}
	messages := &head{left: maxMessages}
	output := &bound{to: c.stdout, left: c.maxOutput, over: cancel}
	cmd.Stdout, cmd.Stderr = output, messages
	cmd.SysProcAttr = in.attributes()
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Start(); err != nil {
		if caller.Err() == nil && ctx.Err() != nil {
			return &lateError{program: c.program, limit: c.timeout}
		}
		return fmt.Errorf("start %s: %w", c.program, err)
	}
	awaitExit(cmd.Process.Pid)
	// The leader is dead but not yet reaped, so its group's number cannot have passed to anyone else.
	_ = killGroup(cmd.Process.Pid)
	err := cmd.Wait()

	switch {
	case caller.Err() != nil:
		return caller.Err()
	case output.exceeded:
		return fmt.Errorf("%w: %s wrote more than %d bytes", ErrBounds, c.program, c.maxOutput)
	case ctx.Err() != nil:
		used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		return &lateError{program: c.program, limit: c.timeout, used: used}
	case err != nil:
		return failure(c.program, err, messages.kept.String())
	}
	return nil
}

// bounded is prlimit's command line: the limits are in force before the program's first instruction, and prlimit
// replaces itself by the program, so that there is one process.
func (m *Media) bounded(c child) []string {
	seconds := int64(c.timeout/time.Second)*4 + 4 // a backstop for the wall clock, with a few threads at work
	limits := []string{
		"--as=" + strconv.FormatInt(m.maxMemory, 10),
		"--cpu=" + strconv.FormatInt(seconds, 10),
		"--fsize=" + strconv.FormatInt(c.maxFile, 10),
		"--nofile=64",
		"--core=0",
		c.program,
	}
	return append(limits, c.args...)
}

func (i isolation) attributes() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	i.apply(attributes)
	return attributes
}

// awaitExit blocks until the process has ended and leaves it to be reaped.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// exitError is a child that ended by itself and failed. What it said is for the log: it may quote the file.
type exitError struct {
	program string
	code    int
	said    string
}

func (e *exitError) Error() string {
	return fmt.Sprintf("%s ended with %d: %q", e.program, e.code, e.said)
}

// lateError is a child that was ended by the clock. It is an ErrBounds.
type lateError struct {
	program string
	limit   time.Duration
	// used is the processor time that it had.
	used time.Duration
}

func (e *lateError) Error() string {
	return fmt.Sprintf("%s took longer than %s (processor time %s)", e.program, e.limit, e.used)
}

func (e *lateError) Is(target error) bool { return target == ErrBounds }

// starved reports whether the child had less than half a processor while it ran, so that its lateness tells more about
// the machine than about the file.
func (e *lateError) starved() bool { return e.used < e.limit/2 }

func failure(program string, err error, said string) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return fmt.Errorf("run %s: %w", program, err)
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return fmt.Errorf("%w: %s was ended by %s", ErrBounds, program, status.Signal())
	}
	if strings.Contains(said, "No space left on device") {
		return fmt.Errorf("%s: %w", program, syscall.ENOSPC)
	}
	if strings.Contains(said, "Cannot allocate memory") {
		return fmt.Errorf("%w: %s ran out of memory", ErrBounds, program)
	}
	return &exitError{program: program, code: exit.ExitCode(), said: lastLine(said)}
}

func lastLine(said string) string {
	said = strings.TrimSpace(said)
	if i := strings.LastIndexByte(said, '\n'); i >= 0 {
		said = said[i+1:]
	}
	return said[:min(len(said), 300)]
}

// bound passes on so many bytes and no more.
type bound struct {
	to       io.Writer
	left     int64
	over     func()
	exceeded bool
}

func (b *bound) Write(p []byte) (int, error) {
	if int64(len(p)) > b.left {
		b.exceeded = true
		b.over()
		return 0, ErrBounds
	}
	b.left -= int64(len(p))
	if b.to == nil {
		return len(p), nil
	}
	return b.to.Write(p)
}

// head keeps the beginning of what is written and lets the rest go. The buffer is not embedded: its ReadFrom would take
// everything.
type head struct {
	kept bytes.Buffer
	left int
}

func (h *head) Write(p []byte) (int, error) {
	keep := min(len(p), h.left)
	h.left -= keep
	h.kept.Write(p[:keep])
	return len(p), nil
}
