package prompts

import (
	"strings"

	"github.com/stenometer/stenometer/providers"
)

// The bounds of filled instructions, in characters. A template that names a long value often would grow without end.
const (
	maxVariableName = 100
	maxFilled       = 50_000
)

// Fill puts the variables in the place of their names: {{name}}, spaces inside the braces allowed. A name that is not
// among them leaves nothing. Values go in as they are: braces in a value name nothing.
func Fill(template string, variables map[string]string) string {
	var filled strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{{")
		filled.WriteString(before)
		if !found || filled.Len() > maxFilled*4 {
			break
		}
		name, after, closed := strings.Cut(rest, "}}")
		if !closed || len(name) > maxVariableName || strings.ContainsAny(name, "{}\n") {
			filled.WriteString("{{")
			template = rest
			continue
		}
		filled.WriteString(variables[strings.TrimSpace(name)])
		template = after
	}
	return providers.Cut(filled.String(), maxFilled)
}
