package limits

import "math/bits"

// index is how a shard finds the place of a key by the key's hash: a hash table with linear probing. A cell is 32 bits
// wide: a place needs as many as the table's size has, and the rest hold that part of the hash which did not choose
// the cell, so that most strangers are passed over without a look at their keys. At most half of the cells are full:
// a counter costs 8 to 16 bytes here, and mostly the first cell is the one.
type index struct {
	cells []cell // as many as a power of two; none before the first key
	shift uint   // bits of a place
}

// cell is a place plus one in its lower bits and hash in the others; 0 is an empty cell.
type cell uint32

const smallestIndex = 8

func indexFor(counters int) index {
	cells := smallestIndex
	for cells < 2*counters {
		cells *= 2
	}
	return index{cells: make([]cell, cells), shift: uint(bits.Len(uint(cells - 1)))}
}

// full tells that the table must grow before it has so many places.
func (x *index) full(counters int) bool { return len(x.cells) < 2*counters }

func (x *index) cell(hash uint32, place int) cell {
	return cell(hash)>>x.shift<<x.shift | cell(place+1)
}

// place is what a cell holds, and whether the hash may be that of its key.
func (x *index) place(c cell, hash uint32) (place int, may bool) {
	return int(c&(1<<x.shift-1)) - 1, uint32(c)>>x.shift == hash>>x.shift
}

// home is where the search for a hash begins; it ends at an empty cell.
func (x *index) home(hash uint32) int { return int(hash) & (len(x.cells) - 1) }

func (x *index) after(i int) int { return (i + 1) & (len(x.cells) - 1) }

func (x *index) add(hash uint32, place int) {
	i := x.home(hash)
	for x.cells[i] != 0 {
		i = x.after(i)
	}
	x.cells[i] = x.cell(hash, place)
}

// move tells the index that what stood at one place now stands at another. It must be there.
func (x *index) move(hash uint32, from, to int) { x.cells[x.find(hash, from)] = x.cell(hash, to) }

// remove forgets a place, which must be there. Cells behind it move up, so that no search ends before its goal; hashAt
// is the hash of what stands at a place.
func (x *index) remove(hash uint32, place int, hashAt func(place int) uint32) {
	hole := x.find(hash, place)
	for i := x.after(hole); x.cells[i] != 0; i = x.after(i) {
		// A cell may move up into the hole only if its search comes by there: if its home is not after the hole.
		other, _ := x.place(x.cells[i], 0)
		if mask := len(x.cells) - 1; (i-x.home(hashAt(other)))&mask >= (i-hole)&mask {
			x.cells[hole] = x.cells[i]
			hole = i
		}
	}
	x.cells[hole] = 0
}

func (x *index) find(hash uint32, place int) int {
	i := x.home(hash)
	for x.cells[i] != x.cell(hash, place) {
		i = x.after(i)
	}
	return i
}
