package prompts

import (
	"fmt"
	"strings"

	"github.com/stenometer/stenometer/llm"
)

// Transcript renders passages as the lines that a prompt holds: with cite as `[S<index> <clock> <speaker>] text`, else
// as `[<clock>] speaker: text`, without the clock unless times. One passage is one line, so that nothing that was said
// looks like a line of its own.
func Transcript(passages []llm.Passage, times, cite bool) string {
	var lines strings.Builder
	for _, p := range passages {
		text := oneLine(p.Text)
		if text == "" {
			continue
		}
		if lines.Len() > 0 {
			lines.WriteByte('\n')
		}
		lines.WriteString(heading(p, times, cite))
		lines.WriteString(text)
	}
	return lines.String()
}

func heading(p llm.Passage, times, cite bool) string {
	// A bracket in a name would end the heading early.
	speaker := strings.NewReplacer("[", "(", "]", ")").Replace(oneLine(p.Speaker))
	clock := p.Clock()
	if cite {
		return "[" + strings.Join(strings.Fields(fmt.Sprintf("S%d %s %s", p.Index, clock, speaker)), " ") + "] "
	}
	var heading string
	if times && clock != "" {
		heading = "[" + clock + "] "
	}
	if speaker != "" {
		heading += speaker + ": "
	}
	return heading
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
