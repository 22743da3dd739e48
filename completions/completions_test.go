package completions_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/completions"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/streams"
)

// answering is Completions over the engine of these options, which a test never comes to ask.
func answering(t *testing.T, options llm.Options, further ...string) *completions.Completions {
	t.Helper()
	engine, err := llm.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return completions.New(completions.Options{
		Text: llm.NewAdapter(engine, llm.AdapterOptions{}), Further: further, InputChars: 20, Tokens: 100,
	})
}

func service() llm.Options {
	return llm.Options{BaseURL: "http://127.0.0.1:1", Model: "own", Client: &http.Client{}}
}

// The models are what the operator allows, the configured one first and each once. The engine that is built in stands for
// no other: what the operator allowed of a service is not there without it.
func TestModels(t *testing.T) {
	t.Parallel()
	if names := answering(t, service(), "big", "own", "big").Models(); !slices.Equal(names, []string{"own", "big"}) {
		t.Errorf("the models are %v", names)
	}
	embedded := answering(t, llm.Options{}, "big")
	if names := embedded.Models(); !slices.Equal(names, []string{"embedded-extractive"}) {
		t.Errorf("of the engine that is built in there are %v", names)
	}
	_, err := embedded.Answer(context.Background(), budgets.Purse{}, completions.Wish{Model: "big"})
	if !problems.Is(err, problems.ModelNotFound) {
		t.Errorf("it answers %v", err)
	}
}

// Everything that a model would read is counted against the bound, and the count is told; another model than those is
// refused by its name's field. Neither needs a purse, nor takes a slot.
func TestWishesAreHeldToTheirBounds(t *testing.T) {
	t.Parallel()
	s, long := answering(t, service()), strings.Repeat("ö", 21)
	for name, wish := range map[string]completions.Wish{
		"a message":   {Messages: []llm.Message{{Text: long}}},
		"two":         {Messages: []llm.Message{{Text: long[:22]}, {Text: long[:22]}}},
		"a call":      {Messages: []llm.Message{{Calls: []llm.ToolCall{{Arguments: long}}}}},
		"its name":    {Messages: []llm.Message{{Calls: []llm.ToolCall{{Name: long}}}}},
		"a tool":      {Tools: []llm.Tool{{Description: long}}},
		"its schema":  {Tools: []llm.Tool{{Parameters: json.RawMessage(`"` + long + `"`)}}},
		"what shapes": {Further: map[string]json.RawMessage{"response_format": json.RawMessage(`"` + long + `"`)}},
	} {
		wish.Model = "own"
		_, err := s.Answer(context.Background(), budgets.Purse{}, wish)
		if p := problems.Of(err); p.Kind != problems.PayloadTooLarge || p.Fields["max_input_chars"] != 20 {
			t.Errorf("%s: %v", name, err)
		}
		if streamed := s.Stream(budgets.Purse{}, streams.Opener{}, wish, completions.Frames{}); !problems.Is(streamed, problems.PayloadTooLarge) {
			t.Errorf("%s, streamed: %v", name, streamed)
		}
	}
	_, err := s.Answer(context.Background(), budgets.Purse{}, completions.Wish{Model: "other", Messages: []llm.Message{{Text: "x"}}})
	if p := problems.Of(err); p.Kind != problems.ModelNotFound || p.Fields["field"] != "model" || !strings.Contains(p.Message, "own") {
		t.Errorf("another model: %v", err)
	}
}
