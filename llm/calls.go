package llm

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"
)

// The bounds of what a model may ask for in one answer.
const (
	maxCalls     = 64
	maxPieces    = 4 * maxCalls // in one list
	maxArguments = maxText      // in bytes, of all calls together
	maxCallName  = 64
	maxCallID    = 200
)

// wireCall is a call for a tool, or in a stream a piece of one.
type wireCall struct {
	Index    count `json:"index"`
	ID       loose `json:"id"`
	Type     loose `json:"type"`
	Function struct {
		Name      loose     `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

// arguments are text that ought to be JSON, where servers also send the JSON itself.
type arguments struct{ text string }

func (a *arguments) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &a.text) != nil && raw[0] == '{' {
		a.text = string(raw)
	}
	return nil // what is neither is absent
}

// calling puts together what a model asks for.
type calling struct {
	calls []ToolCall
	// arguments are those of the calls, of which a service may send a great many small pieces.
	arguments []*strings.Builder
	// places are where in calls the pieces of an index go.
	places map[int64]int
	size   int
	full   bool
}

// take adds a list of calls, or of pieces of them; whole ones stand for themselves. What is no list asks for nothing.
func (c *calling) take(raw json.RawMessage, whole bool) error {
	pieces, more := members(raw, maxPieces)
	c.full = c.full || more
	for _, raw := range pieces {
		var piece wireCall
		if !present(raw) || json.Unmarshal(raw, &piece) != nil || piece.Type.text != "" && piece.Type.text != "function" {
			continue
		}
		if c.size += len(piece.Function.Arguments.text); c.size > maxArguments {
			return unreadable("is too large")
		}
		c.add(piece, whole)
	}
	return nil
}

// members are the first ones of a list. What is behind is not even read: a long list of nothing is large in memory.
func members(raw json.RawMessage, most int) (read []json.RawMessage, more bool) {
	list := json.NewDecoder(bytes.NewReader(raw))
	if opening, _ := list.Token(); opening != json.Delim('[') {
		return nil, false
	}
	for list.More() && len(read) < most {
		var member json.RawMessage
		if list.Decode(&member) != nil {
			return read, false
		}
		read = append(read, member)
	}
	return read, list.More()
}

func (c *calling) add(piece wireCall, whole bool) {
	at := -1
	if !whole {
		at = c.place(piece)
	}
	if at < 0 {
		if len(c.calls) == maxCalls {
			c.full = true
			return
		}
		at = len(c.calls)
		c.calls, c.arguments = append(c.calls, ToolCall{ID: piece.ID.text}), append(c.arguments, &strings.Builder{})
		c.open(piece, at)
	}
	call := &c.calls[at]
	if call.Name == "" { // which some servers repeat with every piece
		call.Name = piece.Function.Name.text
	}
	c.arguments[at].WriteString(piece.Function.Arguments.text)
}

// place is the call that a piece goes on with, or -1. An index that is missing is the last one's; servers that give all
// calls the same index, or none, tell them apart by their ids.
func (c *calling) place(piece wireCall) int {
	at := len(c.calls) - 1
	if piece.Index.value != nil {
		known, found := c.places[*piece.Index.value]
		if !found {
			return -1
		}
		at = known
	}
	if at >= 0 && piece.ID.text != "" && piece.ID.text != c.calls[at].ID {
		return -1
	}
	return at
}

func (c *calling) open(piece wireCall, at int) {
	if piece.Index.value == nil {
		return
	}
	if c.places == nil {
		c.places = map[int64]int{}
	}
	c.places[*piece.Index.value] = at
}

// tell puts into a completion what was asked for, with names that can be sent back and an id for each: two results of
// one id would be taken for each other.
func (c *calling) tell(completion *Completion) {
	completion.Cut = completion.Cut || c.full
	taken := map[string]bool{}
	completion.Calls = nil
	for i, call := range c.calls {
		if call.ID = modelName(call.ID); call.ID == "" || len(call.ID) > maxCallID || taken[call.ID] {
			call.ID = "call_" + rand.Text()
		}
		taken[call.ID] = true
		call.Name, call.Arguments = callName(call.Name), c.arguments[i].String()
		completion.Calls = append(completion.Calls, call)
	}
}

// callName is a name that every server takes back.
func callName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '-' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return '_'
	}, name[:min(len(name), maxCallName)])
	if name == "" {
		return "_"
	}
	return name
}
