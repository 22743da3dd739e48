package recordings

import (
	"context"
	"math"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// Bounds of a page of the feed.
const (
	DefaultChanges = 100
	MaxChanges     = 500
)

// startTolerance is how far a cursor may reach behind the beginning of the feed: the clocks of the database, which
// wrote that mark, and of the servers differ a little.
const startTolerance = 3 * time.Second

// Change is one entry of the feed: a recording as it is now, or one that is gone.
type Change struct {
	// Recording is nil for one that is gone.
	Recording *Recording
	Gone      Tombstone
}

// Tombstone is a recording that is gone.
type Tombstone struct {
	ID        int64
	DeletedAt time.Time
	Reason    Reason
}

// Changes is one page of the feed.
type Changes struct {
	Changes []Change
	Next    string // cursor of the next page; never empty
	More    bool   // whether the next page can be read at once
}

// Following says where in the feed a client goes on.
type Following struct {
	// Cursor is that of the last page; without one a full pass over all recordings begins.
	Cursor string
	// Limit bounds the page.
	Limit int
	// Scope is whose recordings are followed; a client stays with one.
	Scope Scope
}

// Follow gives what has changed of the caller's recordings since the cursor, the oldest change first. A client that
// applies the pages in order, and after a full pass drops what it did not see, has what is there, but for what changed
// in the last moments.
//
// Nothing is told before it has settled: a change may become visible later than the moment that it bears, and a
// client that was already past that moment would never see it.
func (s *Recordings) Follow(ctx context.Context, p auth.Principal, following Following) (Changes, error) {
	db := s.db.Read.WithContext(ctx)
	settled, err := s.settled(ctx)
	if err != nil {
		return Changes{}, err
	}
	// From before every change on. A deletion that settles during the pass may be of a recording that the pass has shown.
	from := cursor{place: place{at: time.Unix(0, 0).UTC()}, passSince: &settled}
	if following.Cursor != "" {
		if from, err = readCursor(following.Cursor); err != nil {
			return Changes{}, err
		}
	}
	page := Changes{Changes: []Change{}, Next: end(from, settled).String()}
	feed := feed{
		db: db, p: p, from: from, settled: settled, limit: following.Limit + 1,
		own: s.own(following.Scope), shared: s.shared(following.Scope),
	}
	entries, err := feed.entries()
	if err != nil {
		return Changes{}, err
	}
	// After the tombstones are read: one that was forgotten before that has moved the mark.
	if following.Cursor != "" {
		if err := checkRemembered(db, from); err != nil {
			return Changes{}, err
		}
	}
	if len(entries) > following.Limit {
		entries = entries[:following.Limit]
		page.More, page.Next = true, cursor{entries[following.Limit-1].place, from.passSince}.String()
	}
	page.Changes, err = s.changes(db, p, entries)
	return page, err
}

// settled is the moment up to which every change can be seen: the settle window ago, and before the beginning of every
// transaction that still writes.
func (s *Recordings) settled(ctx context.Context) (time.Time, error) {
	now := s.moment()
	writing, err := s.db.Writing(ctx)
	if err != nil {
		return time.Time{}, unavailable("look for unfinished changes", err)
	}
	return now.Add(-writing - s.ChangesSettle).Truncate(time.Microsecond), nil
}

// feed reads one page's worth of either kind of change, and one more.
type feed struct {
	db      *gorm.DB
	p       auth.Principal
	from    cursor
	settled time.Time
	limit   int
	// own and shared tell whose recordings are followed.
	own, shared bool
}

// entry is a change before it is shown.
type entry struct {
	place
	row  models.Recording
	gone Tombstone
}

// entries brings both kinds into one order.
func (f feed) entries() ([]entry, error) {
	rows, err := f.upserts()
	if err != nil {
		return nil, err
	}
	graves, err := f.tombstones()
	if err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(rows)+len(graves))
	for _, row := range rows {
		entries = append(entries, entry{place: place{row.UpdatedAt, kindUpsert, row.ID}, row: row})
	}
	for _, grave := range graves {
		gone := Tombstone{grave.RecordingID, grave.DeletedAt, Reason(grave.Reason)}
		entries = append(entries, entry{place: place{gone.DeletedAt, kindDelete, gone.ID}, gone: gone})
	}
	slices.SortFunc(entries, func(a, b entry) int { return a.compare(b.place) })
	return entries, nil
}

