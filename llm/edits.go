package llm

import (
	"slices"
	"strings"
)

// edits are changes of a text, by its places before any of them.
type edits []edit

type edit struct {
	from, to int
	by       string
}

func (e *edits) replace(from, to int, by string) { *e = append(*e, edit{from, to, by}) }

// strip leaves of a link its text, which stands between two brackets.
func (e *edits) strip(text string, opening, closing, end int) {
	from := opening
	if from > 0 && text[from-1] == '!' {
		from--
	}
	e.replace(from, opening+1, "")
	e.replace(closing, end, "")
}

// apply makes the changes. One that overlaps an earlier one is left out: the next round makes it.
func (e *edits) apply(text string) string {
	if len(*e) == 0 {
		return text
	}
	slices.SortStableFunc(*e, func(a, b edit) int { return a.from - b.from })
	var out strings.Builder
	at := 0
	for _, change := range *e {
		if change.from < at {
			continue
		}
		out.WriteString(text[at:change.from])
		out.WriteString(change.by)
		at = change.to
	}
	out.WriteString(text[at:])
	return out.String()
}
