package server

import "testing"

// Memory is given back once when a busy time has ended: not while it lasts, nor again when nothing was asked since.
func TestMemoryIsGivenBackAfterABusyTime(t *testing.T) {
	t.Parallel()
	allocated, released := uint64(0), 0
	m := &memoryRelease{allocated: func() uint64 { return allocated }, release: func() { released++ }}
	for _, step := range []struct {
		about string
		more  uint64
		want  int
	}{
		{"at the start", 20 << 20, 0},
		{"busy", 300 << 20, 0},
		{"busy still", 300 << 20, 0},
		{"quiet", 1 << 20, 1},
		{"quiet still", 1 << 20, 1},
		{"a little is asked", 16 << 20, 1},
		{"quiet", 1 << 20, 1},
		{"busy again", 100 << 20, 1},
		{"quiet again", 1 << 20, 2},
	} {
		allocated += step.more
		m.look(t.Context())
		if released != step.want {
			t.Errorf("%s: given back %d times, want %d", step.about, released, step.want)
		}
	}
}
