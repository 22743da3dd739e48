package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/providers"
)

const (
	// maxArguments bounds in bytes what a tool is told.
	maxArguments = 8000
	// maxSaid bounds in characters what the model is told again of its own words beside calls.
	maxSaid = 2000
	// mostBarren is how many look-ups in a row find nothing before the model is told to look elsewhere.
	mostBarren = 2
)

// finding is what came of a call: remarks are ours, data is what was found.
type finding struct{ remarks, data string }

// lookUp runs what the model asks for. Every call counts, whatever it is; those behind a bound are not run, and the model
// is told.
func (l *loop) lookUp(ctx context.Context, asked turn) error {
	turn := exchange{said: providers.Cut(asked.thought, maxSaid)}
	var wanted []wish
	for n, call := range asked.answer.Calls {
		w := l.read(call)
		call = llm.ToolCall{ID: fmt.Sprintf("call_%d", l.asked+n+1), Name: call.Name, Arguments: string(w.arguments)}
		wanted, turn.calls = append(wanted, w), append(turn.calls, call)
		turn.results = append(turn.results, l.words.Skipped())
		turn.heads = append(turn.heads, l.words.Skipped())
	}
	l.turns = append(l.turns, turn)
	if fits, err := l.making(); err != nil || !fits {
		l.asked += len(wanted)
		return err
	}
	for i, w := range wanted {
		l.asked++
		if l.asked > l.MaxToolCalls || l.full || l.late() {
			continue
		}
		f, err := l.find(ctx, w)
		if err != nil {
			return err
		}
		if err := l.place(i, f); err != nil {
			return err
		}
	}
	return nil
}

// making makes room for the last turn, before anything of it is run. Where there is none, the turn is forgotten and the
// context used up.
func (l *loop) making() (fits bool, err error) {
	if l.share() <= brim {
		return true, nil
	}
	if err := l.fold(1); err != nil || l.share() <= brim {
		return err == nil, err
	}
	l.turns, l.full = l.turns[:len(l.turns)-1], true
	return false, nil
}

// wish is a call as it is understood.
type wish struct {
	name string
	tool *Tool // nil where there is none of this name
	// arguments are one JSON object in its normal form.
	arguments json.RawMessage
	malformed bool
}

func (l *loop) read(call llm.ToolCall) wish {
	w := wish{name: call.Name}
	for i := range l.task.Tools {
		if l.task.Tools[i].Name == call.Name {
			w.tool = &l.task.Tools[i]
		}
	}
	w.arguments, w.malformed = canonical(call.Arguments)
	return w
}

// canonical is the normal form of a JSON object; what is none is taken for an empty one, so that it can be sent back.
func canonical(arguments string) (object json.RawMessage, malformed bool) {
	none := json.RawMessage("{}")
	switch arguments = strings.TrimSpace(arguments); {
	case arguments == "" || arguments == "null":
		return none, false
	case len(arguments) > maxArguments:
		return none, true
	}
	var members map[string]any
	decoder := json.NewDecoder(bytes.NewReader([]byte(arguments)))
	decoder.UseNumber() // ids are longer than what a float holds
	if decoder.Decode(&members) != nil || decoder.More() {
		return none, true
	}
	object, err := json.Marshal(members)
	return object, err != nil
}

// find is what came of one call. What was found once is not looked up again.
func (l *loop) find(ctx context.Context, w wish) (finding, error) {
	switch {
	case w.malformed:
		return finding{remarks: l.words.Malformed(maxArguments)}, nil
	case w.tool == nil:
		return finding{remarks: l.words.Unknown(names(l.task.Tools))}, nil
	}
	key := w.name + " " + string(w.arguments)
	if before, known := l.found[key]; known {
		before.remarks = strings.TrimSpace(l.words.Again() + " " + before.remarks)
		return before, nil
	}
	if err := l.may(ctx); err != nil {
		return finding{}, err
	}
	f, err := l.watched(ctx, w)
	if err == nil {
		l.found[key] = f
	}
	return f, err
}

func names(tools []Tool) string {
	all := make([]string, len(tools))
	for i, tool := range tools {
		all[i] = tool.Name
	}
	return strings.Join(all, ", ")
}

// watched runs a tool, of which the observer is told before and after.
func (l *loop) watched(ctx context.Context, w wish) (finding, error) {
	l.looked++
	step := Step{ID: strconv.Itoa(l.looked), Tool: w.name, Icon: w.tool.Icon, Label: w.tool.Label, Status: Running}
	if err := l.to.Step(step); err != nil {
		return finding{}, err
	}
	running, _, done := l.inTime(ctx)
	defer done()
	result, err := w.tool.Run(running, w.arguments)
	var f finding
	var mistake Mistake
	switch {
	case errors.As(err, &mistake):
		step.Status, f = Failed, finding{data: mistake.Error()}
	case err != nil && errors.Is(context.Cause(running), errTime) && ctx.Err() == nil:
		step.Status, f = Failed, finding{remarks: l.words.Late()}
	case err != nil:
		return finding{}, fmt.Errorf("look up by %s: %w", w.name, err)
	default:
		step.Status, step.Detail, f = Done, result.Detail, finding{data: result.Text}
		if result.Empty {
			step.Status = Empty
		}
	}
	f = l.told(f, step.Status == Empty)
	return f, l.to.Step(step)
}

// told is a finding as long as it may be, with what is to be said about it.
func (l *loop) told(f finding, empty bool) finding {
	if whole := f.data; len(whole) > 0 {
		if f.data = providers.Cut(whole, charsPerToken*l.ResultTokens); f.data != whole {
			f.data += fmt.Sprintf("\n[cut: a look-up tells at most %d tokens]", l.ResultTokens)
		}
	}
	if !empty {
		l.barren = 0
		return f
	}
	if strings.TrimSpace(f.data) == "" {
		f.remarks = l.words.Nothing()
	}
	if l.barren++; l.barren >= mostBarren {
		l.barren = 0
		f.remarks = strings.TrimSpace(f.remarks + " " + l.words.Nudge())
	}
	return f
}
