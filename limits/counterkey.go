package limits

import (
	"encoding/binary"
	"hash/maphash"
)

// counterKey is a counter's name without anything that a request could make longer, and without a pointer: four
// words, which are hashed as they stand.
type counterKey struct {
	hi, lo, part uint64
	kind         int // its number in the store
}

func keyOf(l *Limit, kind int) counterKey {
	if l.Plan.Subject == Address {
		hi, lo := addressWords(l)
		return counterKey{hi, lo, l.Key.Part, kind}
	}
	return counterKey{0, uint64(l.Key.ID), l.Key.Part, kind}
}

// hashOf is secret to a store: who chooses keys cannot choose keys that collide.
func hashOf(seed maphash.Seed, key counterKey) uint32 { return uint32(maphash.Comparable(seed, key)) }

// addressWords is the address as two words. A mapped IPv4 address is the IPv4 address.
func addressWords(l *Limit) (hi, lo uint64) {
	if !l.Key.Addr.IsValid() {
		return 0, 0
	}
	b := l.Key.Addr.As16()
	return binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
}
