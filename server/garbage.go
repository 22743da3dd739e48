package server

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"
)

const (
	// garbagePercent is how much garbage there may be beside what lives before it is collected. Hardly a byte outlives
	// its request: at Go's own 100 a small heap is collected so often that this is a fifth of a request's cost.
	garbagePercent = 400
	// garbageBytes is the most for which that is worth it: what lives is large while many streams are open, and four times
	// as much again would be taken from the machine for nothing.
	garbageBytes = 16 << 20
	// largeBytes is what lives when garbage may grow again, byte by byte with what lives: to look through a large heap
	// costs its size, and must not be done for little.
	largeBytes = 64 << 20
	// garbageEvery is how often it is looked whether much more or less lives.
	garbageEvery = 100 * time.Millisecond
)

// garbage says how much of it there may be before it is collected. A GOGC in the environment wins, and then there is
// none of these.
type garbage struct {
	// living is what the last collection found alive, in bytes, stacks too; allow lets so many percent of that be garbage.
	living  func() uint64
	allow   func(percent int)
	allowed int
}

func newGarbage() *garbage {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	return &garbage{
		living: func() (sum uint64) {
			metrics.Read(samples)
			for _, sample := range samples {
				sum += sample.Value.Uint64()
			}
			return sum
		},
		allow: func(percent int) { debug.SetGCPercent(percent) },
	}
}

// look is called again and again, by one goroutine. To allow something else stops everything for a moment, so that
// small changes are let be.
func (g *garbage) look(context.Context) {
	percent := garbagePercent
	if living := g.living(); living > 0 {
		percent = int(min(100*(garbageBytes+max(living, largeBytes)-largeBytes)/living, garbagePercent))
	}
	if change := percent - g.allowed; 8*max(change, -change) > g.allowed {
		g.allow(percent)
		g.allowed = percent
	}
}

// leavesGarbage reports whether the environment leaves the garbage to the server.
func leavesGarbage(environment []string) bool {
	for _, variable := range environment {
		if value, set := strings.CutPrefix(variable, "GOGC="); set && value != "" {
			return false
		}
	}
	return true
}
