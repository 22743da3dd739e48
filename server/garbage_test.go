package server

import (
	"slices"
	"testing"
)

// A small heap may have four times as much garbage, one of open streams so many bytes, and a very large one nearly as much
// as lives, which is Go's own measure; small changes change nothing.
func TestGarbageIsBounded(t *testing.T) {
	t.Parallel()
	living, allowed := uint64(0), []int(nil)
	g := &garbage{living: func() uint64 { return living }, allow: func(percent int) { allowed = append(allowed, percent) }}
	for _, living = range []uint64{0, 3 << 20, 5 << 20, 40 << 20, 41 << 20, 42 << 20, 60 << 20, 128 << 20, 8 << 30, 9 << 30, 3 << 20} {
		g.look(t.Context())
	}
	if want := []int{400, 320, 40, 26, 62, 99, 400}; !slices.Equal(allowed, want) {
		t.Errorf("allowed %v percent, want %v", allowed, want)
	}
}

// A GOGC in the environment wins, as Go's own programs have it.
func TestTheEnvironmentSaysWhatGarbageIs(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]bool{"GOGC=100": false, "GOGC=off": false, "GOGC=": true, "GOGCC=1": true, "PATH=/": true} {
		if leavesGarbage([]string{"HOME=/", variable}) != want {
			t.Errorf("with %s the garbage is the server's own: %v", variable, !want)
		}
	}
}
