package limits

// rings holds the rings of those counters of a shard that need one. A counter knows its ring by a number, so that the
// garbage collector has no pointers to follow in all the others. Numbers begin at 1; 0 is no ring.
type rings struct {
	list [][]quantum
	free []uint32
}

func (r *rings) of(number uint32) []quantum {
	if number == 0 {
		return nil
	}
	return r.list[number-1]
}

// keep puts a ring in the place of the numbered one, or gives it a number of its own.
func (r *rings) keep(number uint32, ring []quantum) uint32 {
	if number == 0 {
		if last := len(r.free) - 1; last >= 0 {
			number, r.free = r.free[last], r.free[:last]
		} else {
			r.list = append(r.list, nil)
			number = uint32(len(r.list))
		}
	}
	r.list[number-1] = ring
	return number
}

func (r *rings) drop(number uint32) {
	if number != 0 {
		r.list[number-1] = nil
		r.free = append(r.free, number)
	}
}
