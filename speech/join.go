package speech

import (
	"fmt"
	"strings"
	"time"
)

// join makes one transcript of the pieces, which are in order and meet. Times become those of the recording. The first
// piece keeps its speakers' labels; a service cannot know that a voice of one part is a voice of another, so later
// pieces get fresh ones, SPEAKER_NN.
func join(pieces []piece, length time.Duration, engine Description, request Request) Transcript {
	t := Transcript{Kind: KindSegments, Engine: engine.Connector, Model: engine.Model}
	timed := false
	for _, p := range pieces {
		timed = timed || len(p.answer.Segments) > 0
	}
	labels := newLabels()
	var texts []string
	for _, p := range pieces {
		if p.missing != "" {
			t.Gaps = append(t.Gaps, Gap{Start: p.start.Seconds(), End: p.end.Seconds(), Reason: p.missing})
			continue
		}
		if t.Language == "" {
			t.Language = p.answer.Language
		}
		if p.answer.Model != "" {
			t.Model = p.answer.Model
		}
		text := p.answer.Text
		if text == "" {
			text = said(p.answer.Segments)
		}
		if text != "" {
			texts = append(texts, text)
		}
		segments := p.answer.Segments
		if timed && len(segments) == 0 && text != "" {
			segments = []Segment{spanning(p, text)}
		}
		renamed := labels.of(segments)
		for i, s := range segments {
			s.Start, s.End = shifted(s.Start, p.start, length), shifted(s.End, p.start, length)
			s.Label, s.Speaker = renamed[i], renamed[i]
			t.Segments = append(t.Segments, s)
		}
	}
	t.Text = strings.Join(texts, "\n")
	if !timed && t.Text != "" {
		t.Kind = KindPlain
	}
	if t.Language == "" {
		t.Language = Language(request.Language)
	}
	return t
}

// spanning stands for a piece that came without times among pieces that have them.
func spanning(p piece, text string) Segment {
	start, end := 0.0, (p.end - p.start).Seconds()
	return Segment{Start: &start, End: &end, Text: oneLine(text)}
}

func shifted(t *float64, by, length time.Duration) *float64 {
	if t == nil {
		return nil
	}
	return within(ptr(*t+by.Seconds()), length.Seconds())
}

func ptr(value float64) *float64 { return &value }

func said(segments []Segment) string {
	texts := make([]string, len(segments))
	for i, s := range segments {
		texts[i] = s.Text
	}
	return strings.Join(texts, " ")
}

// labels keeps the speakers of different pieces apart.
type labels struct {
	taken map[string]bool
	next  int
}

func newLabels() *labels { return &labels{taken: make(map[string]bool)} }

// of gives the labels under which a piece's speakers are known in the transcript.
func (l *labels) of(segments []Segment) []string {
	first := len(l.taken) == 0
	names := make(map[string]string)
	given := make([]string, len(segments))
	for i, s := range segments {
		if s.Label == "" {
			continue
		}
		name, known := names[s.Label]
		if !known {
			name = s.Label
			if !first {
				name = l.fresh()
			}
			names[s.Label], l.taken[name] = name, true
		}
		given[i] = name
	}
	return given
}

func (l *labels) fresh() string {
	for {
		name := fmt.Sprintf("SPEAKER_%02d", l.next)
		l.next++
		if !l.taken[name] {
			return name
		}
	}
}
