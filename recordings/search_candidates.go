package recordings

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

// trigram is how many code points a term must have for the index to find it.
const trigram = 3

// candidate is a recording that a search looks through.
type candidate struct {
	ID          int64
	Title       *string
	MeetingDate *time.Time
	CreatedAt   time.Time
	// at is the date that the search goes by. behind tells that its search_texts are not those of its texts.
	at     time.Time
	behind bool
	// foreign is true of another's recording, of which notes are the caller's.
	foreign bool
	notes   *string
}

// date is the SQL of the date that the query goes by.
func (q Query) date() string {
	if q.ByCreation {
		return "created_at"
	}
	return "COALESCE(meeting_date, created_at)"
}

// dated is the date that the query goes by.
func (c candidate) dated(q Query) time.Time {
	if !q.ByCreation && c.MeetingDate != nil {
		return *c.MeetingDate
	}
	return c.CreatedAt
}

// order is the newest first, or the oldest.
func (q Query) order() string {
	if q.Oldest {
		return q.date() + ", id"
	}
	return q.date() + " DESC, id DESC"
}

// within is a query for those of the account's own recordings among which is searched, the newest first.
func (q Query) within(db *gorm.DB, p auth.Principal) *gorm.DB {
	return q.narrow(db.Model(&models.Recording{}).Where("user_id = ?", p.UserID()), p)
}

// narrow keeps the recordings among which is searched, the newest first.
func (q Query) narrow(query *gorm.DB, p auth.Principal) *gorm.DB {
	query = query.Order(q.order())
	if q.RecordingIDs != nil {
		query = query.Where("id IN ?", q.RecordingIDs)
	}
	if q.TagID != nil {
		query = taggedEach(query, p, *q.TagID)
	}
	if len(q.TagIDs) > 0 {
		query = taggedEach(query, p, q.TagIDs...)
	}
	if q.FolderID != nil {
		query = query.Where("folder_id = ? AND (user_id = ? OR folder_id IN "+groupFolders+")", *q.FolderID, p.UserID(), p.OrganizationID())
	}
	if q.NoFolder {
		query = query.Where("(folder_id IS NULL OR user_id <> ? AND folder_id NOT IN "+groupFolders+")", p.UserID(), p.OrganizationID())
	}
	if q.From != nil {
		query = query.Where(q.date()+" >= ?", q.From.UTC())
	}
	if q.Until != nil {
		query = query.Where(q.date()+" <= ?", q.Until.UTC())
	}
	return query
}

// candidates proposes recordings of the scope, the newest first.
func (s *Recordings) candidates(db *gorm.DB, p auth.Principal, q Query, wanted []string) (found []candidate, err error) {
	if s.own(q.Scope) {
		if found, err = s.ownCandidates(db, p, q, wanted); err != nil {
			return nil, err
		}
	}
	if s.shared(q.Scope) {
		theirs, err := s.sharedCandidates(db, p, q, wanted)
		if err != nil {
			return nil, err
		}
		found = append(found, theirs...)
	}
	for i := range found {
		found[i].at = found[i].dated(q)
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.ID, a.ID)) })
	return found, nil
}

// ownCandidates proposes the account's own: the newest maxCandidates that have all terms, and those that are
// behind, of which nobody knows. The newest recordings are read whole: where terms are common, that ends the matter,
// and what they have of terms too short for the index is all that is found of these. Only then the index is asked.
func (s *Recordings) ownCandidates(db *gorm.DB, p auth.Principal, q Query, wanted []string) ([]candidate, error) {
	var newest []candidate
	err := q.within(db, p).Select("id", "meeting_date", "created_at").Limit(maxScan).Find(&newest).Error
	if err != nil || len(newest) == 0 {
		return nil, err
	}
	recent := make([]int64, len(newest))
	for i := range newest {
		recent[i] = newest[i].ID
	}
	// Their ids say it all; without the date the database would look for them through the whole account.
	among := func(query *gorm.DB) *gorm.DB {
		return query.Where("id IN ? AND "+q.date()+" >= ?", recent, newest[len(newest)-1].dated(q).UTC())
	}
	long := slices.ContainsFunc(wanted, isLong)
	unsure := q.within(db, p)
	if !long {
		unsure = among(unsure)
	}
	// Before the index is asked: what it catches up with in between would else be in neither answer.
	behind, err := marked(db, unsure, p)
	if err != nil {
		return nil, err
	}
	var found []candidate
	if err := s.having(among(q.within(db, p)), q, wanted).Find(&found).Error; err != nil {
		return nil, err
	}
	if len(recent) == maxScan && len(found) < maxCandidates && long {
		rare, others, err := s.rare(db, q, recent, wanted)
		if err != nil {
			return nil, err
		}
		found = nil
		if err := s.indexed(q.within(db, p), p, q, rare, others).Find(&found).Error; err != nil {
			return nil, err
		}
	}
	found = slices.DeleteFunc(found, func(c candidate) bool {
		return slices.ContainsFunc(behind, func(other candidate) bool { return other.ID == c.ID })
	})
	return append(found, behind...), nil
}

