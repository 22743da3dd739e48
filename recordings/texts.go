package recordings

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
)

// maxTextBytes bounds the notes and the summary of a recording, each.
const maxTextBytes = 1 << 20

// Show gives a recording that the caller may see without what belongs to it.
func (s *Recordings) Show(ctx context.Context, p auth.Principal, id int64) (Recording, error) {
	row, err := s.visible(s.db.Read.WithContext(ctx), p, id)
	if err != nil {
		return Recording{}, err
	}
	return view(p, row), nil
}

// checkBytes is problems.OfText for long texts, which are bounded by what they weigh.
func checkBytes(name, value string, bound int) error {
	switch {
	case !utf8.ValidString(value):
		return problems.New(problems.InvalidParameter, "%s is not valid UTF-8.", name)
	case strings.ContainsRune(value, 0):
		return problems.New(problems.InvalidParameter, "%s holds a zero character.", name)
	case len(value) > bound:
		return problems.New(problems.InvalidParameter, "%s must be at most %d bytes long.", name, bound).
			With("field", name).With("max_field_bytes", bound)
	}
	return nil
}
