package recordings

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/settings"
)

// TextBounds is what bounds the work of text models. Every field is required.
type TextBounds struct {
	// InputChars bounds what one request itself says to a model; stored text does not count.
	InputChars int
	// PartChars is how much of a transcript stands in one call, MaxParts how many such calls a transcript is worth; what
	// is beyond is left out, and the result says so.
	PartChars, MaxParts int
	// The most tokens that a model may write, by what it writes.
	SummaryTokens, ChatTokens, TitleTokens, EventTokens int
}

const (
	// leastSpoken is how many characters must have been said for a text model to have anything to say.
	leastSpoken = 10
	// lineFrame is about what stands around the words of a line: a number, a clock, brackets.
	lineFrame = 32
)

// spoken is a transcript as text models are given it.
type spoken struct {
	transcript Transcript
	// all is the whole of it, whatever is left out.
	all []llm.Passage
	// parts are worked through one by one.
	parts [][]llm.Passage
	// leftOut says what is in none of the parts; "" for nothing.
	leftOut string
}

// timed reports whether the words have times.
func (s spoken) timed() bool { return s.transcript.Kind == Segmented }

// spokenIn reads the transcript of a recording for a text model; one that says too little is an invalid_state.
func (s *Recordings) spokenIn(db *gorm.DB, row models.Recording) (spoken, error) {
	transcript, found, err := loadTranscript(db, row)
	if err != nil {
		return spoken{}, err
	}
	if !found || !saysEnough(transcript.Kind, transcript.Raw, transcript.Segments, func(segment Segment) string { return segment.Text }) {
		return spoken{}, problems.New(problems.InvalidState,
			"The recording has no transcript of %d characters or more, which is what a model needs.", leastSpoken)
	}
	words := spoken{transcript: transcript, all: passagesOf(transcript)}
	size, most := s.TextBounds.PartChars, s.TextBounds.MaxParts
	if s.Text != nil && s.Text.Describe().Embedded {
		size, most = size*most, 1 // it reads the whole at once, and nothing is joined
	}
	within, cut := withinLimit(words.all, s.standing().TranscriptLengthLimit)
	var beyond []llm.Passage
	words.parts, beyond = split(within, size, most)
	words.leftOut = leftOut(words.all, append(beyond, cut...))
	return words, nil
}

// withinLimit are the passages that a model may be given at all, and those that it may not.
func withinLimit(all []llm.Passage, limit int) (within, beyond []llm.Passage) {
	if limit == settings.Unlimited {
		return all, nil
	}
	parts, beyond := split(all, limit, 1)
	if len(parts) == 0 {
		return nil, beyond
	}
	return parts[0], beyond
}

// saysEnough reports whether a text model has use for a transcript: for the text of a plain one, else for its segments.
func saysEnough[S any](kind, plain string, segments []S, text func(S) string) bool {
	said := 0
	if kind == Plain {
		said = utf8.RuneCountInString(strings.TrimSpace(plain))
		segments = nil
	}
	for _, segment := range segments {
		said += utf8.RuneCountInString(strings.TrimSpace(text(segment)))
	}
	return said >= leastSpoken
}

// passagesOf are the segments, or the lines of a plain transcript.
func passagesOf(t Transcript) []llm.Passage {
	var passages []llm.Passage
	if t.Kind == Plain {
		for line := range strings.Lines(t.Raw) {
			if line = strings.TrimSpace(line); line != "" {
				passages = append(passages, llm.Passage{Index: len(passages), Text: line})
			}
		}
		return passages
	}
	for _, segment := range t.Segments {
		passages = append(passages, llm.Passage{
			Index: segment.Index, Start: segment.Start, End: segment.End, Speaker: given(segment.Speaker), Text: segment.Text,
		})
	}
	return passages
}

// length is about how many characters a passage takes in a prompt.
func length(passage llm.Passage) int {
	return utf8.RuneCountInString(passage.Text) + utf8.RuneCountInString(passage.Speaker) + lineFrame
}

// split puts the passages into parts of at most so many characters, in their order, and gives those for which there is
// no part. A passage that is longer than a part is cut at white space.
func split(passages []llm.Passage, size, most int) (parts [][]llm.Passage, beyond []llm.Passage) {
	var part []llm.Passage
	room := size
	for i, passage := range passages {
		pieces := cutUp(passage, size-lineFrame-utf8.RuneCountInString(passage.Speaker))
		for j, piece := range pieces {
			if length(piece) > room && len(part) > 0 {
				parts, part, room = append(parts, part), nil, size
				if len(parts) == most {
					return parts, append(pieces[j:], passages[i+1:]...)
				}
			}
			part, room = append(part, piece), room-length(piece)
		}
	}
	if len(part) > 0 {
		parts = append(parts, part)
	}
	return parts, nil
}

// cutUp cuts a passage into pieces of at most so many characters; each bears the number and times of the whole.
func cutUp(passage llm.Passage, most int) []llm.Passage {
	most = max(most, lineFrame)
	runes := []rune(passage.Text)
	if len(runes) <= most {
		return []llm.Passage{passage}
	}
	var pieces []llm.Passage
	for len(runes) > 0 {
		end := min(most, len(runes))
		for at := end; end < len(runes) && at > end/2; at-- {
			if unicode.IsSpace(runes[at]) {
				end = at
				break
			}
		}
		piece := passage
		piece.Text = strings.TrimSpace(string(runes[:end]))
		if piece.Text != "" {
			pieces = append(pieces, piece)
		}
		runes = runes[end:]
	}
	return pieces
}

// leftOut tells people what of a transcript no model has seen.
func leftOut(all, beyond []llm.Passage) string {
	if len(beyond) == 0 {
		return ""
	}
	whole, missing := 0, 0
	for _, passage := range all {
		whole += utf8.RuneCountInString(passage.Text)
	}
	for _, passage := range beyond {
		missing += utf8.RuneCountInString(passage.Text)
	}
	share := min(max(1, missing*100/max(1, whole)), 99)
	if clock := beyond[0].Clock(); clock != "" {
		return fmt.Sprintf("Left out: what was said from %s on, about %d %% of the transcript. It is longer than this server gives to a model.",
			clock, share)
	}
	return fmt.Sprintf("Left out: the last %d %% of the transcript. It is longer than this server gives to a model.", share)
}
