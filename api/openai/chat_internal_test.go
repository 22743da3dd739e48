package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/llm"
)

// Arguments that fit into no event come in several chunks, as clients put them together: what names the call stands in
// the first alone.
func TestLongArgumentsComeInPieces(t *testing.T) {
	t.Parallel()
	arguments := `{"q":"` + strings.Repeat("<🐝", 80<<10) + `"}`
	frames := chunks{id: "x", model: "m"}.ended(llm.Answer{Calls: []llm.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "b", Name: "g", Arguments: arguments}}})
	var ids, types, names, told string
	for _, frame := range frames {
		raw, err := json.Marshal(frame)
		if err != nil || len(raw) > 256<<10 {
			t.Fatalf("an event of %d bytes, %v", len(raw), err)
		}
		var form struct {
			Choices []struct {
				Delta struct {
					ToolCalls []struct {
						Index    int
						ID, Type string
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal(raw, &form); err != nil {
			t.Fatal(err)
		}
		for _, call := range form.Choices[0].Delta.ToolCalls {
			ids, types, names = ids+call.ID, types+call.Type, names+call.Function.Name
			if call.Index == 1 {
				told += call.Function.Arguments
			}
		}
	}
	if ids != "ab" || types != "functionfunction" || names != "fg" || told != arguments {
		t.Errorf("of %d frames ids %q, types %q, names %q and %d bytes of arguments came", len(frames), ids, types, names, len(told))
	}
}
