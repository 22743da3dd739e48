package recordings

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/stenometer/stenometer/problems"
)

// maxCursor bounds the length of a cursor; ours have about 150 characters.
const maxCursor = 512

// cursorTime is how a cursor writes a moment.
const cursorTime = "2006-01-02T15:04:05.000000Z"

// The kinds of change, in the order of those of one moment.
const (
	kindUpsert = 0
	kindDelete = 1
)

// lastID is after every id at its moment.
const lastID int64 = 1 << 62

// place is where a change stands in the feed: by moment, then kind, then id.
type place struct {
	at   time.Time
	kind int
	id   int64
}

func (p place) compare(other place) int {
	return cmp.Or(p.at.Compare(other.at), cmp.Compare(p.kind, other.kind), cmp.Compare(p.id, other.id))
}

// cursor is how far a client has followed the feed.
type cursor struct {
	place
	// passSince is when the full pass began that the client is on; nil after it.
	passSince *time.Time
}

// cursorForm is a cursor as clients hold it, in base64; to them it is opaque.
type cursorForm struct {
	Until string  `json:"u"`
	Kind  *int    `json:"k"`
	ID    *int64  `json:"i"`
	Since *string `json:"s,omitempty"`
}

func (c cursor) String() string {
	form := cursorForm{Until: c.at.UTC().Format(cursorTime), Kind: &c.kind, ID: &c.id}
	if c.passSince != nil {
		since := c.passSince.UTC().Format(cursorTime)
		form.Since = &since
	}
	encoded, _ := json.Marshal(form) // text and numbers alone cannot fail
	return base64.RawURLEncoding.EncodeToString(encoded)
}

// readCursor reads what a client sends as a cursor, which may be anything.
func readCursor(text string) (cursor, error) {
	c, err := parseCursor(text)
	if err != nil {
		return cursor{}, problems.New(problems.InvalidParameter, "cursor is not one that this server gave out.").Because(err)
	}
	return c, nil
}

func parseCursor(text string) (cursor, error) {
	if len(text) > maxCursor {
		return cursor{}, fmt.Errorf("it has %d characters, at most %d are read", len(text), maxCursor)
	}
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return cursor{}, fmt.Errorf("decode it: %w", err)
	}
	var form cursorForm
	decoder := json.NewDecoder(bytes.NewReader(decoded))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&form); err != nil {
		return cursor{}, fmt.Errorf("read it: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return cursor{}, fmt.Errorf("something stands behind it")
	}
	if form.Kind == nil || *form.Kind != kindUpsert && *form.Kind != kindDelete || form.ID == nil || *form.ID < 0 || *form.ID > lastID {
		return cursor{}, fmt.Errorf("it names no place")
	}
	c := cursor{place: place{kind: *form.Kind, id: *form.ID}}
	if c.at, err = time.Parse(cursorTime, form.Until); err != nil || !storable(c.at) {
		return cursor{}, fmt.Errorf("its moment is none")
	}
	if form.Since != nil {
		since, err := time.Parse(cursorTime, *form.Since)
		if err != nil || !storable(since) {
			return cursor{}, fmt.Errorf("the beginning of its pass is no moment")
		}
		c.passSince = &since
	}
	return c, nil
}
