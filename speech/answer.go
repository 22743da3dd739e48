package speech

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/stenometer/stenometer/providers"
)

// The most that one answer may hold.
const (
	maxSegments = 100_000
	maxWords    = 1_000_000
)

// decode reads an answer of any of the JSON forms: text alone, segments, diarized segments, words. Fields of another
// type than expected are taken as absent; an answer with neither text nor segments nor words is unreadable.
func decode(body []byte) (Answer, error) {
	var form struct {
		Text     loose           `json:"text"`
		Language loose           `json:"language"`
		Segments json.RawMessage `json:"segments"`
		Words    json.RawMessage `json:"words"`
	}
	if err := json.Unmarshal(body, &form); err != nil {
		return Answer{}, unreadable("is not the JSON that was expected")
	}
	segments, hasSegments, err := elements[wireSegment](form.Segments, maxSegments)
	if err != nil {
		return Answer{}, err
	}
	words, hasWords, err := elements[wireWord](form.Words, maxWords)
	if err != nil {
		return Answer{}, err
	}
	if !form.Text.present && !hasSegments && !hasWords {
		return Answer{}, unreadable("has neither text nor segments")
	}

	answer := Answer{Text: form.Text.value, Language: Language(form.Language.value)}
	for _, s := range segments {
		answer.Segments = append(answer.Segments, Segment{
			Start: s.Start.value, End: s.End.value, Text: s.Text.value, Speaker: s.Speaker.value, Label: s.Speaker.value,
		})
	}
	if len(answer.Segments) == 0 && len(words) > 0 {
		answer.Segments = segmentsOf(timed(words), answer.Text)
	}
	return answer, nil
}

func unreadable(why string) *providers.Error {
	return providers.Permanent(providers.Unreadable, 0, "The transcription service's answer "+why)
}

type wireSegment struct {
	Start   number `json:"start"`
	End     number `json:"end"`
	Text    loose  `json:"text"`
	Speaker loose  `json:"speaker"`
}

type wireWord struct {
	Start number `json:"start"`
	End   number `json:"end"`
	Word  loose  `json:"word"`
	Text  loose  `json:"text"`
}

// timed keeps the words that have text and a start, which is what segments can be built from.
func timed(words []wireWord) []word {
	var kept []word
	for _, w := range words {
		text := w.Word.value
		if text == "" {
			text = w.Text.value
		}
		if w.Start.value == nil || strings.TrimSpace(text) == "" {
			continue
		}
		end := *w.Start.value
		if w.End.value != nil {
			end = max(end, *w.End.value)
		}
		kept = append(kept, word{start: *w.Start.value, end: end, text: text})
	}
	return kept
}

// elements reads an array one element after the other, so that the bound holds before memory is spent. An element that
// is no object counts as an empty one; what is no array counts as absent.
func elements[T any](raw json.RawMessage, most int) (read []T, present bool, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('[') {
		return nil, false, nil //nolint:nilerr // absent, as promised
	}
	for decoder.More() {
		if len(read) == most {
			return nil, false, unreadable("has too many segments or words")
		}
		var element json.RawMessage
		if err := decoder.Decode(&element); err != nil {
			return nil, false, unreadable("is not the JSON that was expected")
		}
		var value T
		_ = json.Unmarshal(element, &value) // what is no object stays empty
		read = append(read, value)
	}
	return read, true, nil
}

// loose is a string where services also send null, numbers or nothing.
type loose struct {
	value   string
	present bool
}

func (l *loose) UnmarshalJSON(raw []byte) error {
	switch {
	case len(raw) == 0 || bytes.Equal(raw, []byte("null")):
	case raw[0] == '"':
		l.present = true
		return json.Unmarshal(raw, &l.value)
	case raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9'):
		l.value, l.present = string(raw), true
	}
	return nil
}

// number is a time in seconds where services also send null, numeric strings or nonsense. What is not a finite number
// is absent.
type number struct {
	value *float64
}

func (n *number) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `" `)
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
		return nil //nolint:nilerr // absent, as promised
	}
	n.value = &value
	return nil
}
