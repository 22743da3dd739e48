package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/stenometer/stenometer/bench/answer"
)

const (
	connections = 32
	threads     = 2
)

// errNoAnswer is a run in which nothing was answered: SQLite's writers may keep each other out for a second and more.
var errNoAnswer = errors.New("nothing was answered")

// load is what the load generator saw.
type load struct {
	requests  int
	perSecond float64
	p50, p99  time.Duration
	// bad are answers that were no success, failed are connections that broke or waited too long.
	bad, failed int
}

// drive sends requests of all tokens for some seconds.
func (b *bench) drive(ctx context.Context, address string, seconds int) (load, error) {
	text, err := b.output(ctx, b.source, nil, "wrk",
		"-t", strconv.Itoa(threads), "-c", strconv.Itoa(connections), "-d", strconv.Itoa(seconds)+"s",
		"--timeout", "15s", "--latency", "-s", "wrk/tokens.lua", "http://"+address, "--", answer.Path, b.tokensFile())
	if err != nil {
		return load{}, err
	}
	return parseLoad(text)
}

var (
	wrkRequests = regexp.MustCompile(`(?m)^\s*(\d+) requests in`)
	wrkRate     = regexp.MustCompile(`(?m)^Requests/sec:\s+([\d.]+)`)
	wrkHalf     = regexp.MustCompile(`(?m)^\s+50%\s+(\S+)`)
	wrkMost     = regexp.MustCompile(`(?m)^\s+99%\s+(\S+)`)
	wrkBad      = regexp.MustCompile(`(?m)^\s*Non-2xx or 3xx responses: (\d+)`)
	wrkFailed   = regexp.MustCompile(`(?m)^\s*Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)`)
)

// parseLoad reads wrk's report. A run without a single answer has no latencies and is an error.
func parseLoad(text string) (load, error) {
	var l load
	fields := make([]string, 4)
	for i, part := range []*regexp.Regexp{wrkRequests, wrkRate, wrkHalf, wrkMost} {
		found := part.FindStringSubmatch(text)
		if found == nil {
			return l, fmt.Errorf("wrk reported something else than was expected:\n%s", text)
		}
		fields[i] = found[1]
	}
	l.requests, _ = strconv.Atoi(fields[0])
	l.perSecond, _ = strconv.ParseFloat(fields[1], 64)
	var err error
	if l.p50, err = time.ParseDuration(fields[2]); err != nil {
		return l, fmt.Errorf("reading wrk's latency: %w", err)
	}
	if l.p99, err = time.ParseDuration(fields[3]); err != nil {
		return l, fmt.Errorf("reading wrk's latency: %w", err)
	}
	if found := wrkBad.FindStringSubmatch(text); found != nil {
		l.bad, _ = strconv.Atoi(found[1])
	}
	if found := wrkFailed.FindStringSubmatch(text); found != nil {
		for _, count := range found[1:] {
			n, _ := strconv.Atoi(count)
			l.failed += n
		}
	}
	if l.requests == 0 {
		return l, fmt.Errorf("%w:\n%s", errNoAnswer, text)
	}
	return l, nil
}
