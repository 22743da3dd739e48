package server

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// quietBytes is how little a server allocates between two looks that nobody asks anything of.
	quietBytes = 4 << 20
	// busyBytes is how much it has allocated since memory was given back last when it is worth doing so again.
	busyBytes = 32 << 20
)

// memoryRelease gives memory back to the machine when a busy time has ended. Go does so too, but only after minutes,
// and keeps what the next busy time may need.
type memoryRelease struct {
	// allocated is all that was ever allocated, in bytes; release collects garbage and gives memory back.
	allocated func() uint64
	release   func()
	// before and released are what was allocated at the last look and at the last release.
	before, released uint64
}

func newMemoryRelease() *memoryRelease {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	return &memoryRelease{
		allocated: func() uint64 { metrics.Read(sample); return sample[0].Value.Uint64() },
		release:   debug.FreeOSMemory,
	}
}

// look is called now and then, by one goroutine.
func (m *memoryRelease) look(context.Context) {
	allocated := m.allocated()
	if allocated-m.before < quietBytes && allocated-m.released >= busyBytes {
		m.release()
		allocated = m.allocated()
		m.released = allocated
	}
	m.before = allocated
}
