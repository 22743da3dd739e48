package limits

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
)

// decider is one decision inside a transaction of the file: look, then take, then states.
type decider struct {
	file    *limitsFile
	stack   []Limit
	crowded bool // newcomers share a counter

	wall     time.Time
	entries  []entry
	rows     []row
	admitted bool
	made     int64 // rows made
}

// entry is what one limit of the stack is decided by.
type entry struct {
	name   string
	moment moment
	row    int // its log, among the rows
	wait   time.Duration
}

// row is a log and where it is kept.
type row struct {
	name   string
	window window
	fresh  bool // not kept yet
}

// look reads the logs of the stack. The clock is read with the lock held, so that it is not behind what others wrote.
func (d *decider) look(ctx context.Context, wall time.Time) error {
	d.wall = wall
	d.entries, d.rows = make([]entry, 0, len(d.stack)), make([]row, 0, len(d.stack))
	for i := range d.stack {
		l := &d.stack[i]
		e := entry{name: rowName(l), moment: momentOf(wall.UnixNano(), spanOf(l.Rate.Period))}
		if first := d.first(e.name); first < i {
			e.row = d.entries[first].row
		} else {
			var err error
			if e.row, err = d.find(ctx, e.name, l); err != nil {
				return err
			}
		}
		d.entries = append(d.entries, e)
	}
	return nil
}

// first is the index of the first entry of this name; the number of entries if there is none.
func (d *decider) first(name string) int {
	if i := slices.IndexFunc(d.entries, func(e entry) bool { return e.name == name }); i >= 0 {
		return i
	}
	return len(d.entries)
}

// find reads the log of a counter. A newcomer begins with what is counted in common, because what it did while there
// was no room is in there.
func (d *decider) find(ctx context.Context, name string, l *Limit) (int, error) {
	w, found, err := d.file.window(ctx, name)
	fresh := false
	if err == nil && !found {
		common := commonName(l)
		if w, found, err = d.file.window(ctx, common); d.crowded {
			name, fresh = common, !found
		} else {
			fresh = true
		}
	}
	if err != nil {
		return 0, err
	}
	if i := slices.IndexFunc(d.rows, func(r row) bool { return r.name == name }); i >= 0 {
		return i, nil
	}
	d.rows = append(d.rows, row{name: name, window: w, fresh: fresh})
	return len(d.rows) - 1, nil
}

// take admits the whole stack and writes every log, or writes nothing.
func (d *decider) take(ctx context.Context) (admitted bool, err error) {
	d.admitted = true
	for i := range d.entries {
		e := &d.entries[i]
		e.wait = waitFor(&d.stack[i], &d.rows[e.row].window, &e.moment)
		d.admitted = d.admitted && e.wait == 0
	}
	if !d.admitted {
		return false, nil
	}
	for i := range d.entries {
		e := &d.entries[i]
		if d.first(e.name) < i {
			continue
		}
		r := &d.rows[e.row]
		r.window.charge(&e.moment, d.stack[i].Cost)
		if err := d.file.keepWindow(ctx, r.name, &r.window, d.wall.UnixNano()+int64(r.window.whole(&e.moment))); err != nil {
			return false, err
		}
	}
	for i := range d.rows {
		if d.rows[i].fresh {
			d.made++
		}
	}
	return true, nil
}

func (d *decider) states(room []State) []State {
	states := statesIn(room, len(d.entries))
	for i := range d.entries {
		e := &d.entries[i]
		standOf(&d.stack[i], &d.rows[e.row].window, &e.moment, e.wait).state(&states[i], &d.stack[i], d.wall)
	}
	return states
}

// window reads a log; nothing is counted where there is none.
func (f *limitsFile) window(ctx context.Context, name string) (w window, found bool, err error) {
	var log []byte
	err = f.load.QueryRowContext(ctx, name).Scan(&log)
	if errors.Is(err, sql.ErrNoRows) {
		return window{}, false, nil
	}
	if err == nil {
		w, err = readLog(log)
	}
	if err != nil {
		return window{}, false, fmt.Errorf("reading the counter %s: %w", name, err)
	}
	return w, true, nil
}

func (f *limitsFile) keepWindow(ctx context.Context, name string, w *window, endsAt int64) error {
	if _, err := f.store.ExecContext(ctx, name, writtenLog(w), endsAt); err != nil {
		return fmt.Errorf("writing the counter %s: %w", name, err)
	}
	return nil
}
