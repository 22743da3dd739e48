package recordings

import (
	"strings"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
)

// named is true of a recording that has a text in its title or participants, in any case, letter by letter. LOWER on both
// sides because LIKE folds case on one database only. Its arguments are the text twice, as likeInside gives it.
const named = `(LOWER(title) LIKE LOWER(?) ESCAPE '\' OR LOWER(participants) LIKE LOWER(?) ESCAPE '\')`

// havingName keeps the account's recordings that have the text in their title or participants, in any case, letter by letter.
func (s *Recordings) havingName(query *gorm.DB, p auth.Principal, text string) *gorm.DB {
	inside, folded := likeInside(text), fold(text)
	if !isLong(folded) || strings.TrimSpace(folded) == "" {
		return query.Where(named, inside, inside) // the index has nothing for it
	}
	// What has the text has it folded too, so that the index of search proposes it, or it is behind. Without this the whole
	// account is read for each page and for its total. The fields stand in the text for the sake of a partial index.
	proposed := s.indexSQL("t.field IN ('title', 'participants')") + " UNION SELECT recording_id FROM search_marks WHERE user_id = ?"
	// Asked one by one, so that PostgreSQL does not look for the text in all recordings before it knows who is proposed.
	among := "SELECT p.recording_id FROM (" + proposed + ") p WHERE (SELECT " + named + " FROM recordings r WHERE r.id = p.recording_id)"
	return query.Where("id IN ("+among+")", s.indexTerm(p, folded), p.UserID(), p.UserID(), inside, inside)
}
