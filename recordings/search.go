package recordings

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// Bounds of a search.
const (
	DefaultHits = 20
	MaxHits     = 50
	// MaxSearchIDs bounds the recordings that a search can be narrowed to.
	MaxSearchIDs = 1000

	maxTerms = 32
	// maxCandidates is how many recordings of those that match are looked at, the newest.
	maxCandidates = 200
	// maxScan is how many recordings, the newest, are read whole for terms too short for the index.
	maxScan = 1000
	// maxVerified and maxRanked bound the bytes that one search looks through and the hits that it puts in order:
	// where one of them is reached, the oldest of the candidates are left out.
	maxVerified = 64 << 20
	maxRanked   = 50_000
)

// SearchFields are the fields that can be searched.
func SearchFields() []Field {
	return []Field{FieldTitle, FieldParticipants, FieldNotes, FieldSummary, FieldTranscript}
}

// weight is what a hit in a field counts.
func weight(field Field) float64 {
	return map[Field]float64{FieldTitle: 1, FieldSummary: 0.9, FieldNotes: 0.8, FieldParticipants: 0.8, FieldTranscript: 0.7}[field]
}

// Query is what is searched for, and among which recordings.
type Query struct {
	// Text has words and "phrases", which must all be in a recording, each in any of the fields.
	Text string
	// Fields are some of SearchFields; none means all.
	Fields []Field
	// Speaker keeps what this person says, named in any case; only the transcript is searched then.
	Speaker string
	Scope   Scope
	// RecordingIDs are the only ones to search; nil means all.
	RecordingIDs []int64
	// TagIDs keeps what has one of these tags, Speakers what one of these people speaks in; none keeps all.
	TagIDs   []int64
	Speakers []string
	// Oldest proposes the oldest first.
	Oldest   bool
	TagID    *int64
	FolderID *int64
	NoFolder bool
	// ByCreation goes by the date of the upload instead of that of the meeting.
	ByCreation bool
	// From is the first moment, Until the last.
	From, Until *time.Time
	// Limit and Page are brought into 1..MaxHits and 1..; 0 is DefaultHits and 1.
	Limit, Page int
}

// Hit is a unit of a recording that has one of the terms: a title, a line, a segment. SegmentIndex, Start, End and
// Speaker are of segments alone.
type Hit struct {
	RecordingID  int64
	Title        *string
	MeetingDate  *time.Time
	Field        Field
	SegmentIndex *int
	Start, End   *float64
	Speaker      *string
	// Text has at most 400 code points, of which Spans are the places of the terms.
	Text  string
	Spans [][2]int
	Score float64
}

// Hits is one page of what a search finds, the best first.
type Hits struct {
	Hits []Hit
	Page int
	More bool
}

// Search finds what recordings say. The database only proposes recordings; what a hit is, one matcher
// decides for both databases.
func (s *Recordings) Search(ctx context.Context, p auth.Principal, q Query) (Hits, error) {
	if q.Limit == 0 {
		q.Limit = DefaultHits
	}
	q.Limit = min(max(q.Limit, 1), MaxHits)
	page := Hits{Hits: []Hit{}, Page: max(q.Page, 1)}
	if len(q.Fields) == 0 {
		q.Fields = SearchFields()
	}
	if q.Speaker = strings.TrimSpace(fold(q.Speaker)); q.Speaker != "" {
		q.Fields = []Field{FieldTranscript}
	}
	wanted := terms(q.Text)
	switch {
	case len(wanted) == 0:
		return Hits{}, problems.New(problems.InvalidParameter, "q must have a word or a phrase to search for.")
	case len(wanted) > maxTerms:
		return Hits{}, problems.New(problems.InvalidParameter, "q must have at most %d different words and phrases.", maxTerms)
	case !p.MayRead():
		return page, nil
	}
	db := s.db.Read.WithContext(ctx)
	found, err := s.candidates(db, p, q, wanted)
	if err != nil {
		return Hits{}, unavailable("find recordings to search", err)
	}
	ranked, err := s.verify(ctx, db, found, q, wanted)
	if err != nil {
		return Hits{}, unavailable("search the recordings", err)
	}
	from := min(int64(page.Page-1)*int64(q.Limit), int64(len(ranked)))
	until := min(from+int64(q.Limit), int64(len(ranked)))
	page.More = until < int64(len(ranked))
	page.Hits, err = show(db, ranked[from:until], wanted)
	if err != nil {
		return Hits{}, unavailable("read what was found", err)
	}
	return page, nil
}

