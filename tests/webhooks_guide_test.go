package tests

import (
	"strings"
	"testing"

	"github.com/stenometer/stenometer/webhooks"
)

// Rule: one table a fact. The events of the guide are those of the code.
func TestGoldenEventsOfTheGuide(t *testing.T) {
	t.Parallel()
	var rows [][]string
	for _, row := range webhooks.Events() {
		keys := make([]string, len(row.Keys))
		for i, key := range row.Keys {
			switch keys[i] = "`" + key.Name + "`"; key.Need {
			case webhooks.Required:
			case webhooks.Nullable:
				keys[i] += "?"
			case webhooks.Optional:
				keys[i] = "(" + keys[i] + ")"
			}
		}
		rows = append(rows, []string{"`" + string(row.Type) + "`", row.Meaning, strings.Join(keys, ", ")})
	}
	expectSection(t, "webhooks.md", "events", table([]string{"type", "when", "data"}, rows))
}

// Rule: one table a fact. The reasons of the guide are those of the code.
func TestGoldenReasonsOfTheGuide(t *testing.T) {
	t.Parallel()
	var rows [][]string
	for _, row := range webhooks.Reasons() {
		again := "no"
		if row.Retried {
			again = "yes"
		}
		rows = append(rows, []string{"`" + string(row.Reason) + "`", row.Meaning, again})
	}
	expectSection(t, "webhooks.md", "reasons", table([]string{"reason", "meaning", "tried again"}, rows))
}
