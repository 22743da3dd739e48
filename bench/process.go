package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// startPatience is how long a server may take until it answers, stopPatience until it has ended.
	startPatience = 30 * time.Second
	stopPatience  = 25 * time.Second
	// clockTicks is USER_HZ, in which /proc tells CPU time: 100 on every Linux that Go runs on.
	clockTicks = 100
)

// command runs a program to its end; its output is told only when it fails.
func (b *bench) command(ctx context.Context, folder string, environment []string, name string, arguments ...string) error {
	_, err := b.output(ctx, folder, environment, name, arguments...)
	return err
}

func (b *bench) output(ctx context.Context, folder string, environment []string, name string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir = folder
	command.Env = append(os.Environ(), environment...)
	var out, faults bytes.Buffer
	command.Stdout, command.Stderr = &out, &faults
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("running %s: %w\n%s%s", filepath.Base(name), err, out.String(), faults.String())
	}
	return out.String(), nil
}

// process is a server under measurement.
type process struct {
	command *exec.Cmd
	address string
	log     string
}

// start starts a server that listens on the address. What it writes goes to the file named log, or nowhere: a log on
// a disk would be measured with it.
func (b *bench) start(ctx context.Context, launch launch, address, log string) (*process, error) {
	command := exec.CommandContext(ctx, launch.program, launch.arguments...)
	command.Dir = launch.folder
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.work, "TMPDIR=" + os.TempDir()}, launch.environment...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopPatience
	if log != "" {
		file, err := os.Create(log)
		if err != nil {
			return nil, fmt.Errorf("making a log: %w", err)
		}
		defer file.Close()
		command.Stdout, command.Stderr = file, file
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", filepath.Base(launch.program), err)
	}
	return &process{command, address, log}, nil
}

// stop asks the server to end and waits until it has.
func (p *process) stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		_ = p.command.Wait() // how it ended tells nothing: it was told to
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(stopPatience):
		err := p.command.Process.Kill()
		<-ended
		return errors.Join(errors.New("a server did not stop when told to"), err)
	}
}

// logged is the end of what the server wrote, for an error.
func (p *process) logged() string {
	text, _ := os.ReadFile(p.log)
	return string(text[max(0, len(text)-2000):])
}

// cpu is how many seconds of CPU the server has used, with those of its workers, ended ones included.
func (p *process) cpu() float64 { return cpuOf(p.command.Process.Pid) }

// cpuOf adds up user and system time of a process, of its ended children, and of the living ones.
func cpuOf(pid int) float64 {
	seconds := ownCPU(pid)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return seconds
	}
	for _, child := range strings.Fields(string(children)) {
		if n, err := strconv.Atoi(child); err == nil {
			seconds += cpuOf(n)
		}
	}
	return seconds
}

func ownCPU(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	ticks, err := ticksOf(string(text))
	if err != nil {
		return 0
	}
	return float64(ticks) / clockTicks
}

// ticksOf is utime, stime, cutime and cstime of a line of /proc/<pid>/stat. The program's name may hold spaces and
// parentheses, so that fields are counted from the last of those.
func ticksOf(stat string) (int64, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const utime, cstime = 11, 14
	if len(fields) <= cstime {
		return 0, fmt.Errorf("reading CPU time: %q has too few fields", stat)
	}
	var sum int64
	for _, field := range fields[utime : cstime+1] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading CPU time: %w", err)
		}
		sum += ticks
	}
	return sum, nil
}

// freeAddress is a port of loopback that was free a moment ago.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