// match is a unit that has at least one of the terms.
type match struct {
	in    *candidate
	field Field
	unit  int
	score float64
}

// verify looks through the candidates, the newest first, and puts the matches of those that have all terms in order.
func (s *Recordings) verify(ctx context.Context, db *gorm.DB, found []candidate, q Query, wanted []string) ([]match, error) {
	var ranked []match
	recordings, bytes := 0, 0
	for i := range found {
		parts, err := partsOf(db, found[i], q)
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			bytes += len(part.Folded)
		}
		if matches := examine(&found[i], parts, q, wanted); len(matches) > 0 {
			ranked = append(ranked, matches...)
			recordings++
		}
		if bytes > maxVerified || len(ranked) > maxRanked {
			s.Logger.InfoContext(ctx, "a search reached its bound of work; the oldest recordings were left out",
				"looked_at", i+1, "candidates", len(found), "bytes", bytes, "matches", len(ranked))
			break
		}
		if recordings == maxCandidates {
			break
		}
	}
	slices.SortStableFunc(ranked, func(a, b match) int {
		return cmp.Or(
			cmp.Compare(b.score, a.score), b.in.at.Compare(a.in.at), cmp.Compare(b.in.ID, a.in.ID),
			cmp.Compare(slices.Index(SearchFields(), a.field), slices.Index(SearchFields(), b.field)), cmp.Compare(a.unit, b.unit),
		)
	})
	return ranked, nil
}

// partsOf reads the parts of a candidate that the query looks at; of one that is behind, from its texts.
func partsOf(db *gorm.DB, in candidate, q Query) ([]models.SearchText, error) {
	fields := q.Fields
	if q.Speaker != "" {
		fields = []Field{FieldTranscript, fieldSpeaker}
	}
	if in.foreign {
		if in.behind {
			return partsOfOthers(db, in, fields)
		}
		fields = withoutNotes(fields)
	}
	if !in.behind {
		var parts []models.SearchText
		err := db.Select("field", "first", "folded").Where("recording_id = ? AND field IN ?", in.ID, fields).
			Order("field, first").Find(&parts).Error
		return parts, err
	}
	parts, err := foldedTexts(db, in.ID)
	return slices.DeleteFunc(parts, func(part models.SearchText) bool { return !slices.Contains(fields, Field(part.Field)) }), err
}

// examine gives the units that have one of the terms, none unless every term is in one of them.
func examine(in *candidate, parts []models.SearchText, q Query, wanted []string) []match {
	said := map[int]bool{} // the units of the speaker who is asked for
	if q.Speaker != "" {
		eachUnit(parts, fieldSpeaker, func(_ Field, unit int, name string) { said[unit] = name == q.Speaker })
	}
	var matches []match
	var seen uint64
	eachUnit(parts, "", func(field Field, unit int, line string) {
		if field == fieldSpeaker || q.Speaker != "" && !said[unit] || len(matches) > maxRanked {
			return
		}
		if found := matched(line, wanted); found != 0 {
			seen |= found
			matches = append(matches, match{in, field, unit, score(field, found, len(wanted))})
		}
	})
	if seen != 1<<len(wanted)-1 {
		return nil
	}
	return matches
}

// eachUnit calls do for every unit of the parts that are of the field; of all parts where it is empty.
func eachUnit(parts []models.SearchText, field Field, do func(field Field, unit int, line string)) {
	for _, part := range parts {
		if field != "" && Field(part.Field) != field {
			continue
		}
		unit := part.First
		for line := range strings.SplitSeq(part.Folded, "\n") {
			do(Field(part.Field), unit, line)
			unit++
		}
	}
}

// score is the part of the terms that is there, weighed by the field, to four decimals.
func score(field Field, found uint64, all int) float64 {
	return math.Round(float64(bits.OnesCount64(found))/float64(all)*weight(field)*1e4) / 1e4
}
