package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/providers"
)

// Servers tell calls apart in several ways; what is wrong is left out or named by us.
func TestCallsArePutTogether(t *testing.T) {
	t.Parallel()
	const whole = true
	for name, c := range map[string]struct {
		whole bool
		lists []string
		want  []ToolCall // an ID of "*" is any of ours
	}{
		"one in pieces": {!whole, []string{
			`[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]`, `[{"index":0,"function":{"arguments":"{\"x\""}}]`,
			`[{"index":0,"function":{"arguments":":1}"}}]`,
		}, []ToolCall{{"a", "f", `{"x":1}`}}},
		"two in turn": {!whole, []string{
			`[{"index":0,"id":"a","function":{"name":"f","arguments":"1"}},{"index":1,"id":"b","function":{"name":"g","arguments":"2"}}]`,
			`[{"index":1,"function":{"arguments":"2"}}]`, `[{"index":0,"function":{"arguments":"1"}}]`,
		}, []ToolCall{{"a", "f", "11"}, {"b", "g", "22"}}},
		"all of index 0": {!whole, []string{
			`[{"index":0,"id":"a","function":{"name":"f","arguments":"1"}}]`, `[{"index":0,"id":"b","function":{"name":"g","arguments":"2"}}]`,
		}, []ToolCall{{"a", "f", "1"}, {"b", "g", "2"}}},
		"no index": {!whole, []string{
			`[{"id":"a","function":{"name":"f","arguments":"1"}}]`, `[{"function":{"arguments":"1"}}]`, `[{"id":"b","function":{"name":"g"}}]`,
		}, []ToolCall{{"a", "f", "11"}, {"b", "g", ""}}},
		"the id and the name again": {!whole, []string{
			`[{"index":0,"id":"a","function":{"name":"f","arguments":"1"}}]`, `[{"index":0,"id":"a","function":{"name":"f","arguments":"1"}}]`,
		}, []ToolCall{{"a", "f", "11"}}},
		"whole ones without ids": {whole, []string{`[{"function":{"name":"f","arguments":"1"}},{"function":{"name":"f","arguments":"2"}}]`}, []ToolCall{{"*", "f", "1"}, {"*", "f", "2"}}},
		"an id twice":            {whole, []string{`[{"id":"a","function":{"name":"f"}},{"id":"a","function":{"name":"g"}}]`}, []ToolCall{{"a", "f", ""}, {"*", "g", ""}}},
		"arguments as JSON":      {whole, []string{`[{"id":"a","function":{"name":"f","arguments":{"x":[1]}}}]`}, []ToolCall{{"a", "f", `{"x":[1]}`}}},
		"hostile names":          {whole, []string{`[{"id":"a\n","function":{"name":"f\u0000 \u202e/","arguments":7}},{"id":5,"function":{"name":null}}]`}, []ToolCall{{"*", "f____", ""}, {"*", "_", ""}}},
		"other types":            {whole, []string{`[{"id":"a","type":"custom","custom":{"name":"f"}},7,null,"x",{"id":"b","type":null,"function":{"name":"g"}}]`}, []ToolCall{{"b", "g", ""}}},
		"no list":                {whole, []string{`{"id":"a"}`, `"x"`, `null`, ``}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked calling
			for _, list := range c.lists {
				if err := asked.take(json.RawMessage(list), c.whole); err != nil {
					t.Fatal(err)
				}
			}
			var got Completion
			asked.tell(&got)
			for i := range got.Calls {
				if i < len(c.want) && c.want[i].ID == "*" && strings.HasPrefix(got.Calls[i].ID, "call_") {
					got.Calls[i].ID = "*"
				}
			}
			if !reflect.DeepEqual(got.Calls, c.want) {
				t.Errorf("got %+v, want %+v", got.Calls, c.want)
			}
		})
	}
}

// So many calls are read and no more, which is told; so much of arguments, or it is a failure.
func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		var asked calling
		for i := range maxCalls + 5 {
			if err := asked.take(json.RawMessage(fmt.Sprintf(`[{"index":%d,"id":"c%d","function":{"name":"f"}}]`, i, i)), whole); err != nil {
				t.Fatal(err)
			}
		}
		var got Completion
		asked.tell(&got)
		if len(got.Calls) != maxCalls || !got.Cut {
			t.Errorf("%d calls, cut: %v", len(got.Calls), got.Cut)
		}
		piece := json.RawMessage(`[{"index":0,"id":"c0","function":{"arguments":"` + strings.Repeat("x", maxArguments/2) + `"}}]`)
		var failure *providers.Error
		if err := errors.Join(asked.take(piece, whole), asked.take(piece, whole), asked.take(piece, whole)); !errors.As(err, &failure) || failure.Kind != providers.Unreadable {
			t.Errorf("endless arguments: %v", err)
		}
	}
}

// A list of calls costs no more than what is read of it, however long it is, and many small pieces no more than few. Not
// parallel: what other tests allocate counts too.
func TestLongListsOfCallsAreCheap(t *testing.T) {
	endless := json.RawMessage("[" + strings.Repeat("0,", 2<<20) + "0]")
	var asked calling
	before := allocated()
	if err := asked.take(endless, false); err != nil || !asked.full {
		t.Errorf("an endless list: full is %v, %v", asked.full, err)
	}
	piece := json.RawMessage(`[{"index":0,"function":{"name":"f","arguments":"aaaaaaaaaa"}}]`)
	for range 20_000 {
		if err := asked.take(piece, false); err != nil {
			t.Fatal(err)
		}
	}
	if took := allocated() - before; took > 200<<20 {
		t.Errorf("both allocated %d MiB", took>>20)
	}
}

// allocated is how much this process has asked for in all.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// Whatever a provider calls calls, they can be sent back: bounded, named, and each with an id of its own.
func FuzzCalls(f *testing.F) {
	for _, list := range []string{
		`[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]`, `[{"index":-1},{"index":1e9},{"id":""}]`,
		`[{"index":0,"id":"a"},{"index":0,"id":"a"},{"index":"0","id":["a"]}]`, `[[]]`, `{}`, `null`, `[{"function":{"name":"\ud800","arguments":{}}}]`,
	} {
		f.Add([]byte(list), true)
		f.Add([]byte(list), false)
	}
	f.Fuzz(func(t *testing.T, list []byte, whole bool) {
		var asked calling
		_ = errors.Join(asked.take(list, whole), asked.take(list, whole))
		var got Completion
		asked.tell(&got)
		ids := map[string]bool{}
		for _, call := range got.Calls {
			if call.ID == "" || ids[call.ID] || len(call.ID) > maxCallID || call.Name == "" || call.Name != callName(call.Name) {
				t.Errorf("a call is %+v", call)
			}
			ids[call.ID] = true
		}
		if len(got.Calls) > maxCalls {
			t.Errorf("%d calls", len(got.Calls))
		}
	})
}