func (f feed) upserts() ([]models.Recording, error) {
	after := f.from.id
	if f.from.kind == kindDelete {
		after = math.MaxInt64 // those of that moment come before its deletions
	}
	changed := func() *gorm.DB {
		return withoutTexts(f.db.Model(&models.Recording{})).
			Where("(updated_at, id) > (?, ?) AND updated_at <= ?", f.from.at.UTC(), after, f.settled).
			Order("updated_at, id").Limit(f.limit)
	}
	var rows, theirs []models.Recording
	if f.own {
		if err := changed().Where("user_id = ?", f.p.UserID()).Find(&rows).Error; err != nil {
			return nil, unavailable("read the changed recordings", err)
		}
	}
	if f.shared {
		if err := sharedWith(changed(), f.p).Find(&theirs).Error; err != nil {
			return nil, unavailable("read the changed recordings of others", err)
		}
	}
	return append(rows, theirs...), nil
}

func (f feed) tombstones() ([]models.RecordingTombstone, error) {
	at, after := f.from.at, f.from.id
	if f.from.kind == kindUpsert {
		after = -1
	}
	if since := f.from.passSince; since != nil && since.After(at) {
		at, after = *since, -1 // older ones are of recordings that the pass has never shown
	}
	var whose []bool // who follows what is shared is not told of what was their own
	for _, kind := range []struct{ followed, shared bool }{{f.own, false}, {f.shared, true}} {
		if kind.followed {
			whose = append(whose, kind.shared)
		}
	}
	if len(whose) == 0 {
		return nil, nil
	}
	var rows []models.RecordingTombstone
	err := f.db.Where("user_id = ? AND (deleted_at, recording_id) > (?, ?) AND deleted_at <= ?", f.p.UserID(), at.UTC(), after, f.settled).
		Where("shared IN ?", whose).Order("deleted_at, recording_id").Limit(f.limit).Find(&rows).Error
	if err != nil {
		return nil, unavailable("read the deleted recordings", err)
	}
	return rows, nil
}

// checkRemembered refuses a cursor for which deletions may have been forgotten.
func checkRemembered(db *gorm.DB, from cursor) error {
	var marks []models.FeedMark
	if err := db.Find(&marks).Error; err != nil {
		return unavailable("read the marks of the feed", err)
	}
	needed := from.at
	if from.passSince != nil {
		needed = *from.passSince
	}
	for _, mark := range marks {
		forgotten := mark.Name == markPruned && needed.Before(mark.At)
		neverKnown := mark.Name == markStarted && from.passSince == nil && needed.Before(mark.At.Add(-startTolerance))
		if forgotten || neverKnown {
			return problems.New(problems.CursorExpired, "The cursor is older than what is remembered; begin again without one.")
		}
	}
	return nil
}

// changes shows the entries of a page.
func (s *Recordings) changes(db *gorm.DB, p auth.Principal, entries []entry) ([]Change, error) {
	var rows []models.Recording
	for _, entry := range entries {
		if entry.kind == kindUpsert {
			rows = append(rows, entry.row)
		}
	}
	shown, err := s.items(db, p, rows)
	if err != nil {
		return nil, err
	}
	page := make([]Change, len(entries))
	for i, entry := range entries {
		if entry.kind == kindDelete {
			page[i].Gone = entry.gone
			continue
		}
		page[i].Recording, shown = &shown[0], shown[1:]
	}
	return page, nil
}

// end is where a client stands that has seen all that has settled; never before the place where it stood.
func end(from cursor, settled time.Time) cursor {
	last := place{settled, kindDelete, lastID}
	if last.compare(from.place) < 0 {
		last = from.place
	}
	return cursor{place: last}
}
