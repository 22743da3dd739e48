package speech

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/stenometer/stenometer/providers"
)

// maxLabel bounds a speaker's label in characters.
const maxLabel = 100

// clean makes an answer safe to keep. Afterwards every segment has text; starts never step back; start and end lie
// within [0, length] and the end is not before the start; a segment without a usable start has no times; text and
// labels hold no control characters.
func clean(answer Answer, length time.Duration) Answer {
	most := length.Seconds()
	segments := make([]Segment, 0, len(answer.Segments))
	for _, s := range answer.Segments {
		s.Text, s.Label, s.Speaker = oneLine(s.Text), label(s.Label), label(s.Speaker)
		if s.Text == "" {
			continue
		}
		s.Start, s.End = within(s.Start, most), within(s.End, most)
		if s.Start == nil {
			s.End = nil
		}
		if s.End != nil && *s.End < *s.Start {
			s.End = s.Start
		}
		segments = append(segments, s)
	}
	inOrder(segments)
	answer.Segments = segments
	answer.Text = paragraphs(answer.Text)
	return answer
}

// within clamps a time and rounds it to the millisecond; what is not a finite number is gone.
func within(t *float64, most float64) *float64 {
	if t == nil || math.IsNaN(*t) || math.IsInf(*t, 0) {
		return nil
	}
	value := min(max(*t, 0), most)
	value = min(math.Round(value*1000)/1000, most)
	return &value
}

// inOrder sorts by start and keeps what was said first before what was said next; a segment without times stays behind
// its neighbor.
func inOrder(segments []Segment) {
	type placed struct {
		Segment
		at float64
	}
	order := make([]placed, len(segments))
	at := 0.0
	for i, s := range segments {
		if s.Start != nil {
			at = *s.Start
		}
		order[i] = placed{s, at}
	}
	slices.SortStableFunc(order, func(a, b placed) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	for i := range order {
		segments[i] = order[i].Segment
	}
}

// oneLine has no control characters, valid UTF-8 and no white space around it.
func oneLine(text string) string {
	return strings.TrimSpace(strings.Map(plain, strings.ToValidUTF8(text, "\uFFFD")))
}

// paragraphs is oneLine that keeps line ends.
func paragraphs(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return plain(r)
	}, text))
}

func plain(r rune) rune {
	switch {
	case r == 0:
		return -1
	case unicode.IsControl(r):
		return ' '
	}
	return r
}

func label(text string) string { return providers.Cut(oneLine(text), maxLabel) }
