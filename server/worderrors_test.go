package server

import "testing"

// The demo states how good its engine is; the figure must be the usual one.
func TestWordErrorRateCountsSubstitutionsInsertionsAndDeletions(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, truth, heard string
		want               float64
	}{
		{"the same", "Hello, world.", "hello world", 0},
		{"one of four wrong", "one two three four", "one two tree four", 0.25},
		{"one missing", "one two three four", "one two four", 0.25},
		{"one too many", "one two three four", "one two two three four", 0.25},
		{"nothing heard", "one two", "", 1},
		{"nothing said", "", "noise", 0},
	} {
		if got := wordErrorRate(row.truth, row.heard); got != row.want {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
}
