package recordings

import (
	"fmt"
	"math"
	"strings"

	"github.com/stenometer/stenometer/problems"
)

// cue is a segment as subtitles show it: milliseconds, at least one long, and text without line ends that would
// end it.
type cue struct {
	start, end int64
	speaker    string
	text       string
}

// SRT renders the transcript as SubRip: numbers from 1, a comma before the milliseconds, the speaker in front of
// the text. A transcript without times is a no_timings problem.
func (t Transcript) SRT() (string, error) {
	cues, err := t.cues()
	if err != nil {
		return "", err
	}
	// SubRip knows no escapes. An arrow inside a text would be taken for the times of a cue.
	arrow := strings.NewReplacer("-->", "-- >")
	var out strings.Builder
	for i, c := range cues {
		if i > 0 {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "%d\n%s --> %s\n", i+1, clock(c.start, ','), clock(c.end, ','))
		if c.speaker != "" {
			out.WriteString(arrow.Replace(c.speaker) + ": ")
		}
		out.WriteString(arrow.Replace(c.text) + "\n")
	}
	return out.String(), nil
}

// VTT renders the transcript as WebVTT: the header, a dot before the milliseconds, the speaker as a voice, text
// escaped. A transcript without times is a no_timings problem.
func (t Transcript) VTT() (string, error) {
	cues, err := t.cues()
	if err != nil {
		return "", err
	}
	// ">" is escaped too: an arrow inside a text would be taken for the times of a cue.
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	var out strings.Builder
	out.WriteString("WEBVTT\n")
	for _, c := range cues {
		fmt.Fprintf(&out, "\n%s --> %s\n", clock(c.start, '.'), clock(c.end, '.'))
		if c.speaker != "" {
			out.WriteString("<v " + escape.Replace(c.speaker) + ">")
		}
		out.WriteString(escape.Replace(c.text) + "\n")
	}
	return out.String(), nil
}

// PlainText renders the transcript for reading: a line each segment, "[speaker]: " in front where there is one.
func (t Transcript) PlainText() string {
	if t.Kind == Plain {
		return t.Raw
	}
	lines := make([]string, len(t.Segments))
	for i, segment := range t.Segments {
		lines[i] = segment.Text
		if segment.Speaker != nil {
			lines[i] = "[" + *segment.Speaker + "]: " + segment.Text
		}
	}
	return strings.Join(lines, "\n")
}

// cues prepares the segments. A segment without an end lasts a second; one without text is left out.
func (t Transcript) cues() ([]cue, error) {
	if t.Kind == Plain {
		return nil, noTimings()
	}
	cues := make([]cue, 0, len(t.Segments))
	for _, segment := range t.Segments {
		if segment.Start == nil {
			return nil, noTimings()
		}
		c := cue{start: milliseconds(*segment.Start), text: oneBlock(segment.Text)}
		c.end = c.start + 1000
		if segment.End != nil {
			// Players and parsers refuse a cue that ends where it begins.
			c.end = max(milliseconds(*segment.End), c.start+1)
		}
		if segment.Speaker != nil {
			c.speaker = strings.Join(strings.Fields(*segment.Speaker), " ")
		}
		if c.text != "" {
			cues = append(cues, c)
		}
	}
	return cues, nil
}

func noTimings() *problems.Error {
	return problems.New(problems.NoTimings, "The transcript has no times, so that subtitles cannot be made of it.")
}

// oneBlock keeps a text's lines and drops the empty ones among them: an empty line ends a cue.
func oneBlock(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	kept := lines[:0]
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// milliseconds rounds before the number is taken apart, so that a carry reaches seconds, minutes and hours.
func milliseconds(seconds float64) int64 { return int64(math.Round(seconds * 1000)) }

// clock writes HH:MM:SS and the milliseconds behind the mark; hours take as many digits as they need, at least two.
func clock(ms int64, mark byte) string {
	return fmt.Sprintf("%02d:%02d:%02d%c%03d", ms/3_600_000, ms/60_000%60, ms/1000%60, mark, ms%1000)
}
