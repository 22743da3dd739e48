package recordings_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
)

// naiveHit is a hit of the naive search.
type naiveHit struct {
	id    int64
	at    time.Time
	field recordings.Field
	unit  int
	shown int // as finds shows it
	text  string
	score float64
}

// everything is what the naive search reads, once between two changes: to read it is most of the work of an answer.
type everything struct {
	rows []models.Recording
	said map[int64][]models.TranscriptSegment
}

func (r *rig) everything() everything {
	r.t.Helper()
	var rows []models.Recording
	if err := r.db.Read.Where("user_id = ?", r.user.ID).Find(&rows).Error; err != nil {
		r.t.Fatal(err)
	}
	var segments []models.TranscriptSegment
	if err := r.db.Read.Order("position").Find(&segments).Error; err != nil {
		r.t.Fatal(err)
	}
	said := map[int64][]models.TranscriptSegment{}
	for _, segment := range segments {
		said[segment.RecordingID] = append(said[segment.RecordingID], segment)
	}
	return everything{rows, said}
}

// naively answers a query by looking through every row of every recording.
func (all everything) naively(q recordings.Query) []string {
	terms, rows := recordings.Terms(q.Text), all.rows
	at := func(row models.Recording) time.Time {
		if !q.ByCreation && row.MeetingDate != nil {
			return *row.MeetingDate
		}
		return row.CreatedAt
	}
	slices.SortFunc(rows, func(a, b models.Recording) int { return cmp.Or(at(b).Compare(at(a)), cmp.Compare(b.ID, a.ID)) })
	if !slices.ContainsFunc(terms, func(term string) bool { return utf8.RuneCountInString(term) >= 3 }) {
		rows = rows[:min(len(rows), 1000)]
	}
	var hits []naiveHit
	recordings := 0
	for _, row := range rows {
		if found := naiveHits(row, all.said[row.ID], q, terms); len(found) > 0 && recordings < 200 {
			recordings++
			for _, hit := range found {
				hit.id, hit.at = row.ID, at(row)
				hits = append(hits, hit)
			}
		}
	}
	return naiveOrder(hits, terms)
}

// naiveHits are the units of one recording, none where a term is missing.
func naiveHits(row models.Recording, said []models.TranscriptSegment, q recordings.Query, terms []string) []naiveHit {
	var units []naiveHit
	add := func(field recordings.Field, unit, shown int, text string) {
		if len(q.Fields) == 0 || slices.Contains(q.Fields, field) {
			units = append(units, naiveHit{field: field, unit: unit, shown: shown, text: text})
		}
	}
	add(recordings.FieldTitle, 0, -1, *row.Title)
	if row.Notes != nil {
		for i, line := range strings.Split(*row.Notes, "\n") {
			add(recordings.FieldNotes, i, -1, line)
		}
	}
	for _, segment := range said {
		add(recordings.FieldTranscript, segment.Position, segment.Position, segment.Text)
	}
	weights := map[recordings.Field]float64{recordings.FieldTitle: 1, recordings.FieldNotes: 0.8, recordings.FieldTranscript: 0.7}
	var hits []naiveHit
	seen := map[string]bool{}
	for _, unit := range units {
		count := 0
		for _, term := range terms {
			if recordings.Matched(unit.text, term) {
				seen[term] = true
				count++
			}
		}
		if count > 0 {
			unit.score = math.Round(float64(count)/float64(len(terms))*weights[unit.field]*10000) / 10000
			hits = append(hits, unit)
		}
	}
	if len(seen) < len(terms) {
		return nil
	}
	return hits
}

func naiveOrder(hits []naiveHit, terms []string) []string {
	order := []recordings.Field{recordings.FieldTitle, recordings.FieldNotes, recordings.FieldTranscript}
	slices.SortFunc(hits, func(a, b naiveHit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.at.Compare(a.at), cmp.Compare(b.id, a.id),
			cmp.Compare(slices.Index(order, a.field), slices.Index(order, b.field)), cmp.Compare(a.unit, b.unit))
	})
	found := []string{}
	for _, hit := range hits {
		text, spans := recordings.Snip(hit.text, terms)
		found = append(found, fmt.Sprintf("%d %s %d %q %v %.4f", hit.id, hit.field, hit.shown, text, spans, hit.score))
	}
	return found
}
