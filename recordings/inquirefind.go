package recordings

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/rank"
	"github.com/stenometer/stenometer/models"
)

// Bounds of what a question about many recordings is answered from.
const (
	maxExcerpts  = 8
	excerptChars = 1500
	// maxWords is by how many of a question's words recordings are looked for, the first ones.
	maxWords = 8
	// maxLeads is how many recordings are read for excerpts, maxRead how many bytes of them, after which no other is.
	maxLeads = 12
	maxRead  = 8 << 20
	// maxUnindexed is how many recordings that the index does not know yet are read to learn what they have.
	maxUnindexed = 50
)

// excerpt is a stretch of what was said in a recording.
type excerpt struct {
	of       candidate
	passages []llm.Passage
}

// excerpts finds what bears on a question, the best first: at most so many stretches of the recordings that have most of
// its words. Where none has any, they are the middle of the newest recordings: what people ask in a general way has no
// words to look for. Strictly, there is nothing then.
func (s *Recordings) excerpts(db *gorm.DB, p auth.Principal, q Query, question string, most int, strictly bool) ([]excerpt, error) {
	leads, err := s.leads(db, p, q, rank.Words(question))
	if err != nil {
		return nil, err
	}
	found, err := s.bestOf(db, q, leads, question, most, true)
	if err != nil || len(found) > 0 || strictly {
		return found, err
	}
	newest, err := s.candidates(db, p, q, nil)
	if err != nil {
		return nil, err
	}
	return s.bestOf(db, q, newest[:min(len(newest), maxLeads)], question, most, false)
}

// leads are the recordings that have most of the words, rare ones counting more. The terms of search must all be there;
// of a question, any will do.
func (s *Recordings) leads(db *gorm.DB, p auth.Principal, q Query, words []string) ([]candidate, error) {
	q.Fields = []Field{FieldTitle, FieldTranscript, fieldSpeaker}
	words = slices.Clone(words[:min(len(words), maxWords)])
	for i := range words {
		words[i] = fold(words[i])
	}
	weights, known, unindexed := map[int64]float64{}, map[int64]candidate{}, map[int64]uint64{}
	for i, word := range words {
		found, err := s.candidates(db, p, q, []string{word})
		if err != nil {
			return nil, err
		}
		if found, err = having(db, found, q, words, i, unindexed); err != nil {
			return nil, err
		}
		for _, c := range found {
			weights[c.ID] += math.Log(1 + maxCandidates/float64(len(found)))
			known[c.ID] = c
		}
	}
	leads := make([]candidate, 0, len(known))
	for _, c := range known {
		leads = append(leads, c)
	}
	slices.SortFunc(leads, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(weights[b.ID], weights[a.ID]), b.at.Compare(a.at), cmp.Compare(b.ID, a.ID))
	})
	return leads[:min(len(leads), maxLeads)], nil
}

// having drops candidates of which the index does not know whether they have a word, and which have it not. seen keeps
// which words each of them has.
func having(db *gorm.DB, found []candidate, q Query, words []string, word int, seen map[int64]uint64) ([]candidate, error) {
	var kept []candidate
	for _, c := range found {
		if !c.behind {
			kept = append(kept, c)
			continue
		}
		bits, read := seen[c.ID]
		if !read && len(seen) < maxUnindexed {
			parts, err := partsOf(db, c, q)
			if err != nil {
				return nil, err
			}
			eachUnit(parts, "", func(_ Field, _ int, line string) { bits |= matched(line, words) })
			seen[c.ID] = bits
		}
		if bits&(1<<word) != 0 {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

// speaking keeps recordings in which one of the people speaks. What the index does not know yet is looked up as it stands.
func (s *Recordings) speaking(query *gorm.DB, names []string) *gorm.DB {
	if len(names) == 0 {
		return query
	}
	place := "strpos"
	if s.db.Dialect == models.SQLite {
		place = "instr"
	}
	const marked = "EXISTS (SELECT 1 FROM search_marks k WHERE k.recording_id = recordings.id)"
	spoken := make([]string, len(names))
	arguments := []any{fieldSpeaker}
	for i, name := range names {
		spoken[i] = place + "(? || t.folded || ?, ?) > 0"
		arguments = append(arguments, "\n", "\n", "\n"+name+"\n")
	}
	return query.Where("(NOT "+marked+" AND EXISTS (SELECT 1 FROM search_texts t WHERE t.recording_id = recordings.id AND t.field = ? AND ("+
		strings.Join(spoken, " OR ")+"))) OR ("+marked+" AND EXISTS (SELECT 1 FROM transcript_segments g WHERE g.recording_id = recordings.id AND LOWER(TRIM(g.speaker)) IN ?))",
		append(arguments, names)...)
}

// bestOf ranks stretches of the recordings: by the question, or by how much they stand for the others.
func (s *Recordings) bestOf(db *gorm.DB, q Query, leads []candidate, question string, most int, byQuestion bool) ([]excerpt, error) {
	var all []excerpt
	var texts []string
	for read := 0; len(leads) > 0 && read < maxRead; leads = leads[1:] {
		transcript, _, err := loadTranscript(db, models.Recording{ID: leads[0].ID})
		if err != nil {
			return nil, err
		}
		for _, e := range stretches(leads[0], q.heard(passagesOf(transcript))) {
			text := e.text()
			read += len(text)
			all, texts = append(all, e), append(texts, text)
		}
	}
	index := rank.NewIndex(texts)
	scores := index.Central()
	if byQuestion {
		scores = index.Match(question)
	}
	best := index.Best(scores, most)
	found := make([]excerpt, len(best))
	for i, n := range best {
		found[i] = all[n]
	}
	return found, nil
}

// heard is what the people say who are asked for.
func (q Query) heard(passages []llm.Passage) []llm.Passage {
	if len(q.Speakers) == 0 {
		return passages
	}
	return slices.DeleteFunc(passages, func(passage llm.Passage) bool {
		return !slices.Contains(q.Speakers, strings.TrimSpace(fold(passage.Speaker)))
	})
}

// stretches cuts a transcript into excerpts.
func stretches(of candidate, passages []llm.Passage) []excerpt {
	parts, _ := split(passages, excerptChars, math.MaxInt)
	all := make([]excerpt, 0, len(parts))
	for _, part := range parts {
		if slices.ContainsFunc(part, func(passage llm.Passage) bool { return strings.TrimSpace(passage.Text) != "" }) {
			all = append(all, excerpt{of, part})
		}
	}
	return all
}

// text is what an excerpt is ranked by: what was said, by whom and under which title.
func (e excerpt) text() string {
	var text strings.Builder
	text.WriteString(given(e.of.Title))
	speaker := ""
	for _, passage := range e.passages {
		if passage.Speaker != speaker {
			speaker = passage.Speaker
			text.WriteString("\n" + speaker + ":")
		}
		text.WriteString(" " + passage.Text)
	}
	return text.String()
}
