package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever a model writes, a call in it has a short name and arguments that are one JSON object or marked as none.
func FuzzCallIn(f *testing.F) {
	for _, text := range []string{
		`{"tool":"search","arguments":{"query":"x"}}`, "Look:\n```json\n{\"tool\": \"a\"}\n```", `{"tool":7}`, `{"tool":"\ud800","arguments":[1]}`,
		strings.Repeat("{", 50), `{"tool":"x","arguments":{`, `{"arguments":{}}`, "", "plain", `{"tool":"a","tool":"b","arguments":"{}"}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		thought, call, found := callIn(text)
		if !found {
			if thought != "" || call.Name != "" {
				t.Errorf("no call, but %q and %+v", thought, call)
			}
			return
		}
		if utf8.RuneCountInString(call.Name) > maxName+1 || len(thought) > len(text) {
			t.Errorf("a call %+v behind %q", call, thought)
		}
		object, malformed := canonical(call.Arguments)
		var members map[string]any
		if json.Unmarshal(object, &members) != nil || malformed && string(object) != "{}" {
			t.Errorf("arguments %q became %q", call.Arguments, object)
		}
		if again, _ := canonical(string(object)); string(again) != string(object) && len(object) <= maxArguments {
			t.Errorf("%q is not the normal form of %q", again, object)
		}
	})
}
