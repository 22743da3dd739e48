// Command keys tells what counters take in memory: it makes so many tokens count so many requests in a store, each
// spread over a day's window where the store's clock can be moved, and prints the bytes of the heap and of the process
// for each token. One store a process, so that none is measured with another's garbage.
//
// Usage: keys STORE TOKENS REQUESTS
package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/stenometer/stenometer/bench/stores"
	"github.com/stenometer/stenometer/limits"
)

const day = 24 * time.Hour

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "keys:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 3 {
		return fmt.Errorf("usage: keys STORE TOKENS REQUESTS")
	}
	tokens, err := strconv.Atoi(arguments[1])
	if err != nil {
		return fmt.Errorf("reading the number of tokens: %w", err)
	}
	requests, err := strconv.Atoi(arguments[2])
	if err != nil {
		return fmt.Errorf("reading the number of requests: %w", err)
	}
	clock := time.Now()
	heap, resident := used()
	decider, err := open(arguments[0], func() time.Time { return clock })
	if err != nil {
		return err
	}
	decide := decider()
	for range requests {
		clock = clock.Add(day / time.Duration(requests+1))
		for i := range tokens {
			if !decide(i) {
				return fmt.Errorf("token %d was refused", i)
			}
		}
	}
	heapAfter, residentAfter := used()
	runtime.KeepAlive(decide)
	fmt.Printf("%.1f %.1f\n", (heapAfter-heap)/float64(tokens), (residentAfter-resident)/float64(tokens))
	return nil
}

// open opens a store that counts tokens alone, one counter each.
func open(name string, now func() time.Time) (stores.Decider, error) {
	switch name {
	case "ours":
		return stores.Ours{Limits: 1, Rate: limits.Rate{Limit: 5000, Period: day}}.InMemory(now), nil
	case "ulule":
		return stores.Ulule(stores.Fresh(), false), nil
	case "throttled":
		return stores.Throttled(stores.Fresh().TokensOnly())
	case "time_rate":
		return stores.TimeRate(stores.Fresh().TokensOnly()), nil
	}
	return nil, fmt.Errorf("no store %q", name)
}

// used is the live heap and the resident memory, once what is garbage has gone back to the system.
func used() (heap, resident float64) {
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	text, _ := os.ReadFile("/proc/self/statm")
	if fields := bytes.Fields(text); len(fields) > 1 {
		pages, _ := strconv.ParseFloat(string(fields[1]), 64)
		resident = pages * float64(os.Getpagesize())
	}
	return float64(stats.HeapAlloc), resident
}
