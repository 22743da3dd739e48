package limits

import (
	"encoding/binary"
	"errors"
	"math"
)

// errForeignLog is about a stored log that this program did not write.
var errForeignLog = errors.New("what is stored of a counter is no log of ours")

// logForm is the first byte of a stored log; another form of writing it down gets another.
const logForm = 1

// writtenLog writes a window down: the form, the base, then for each quantum how far its stamp lies after the one
// before, and its cost. Small numbers take a byte.
func writtenLog(w *window) []byte {
	b := binary.AppendVarint([]byte{logForm}, w.base)
	before := uint32(0)
	for i := range int(w.size) {
		q := w.at(i)
		b = binary.AppendUvarint(b, uint64(q.stamp-before))
		b = binary.AppendUvarint(b, uint64(q.cost))
		before = q.stamp
	}
	return b
}

// readLog is the inverse of writtenLog. What is not a log is an error, so that it neither admits nor is written over.
func readLog(b []byte) (window, error) {
	if len(b) == 0 || b[0] != logForm {
		return window{}, errForeignLog
	}
	b = b[1:]
	base, n := binary.Varint(b)
	if n <= 0 {
		return window{}, errForeignLog
	}
	var quanta [resolution + 1]quantum
	size, stamp := 0, uint64(0)
	for b = b[n:]; len(b) > 0; size++ {
		after, n := binary.Uvarint(b)
		if n <= 0 || size == len(quanta) {
			return window{}, errForeignLog
		}
		cost, m := binary.Uvarint(b[n:])
		stamp += after
		if m <= 0 || after > math.MaxUint32 || stamp > math.MaxUint32 || cost < 1 || cost > math.MaxUint32 {
			return window{}, errForeignLog
		}
		quanta[size] = quantum{stamp: uint32(stamp), cost: uint32(cost)}
		b = b[n+m:]
	}
	return windowOf(base, quanta[:size]), nil
}
