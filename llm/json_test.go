package llm_test

import (
	"testing"

	"github.com/stenometer/stenometer/tests/llmtest"
)

// What readers of an answer in JSON find is as fit to show as an answer in words, however it was written: an escape hides
// neither an address nor a mark, and what is taken out of one text leaves the others and the JSON as they are.
func TestTextsOfJSONAreCleaned(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for name, c := range map[string]struct{ said, want string }{
		"as it is":           {`{"a":["x",1.50,null,{"b":"y"}],"a":true}`, `{"a":["x",1.50,null,{"b":"y"}],"a":true}`},
		"words and a fence":  {"Here it is:\n```json\n{\"a\":\"b\"}\n```\nAnything else?", `{"a":"b"}`},
		"a list":             {` [{"a":"b"}] `, `[{"a":"b"}]`},
		"address":            {`{"a":"at https://evil.example/x"}`, `{"a":"at ‹link removed›"}`},
		"slashes":            {`{"a":"at https:\/\/evil.example\/x"}`, `{"a":"at ‹link removed›"}`},
		"letters":            {`{"a":"\u0077ww.evil.example","b":"java\u0073cript:alert(1)"}`, `{"a":"‹link removed›","b":"‹link removed›"}`},
		"key":                {`{"www\u002eevil.example":"SPEAKER_00"}`, `{"‹link removed›":"SPEAKER_00"}`},
		"link":               {`{"a":"[the room](https:\u002f\u002fevil.example)","b":["c"]}`, `{"a":"the room","b":["c"]}`},
		"marks in two texts": {`{"a":"x <b","b":"y=1> z"}`, `{"a":"x \u003cb","b":"y=1\u003e z"}`},
		"address that was given": {
			`{"a":"https:\/\/good.example\/x","b":"https://good.example/x"}`, `{"a":"https://good.example/x","b":"https://good.example/x"}`,
		},
		"control characters": {`{"a":" x\u0000\u001b\u200ey \n","b":"\ud800"}`, "{\"a\":\"xy\",\"b\":\"\ufffd\"}"},
		"quotes":             {`{"a":"say \"no\" \\","b":"\\\""}`, `{"a":"say \"no\" \\","b":"\\\""}`},
		"not JSON":           {`{"a": www.evil.example`, `{"a": ‹link removed›`},
	} {
		r.model.Script(llmtest.Says(c.said))
		asked := request("Who speaks at https://good.example/x?")
		asked.JSON = true
		answer, err := r.ask(asked)
		if err != nil || answer.Text != c.want {
			t.Errorf("%s: %s became %s, %v; want %s", name, c.said, answer.Text, err, c.want)
		}
	}
}
