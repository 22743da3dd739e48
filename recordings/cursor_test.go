package recordings_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// hostileCursors are refused, each for a reason of its own.
var hostileCursors = []string{
	"x", "====", "{}", strings.Repeat("A", 513), "null", `[]`, `{}`, `"u"`,
	`{"u":"2026-03-01T00:00:00.000000Z","k":2,"i":0}`, `{"u":"2026-03-01T00:00:00.000000Z","k":0,"i":-1}`,
	`{"u":"2026-03-01T00:00:00.000000Z","k":0,"i":4611686018427387905}`, `{"u":"2026-03-01T00:00:00.000000Z","k":0,"i":1e99}`,
	`{"u":"2026-03-01T00:00:00Z!","k":0,"i":0}`, `{"u":"2026-02-29T00:00:00.000000Z","k":0,"i":0}`,
	`{"u":"0000-01-01T00:00:00.000000Z","k":0,"i":0}`, `{"k":0,"i":0}`, `{"u":"2026-03-01T00:00:00.000000Z","i":0}`,
	`{"u":"2026-03-01T00:00:00.000000Z","k":0}`, `{"u":"2026-03-01T00:00:00.000000Z","k":0,"i":0,"x":1}`,
	`{"u":"2026-03-01T00:00:00.000000Z","k":0,"i":0,"s":"never"}`, `{"u":"2026-03-01T00:00:00.000000Z","k":0,"i":0}{}`,
}

// A cursor that this server did not give out is refused, whatever it is.
func TestHostileCursors(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", nil)
	for _, text := range hostileCursors {
		for _, cursor := range []string{text, base64.RawURLEncoding.EncodeToString([]byte(text))} {
			_, err := r.recordings.Follow(context.Background(), r.owner, recordings.Following{Cursor: cursor, Limit: 1})
			expect(t, err, problems.InvalidParameter)
		}
	}
}

// Whatever is sent as a cursor is answered: with a page, 400 or 410.
func FuzzCursor(f *testing.F) {
	for _, text := range hostileCursors {
		f.Add(text)
	}
	f.Add(`{"u":"2999-03-01T00:00:00.000000Z","k":0,"i":0}`)
	f.Add(`{"u":"2999-03-01T00:00:00.000000Z","k":1,"i":4611686018427387904,"s":"2998-03-01T00:00:00.000000Z"}`)
	r := newRig(f, sqliteURL(f), "", nil)
	f.Fuzz(func(t *testing.T, text string) {
		for _, cursor := range []string{text, base64.RawURLEncoding.EncodeToString([]byte(text))} {
			if cursor == "" {
				continue
			}
			page, err := r.recordings.Follow(context.Background(), r.owner, recordings.Following{Cursor: cursor, Limit: 1})
			var problem *problems.Error
			if err != nil && (!errors.As(err, &problem) || problem.Kind != problems.InvalidParameter && problem.Kind != problems.CursorExpired) {
				t.Errorf("%q: %v", cursor, err)
			}
			if err == nil && page.Next == "" {
				t.Errorf("%q: the page has no cursor", cursor)
			}
		}
	})
}
