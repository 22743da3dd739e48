package limits

import (
	"testing"

	"pgregory.net/rapid"
)

// TestIndexFindsWhatIsThere: places come, move and go under few hashes, so that most of them stand behind others.
func TestIndexFindsWhatIsThere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const counters = 40
		x := indexFor(counters)
		hashes := map[int]uint32{} // by place
		hashAt := func(place int) uint32 { return hashes[place] }
		for range rapid.IntRange(1, 200).Draw(t, "changes") {
			place := rapid.IntRange(0, counters-1).Draw(t, "place")
			to := rapid.IntRange(0, counters-1).Draw(t, "to")
			switch hash, known := hashes[place]; {
			case !known:
				hashes[place] = rapid.SampledFrom([]uint32{0, 1, 2, 1 << 31, 1<<31 + 1, 1<<32 - 1}).Draw(t, "hash")
				x.add(hashes[place], place)
			case place == to:
				x.remove(hash, place, hashAt)
				delete(hashes, place)
			default:
				if _, taken := hashes[to]; !taken {
					x.move(hash, place, to)
					hashes[to] = hash
					delete(hashes, place)
				}
			}
			checkIndex(t, &x, hashes)
		}
	})
}

// checkIndex searches as a shard does.
func checkIndex(t *rapid.T, x *index, hashes map[int]uint32) {
	used := 0
	for _, c := range x.cells {
		if c != 0 {
			used++
		}
	}
	if used != len(hashes) {
		t.Fatalf("%d cells are used for %d places", used, len(hashes))
	}
	for want, hash := range hashes {
		found := false
		for i := x.home(hash); x.cells[i] != 0; i = x.after(i) {
			place, may := x.place(x.cells[i], hash)
			found = found || may && place == want
		}
		if !found {
			t.Fatalf("place %d with hash %d is not found", want, hash)
		}
	}
}