// marked gives those of the recordings that are behind, the newest. Mostly nothing is, which one look tells.
func marked(db, among *gorm.DB, p auth.Principal) (behind []candidate, err error) {
	var marks []int64
	err = db.Model(&models.SearchMark{}).Where("user_id = ?", p.UserID()).Limit(1).Pluck("recording_id", &marks).Error
	if err != nil || len(marks) == 0 {
		return nil, err
	}
	err = among.Where("id IN (SELECT recording_id FROM search_marks WHERE user_id = ?)", p.UserID()).
		Limit(maxCandidates).Find(&behind).Error
	for i := range behind {
		behind[i].behind = true
	}
	return behind, err
}

func isLong(term string) bool { return utf8.RuneCountInString(term) >= trigram }

// rare picks the terms for which the index is asked: those that are in few of the recent recordings, or else the one
// that is in the fewest. To ask it for a term that is everywhere would read the whole account.
func (s *Recordings) rare(db *gorm.DB, q Query, recent []int64, wanted []string) (rare, others []string, err error) {
	const few = maxScan / 20
	fewest, at := int64(math.MaxInt64), 0
	for i, term := range wanted {
		count := int64(math.MaxInt64)
		if isLong(term) {
			query := s.having(db.Model(&models.Recording{}).Where("id IN ?", recent), q, []string{term})
			if err := query.Limit(-1).Count(&count).Error; err != nil {
				return nil, nil, err
			}
		}
		if count < few {
			rare = append(rare, term)
			continue
		}
		others = append(others, term)
		if isLong(term) && count < fewest {
			fewest, at = count, i
		}
	}
	if len(rare) == 0 {
		rare = []string{wanted[at]}
		others = slices.DeleteFunc(others, func(term string) bool { return term == wanted[at] })
	}
	return rare, others, nil
}

// having keeps recordings whose folded texts have the terms and the speaker, letter by letter.
func (s *Recordings) having(query *gorm.DB, q Query, wanted []string) *gorm.DB {
	place := "strpos"
	if s.db.Dialect == models.SQLite {
		place = "instr"
	}
	const some = "EXISTS (SELECT 1 FROM search_texts t WHERE t.recording_id = recordings.id AND t.field "
	for _, term := range wanted {
		query = query.Where(some+"IN ? AND "+place+"(t.folded, ?) > 0)", q.Fields, term)
	}
	if q.Speaker != "" {
		query = query.Where(some+"= ? AND "+place+"(? || t.folded || ?, ?) > 0)", fieldSpeaker, "\n", "\n", "\n"+q.Speaker+"\n")
	}
	return s.speaking(query, q.Speakers).Where("NOT EXISTS (SELECT 1 FROM search_marks m WHERE m.recording_id = recordings.id)").Limit(maxCandidates)
}

// indexed keeps recordings that have the terms, those of rare by the index.
func (s *Recordings) indexed(query *gorm.DB, p auth.Principal, q Query, rare, others []string) *gorm.DB {
	branches := strings.Join(slices.Repeat([]string{s.indexSQL("t.field IN ?")}, len(rare)), " INTERSECT ")
	var arguments []any
	for _, term := range rare {
		arguments = append(arguments, s.indexTerm(p, term), p.UserID(), q.Fields)
	}
	return s.having(query.Where("id IN ("+branches+")", arguments...), q, others)
}

// indexSQL gives the recordings that have a term in some fields, by the index. Its arguments are the indexTerm, the
// account, and those of the condition on the field.
func (s *Recordings) indexSQL(field string) string {
	from := "search_texts t WHERE t.folded LIKE ?"
	if s.db.Dialect == models.SQLite {
		from = "search_trigrams CROSS JOIN search_texts t ON t.id = search_trigrams.rowid WHERE search_trigrams MATCH ?"
	}
	return "SELECT t.recording_id FROM " + from + " AND t.user_id = ? AND " + field
}

// indexTerm is a folded term as the index is asked for it.
func (s *Recordings) indexTerm(p auth.Principal, term string) string {
	if s.db.Dialect == models.SQLite {
		return "folded : " + ftsPhrase(term) + " AND account : " + ftsPhrase(accountTrigram(p.UserID()))
	}
	return likeInside(term)
}

// likeInside is LIKE's pattern for what has the text in it; the escapes make % and _ letters.
func likeInside(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}

// ftsPhrase is a string in the query language of FTS5.
func ftsPhrase(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }

// accountTrigram is the account as search_texts has it on SQLite: three letters of a plane that no language uses.
func accountTrigram(userID int64) string {
	const plane, base = 0xF0000, 65000
	return string([]rune{rune(plane + userID/base/base), rune(plane + userID/base%base), rune(plane + userID%base)})
}
