package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// describeMachine tells what the figures were measured on, in lines; nothing that names the machine itself.
func (b *bench) describeMachine(ctx context.Context) []string {
	version := func(name string, arguments ...string) string {
		text, err := b.output(ctx, b.source, nil, name, arguments...)
		if err != nil {
			return "unknown"
		}
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		return first
	}
	// wrk ends with 1 after telling its version.
	wrk := version("sh", "-c", "wrk -v 2>&1 | head -n 1 | cut -d' ' -f2")
	python := version(b.python, "-c", `import sys, importlib.metadata as m
print("Python %d.%d.%d" % sys.version_info[:3] + "".join(", %s %s" % (p, m.version(p)) for p in
      ("Flask", "Flask-Limiter", "limits", "Flask-SQLAlchemy", "SQLAlchemy", "gunicorn", "redis")))`)
	return []string{
		fmt.Sprintf("%d processors, %s; %s of memory", runtime.NumCPU(), field("/proc/cpuinfo", "model name"), memorySize()),
		fmt.Sprintf("Linux %s; %s", release(version("uname", "-r")), strings.Trim(field("/etc/os-release", "PRETTY_NAME"), `"`)),
		fmt.Sprintf("%s; Redis %s without persistence; wrk %s; %s", runtime.Version(), b.redis.version, wrk, python),
		fmt.Sprintf("commit %s", version("git", "describe", "--tags", "--always", "--dirty")),
		fmt.Sprintf("load before the run: %s", firstWord("/proc/loadavg")),
	}
}

// field is a value of a file with lines "name: value" or "name=value".
func field(path, name string) string {
	file, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		found, value, ok := strings.Cut(lines.Text(), ":")
		if !ok {
			found, value, ok = strings.Cut(lines.Text(), "=")
		}
		if ok && strings.TrimSpace(found) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func memorySize() string {
	var kilobytes float64
	if _, err := fmt.Sscan(field("/proc/meminfo", "MemTotal"), &kilobytes); err != nil {
		return "an unknown size"
	}
	return fmt.Sprintf("%.0f GiB", kilobytes/(1<<20))
}

func firstWord(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	word, _, _ := strings.Cut(string(text), " ")
	return word
}

// release is a kernel's version without what its builder has appended.
func release(version string) string {
	number, _, _ := strings.Cut(version, "-")
	return number
}
