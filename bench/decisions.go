package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// timing is one line of a Go benchmark: values by unit ("ns/op", "B/op", "allocs/op", and the benchmark's own).
type timing map[string]float64

// timings are the runs of each benchmark, by its name without "Benchmark" and the number of processors.
type timings map[string][]timing

// measureMemory times decisions in memory.
func (b *bench) measureMemory(ctx context.Context, p plan, r *results) (err error) {
	r.memory, err = b.benchmark(ctx, p, "^Benchmark(Memory|Clock)$")
	return err
}

// measureRedis times decisions in Redis, in more runs: a round trip depends on more than this process.
func (b *bench) measureRedis(ctx context.Context, p plan, r *results) (err error) {
	p.runs *= 2
	r.redis, err = b.benchmark(ctx, p, "^BenchmarkRedis$")
	return err
}

// benchmark runs Go benchmarks in a process of their own, again and again, so that every run meets every candidate.
func (b *bench) benchmark(ctx context.Context, p plan, pattern string) (timings, error) {
	program := filepath.Join(b.work, "decisions.test")
	if err := b.command(ctx, b.source, nil, "go", "test", "-c", "-buildvcs=false", "-o", program, "./decisions"); err != nil {
		return nil, err
	}
	all := make(timings)
	for n := range p.runs {
		arguments := []string{"-test.run", "^$", "-test.bench", pattern, "-test.benchtime", p.benchTime.String()}
		if p.short {
			arguments = append(arguments, "-test.short")
		}
		text, err := b.output(ctx, b.work, nil, program, arguments...)
		if err != nil {
			return nil, err
		}
		if err := all.add(text); err != nil {
			return nil, err
		}
		progress("run %d of %d of %s is over", n+1, p.runs, pattern)
	}
	return all, nil
}

// add reads the output of one run.
func (t timings) add(text string) error {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		if dash := strings.LastIndexByte(name, '-'); dash >= 0 {
			name = name[:dash]
		}
		one := make(timing)
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return fmt.Errorf("reading the benchmark %s: %w", name, err)
			}
			one[fields[i+1]] = value
		}
		t[name] = append(t[name], one)
	}
	return nil
}

// values are the runs of one benchmark in one unit.
func (t timings) values(name, unit string) []float64 {
	var values []float64
	for _, one := range t[name] {
		if value, ok := one[unit]; ok {
			values = append(values, value)
		}
	}
	return values
}

// footprint is what counters of a store take.
type footprint struct {
	store            string
	tokens, requests int
	// heap and resident are bytes for each counter.
	heap, resident float64
}

// measureKeys weighs counters: lightly used ones of every store, full ones of ours.
func (b *bench) measureKeys(ctx context.Context, p plan, r *results) error {
	program := filepath.Join(b.work, "keys")
	if err := b.command(ctx, b.source, nil, "go", "build", "-buildvcs=false", "-o", program, "./keys"); err != nil {
		return err
	}
	many, few := 1_000_000, 4_000
	if p.short {
		many, few = 100_000, 200
	}
	for _, f := range []footprint{
		{store: "ours", tokens: many, requests: 1},
		{store: "ulule", tokens: many, requests: 1},
		{store: "throttled", tokens: many, requests: 1},
		{store: "time_rate", tokens: many, requests: 1},
		{store: "ours", tokens: many, requests: 2},
		{store: "ours", tokens: few, requests: 5000},
	} {
		text, err := b.output(ctx, b.work, nil, program, f.store, strconv.Itoa(f.tokens), strconv.Itoa(f.requests))
		if err != nil {
			return err
		}
		if _, err := fmt.Sscan(text, &f.heap, &f.resident); err != nil {
			return fmt.Errorf("reading what counters take: %w", err)
		}
		r.footprints = append(r.footprints, f)
	}
	return nil
}
