package agent

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/stenometer/stenometer/llm"
)

// In plain text the model asks for a tool by a JSON object: {"tool": …, "arguments": {…}}.

// openings bounds where in a text the beginning of such an object is looked for.
const openings = 16

// maxName bounds the name of a tool, in characters.
const maxName = 64

// nameless is the tool of a call that cannot be read. None has this name.
const nameless = "_"

var beginsCall = regexp.MustCompile(`^\{\s*"tool"\s*:`)

// maybeCall reports whether a text, as far as it came, may be a call. An answer that has a brace near its beginning is
// told when it is whole.
func maybeCall(text string) bool {
	return len(text) < holdback || strings.Contains(text[:holdback], "{")
}

// callIn finds the call in a text, and what was said before it. What begins like one and cannot be read is one as well,
// with arguments that are no JSON: it counts, and the model is told.
func callIn(text string) (thought string, call llm.ToolCall, found bool) {
	for from, tries := 0, 0; tries < openings; tries++ {
		at := strings.IndexByte(text[from:], '{')
		if at < 0 {
			break
		}
		at += from
		from = at + 1
		var form struct {
			Tool      *string         `json:"tool"`
			Arguments json.RawMessage `json:"arguments"`
		}
		err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&form)
		switch {
		case err == nil && form.Tool != nil:
			return beforeFence(text[:at]), llm.ToolCall{Name: head(*form.Tool, maxName), Arguments: string(form.Arguments)}, true
		case beginsCall.MatchString(text[at:]):
			return beforeFence(text[:at]), llm.ToolCall{Name: nameless, Arguments: "?"}, true
		}
	}
	return "", llm.ToolCall{}, false
}

// beforeFence is the text before a block of code that has just begun.
func beforeFence(text string) string {
	text = strings.TrimSpace(text)
	if at := strings.LastIndex(text, "```"); at >= 0 && !strings.Contains(text[at:], "\n") {
		text = strings.TrimSpace(text[:at])
	}
	return text
}
