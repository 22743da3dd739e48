// Command bench measures the server side by side with what its users would otherwise run, and writes RESULTS.md.
// README.md says what is measured and how; `make bench` runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The parts of a run.
const (
	partHTTP     = "http"
	partQueries  = "queries"
	partMemory   = "memory"
	partKeys     = "keys"
	partRedis    = "redis"
	partLists    = "lists"
	partStreams  = "streams"
	partWebhooks = "webhooks"
)

// plan is what a run does, and how long.
type plan struct {
	parts map[string]bool
	// only names the HTTP variants that are run; empty: all of them.
	only []string
	// rounds of HTTP, of seconds each; runs of the Go benchmarks, of benchTime each.
	rounds    int
	seconds   int
	runs      int
	benchTime time.Duration
	short     bool
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	short := flag.Bool("short", false, "one short round of everything, printed and not kept: it proves the harness, not the figures")
	parts := flag.String("parts", "http,queries,memory,keys,redis,lists,streams,webhooks", "what to measure")
	only := flag.String("only", "", "HTTP variants to run, by name; all without")
	rounds := flag.Int("rounds", 5, "interleaved rounds of HTTP and of lists")
	runs := flag.Int("runs", 3, "runs of the Go benchmarks")
	out := flag.String("out", "RESULTS.md", "file to write")
	flag.Parse()

	p := plan{
		parts: make(map[string]bool), only: words(*only), rounds: *rounds, seconds: 3, runs: *runs,
		benchTime: 200 * time.Millisecond, short: *short,
	}
	for _, part := range words(*parts) {
		p.parts[part] = true
	}
	if p.short {
		p.rounds, p.seconds, p.runs, p.benchTime = 1, 1, 1, 20*time.Millisecond
	}
	started := time.Now()
	results, err := measure(ctx, p)
	if err != nil {
		return err
	}
	results.took = time.Since(started)
	text := results.markdown()
	if p.short {
		_, err := fmt.Print(text)
		return err
	}
	if err := os.WriteFile(*out, []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	progress("wrote %s after %v", *out, results.took.Round(time.Second))
	return nil
}

// measure runs the parts of the plan one after another, so that no two disturb each other.
func measure(ctx context.Context, p plan) (r *results, err error) {
	b, err := newBench(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	r = &results{plan: p, machine: b.describeMachine(ctx)}
	if p.parts[partHTTP] || p.parts[partQueries] || p.parts[partStreams] || p.parts[partWebhooks] {
		if err := b.prepareHTTP(ctx); err != nil {
			return nil, err
		}
	}
	for _, step := range []struct {
		part string
		do   func(context.Context, plan, *results) error
	}{
		{partHTTP, b.measureHTTP},
		{partQueries, b.countQueries},
		{partMemory, b.measureMemory},
		{partKeys, b.measureKeys},
		{partRedis, b.measureRedis},
		{partLists, b.measureLists},
		{partStreams, b.measureStreams},
		{partWebhooks, b.measureWebhooks},
	} {
		if !p.parts[step.part] {
			continue
		}
		started := time.Now()
		if err := step.do(ctx, p, r); err != nil {
			return nil, fmt.Errorf("measuring %s: %w", step.part, err)
		}
		progress("%s took %v", step.part, time.Since(started).Round(time.Second))
	}
	return r, nil
}

// bench is where a run keeps its files and finds its services.
type bench struct {
	// source is the folder of this module; work is a temporary folder of the run.
	source, work string
	server       string
	peers        string
	python       string
	redis        *redisServer
	tokens       []minted
}

// newBench builds what is measured. The server is the one that make has built.
func newBench(ctx context.Context) (*bench, error) {
	source, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("finding the bench's folder: %w", err)
	}
	work, err := os.MkdirTemp("", "stenometer-bench.")
	if err != nil {
		return nil, fmt.Errorf("making a temporary folder: %w", err)
	}
	b := &bench{
		source: source, work: work,
		server: filepath.Join(source, "..", "bin", "server"), peers: filepath.Join(work, "peers"),
		python: pythonOf(),
	}
	b.redis, err = findRedis(ctx)
	if err == nil {
		err = b.command(ctx, source, nil, "go", "build", "-buildvcs=false", "-o", b.peers, "./peers")
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(work))
	}
	return b, nil
}

func (b *bench) close() error {
	return errors.Join(b.redis.client.Close(), os.RemoveAll(b.work))
}

// pythonOf is the Python that Debian's packages are installed for, wherever another one stands before it in PATH.
func pythonOf() string {
	if python := os.Getenv("PYTHON"); python != "" {
		return python
	}
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		return "/usr/bin/python3"
	}
	return "python3"
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// progress tells whoever waits what is going on.
func progress(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", arguments...)
}
