package llm_test

import (
	"context"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/tests/llmtest"
)

func TestEngineIsChosenByConfiguration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options         llm.Options
		provider, model string
	}{
		{llm.Options{}, "embedded", "embedded-extractive"},
		{llm.Options{APIKey: key}, "openai", "gpt-4o-mini"},
		{llm.Options{APIKey: key, Model: "gpt-5"}, "openai", "gpt-5"},
		{llm.Options{BaseURL: "http://localhost:11434/v1 # mine", Model: "llama3.2"}, "localhost:11434", "llama3.2"},
		{llm.Options{BaseURL: "https://user:hunter2@Models.example/v1/"}, "models.example", "gpt-4o-mini"},
	} {
		c.options.Client = http.DefaultClient
		engine, err := llm.New(c.options)
		if err != nil {
			t.Errorf("%+v: %v", c.options, err)
			continue
		}
		if got := engine.Describe(); got.Engine != (budgets.Engine{Provider: c.provider, Model: c.model}) || got.Embedded != (c.provider == "embedded") {
			t.Errorf("%+v: %+v", c.options, got)
		}
	}
}

func TestWrongConfigurationNamesTheVariable(t *testing.T) {
	t.Parallel()
	for want, options := range map[string]llm.Options{
		"TEXT_MODEL_API_KEY":  {Model: "gpt-4o"},
		"TEXT_MODEL_BASE_URL": {BaseURL: "ftp://user:hunter2@host"},
	} {
		options.Client = http.DefaultClient
		_, err := llm.New(options)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v, want an error that names %s", err, want)
		}
	}
}

// What is in the request as the provider received it: the cap, always.
func TestRequestHasItsCap(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	asked := request(prompt)
	asked.Messages = append([]llm.Message{{Role: llm.System, Text: "Be brief."}, {Role: llm.Assistant, Text: "Yes?"}}, asked.Messages...)
	asked.Temperature, asked.JSON = 0, true
	if _, err := r.ask(asked); err != nil {
		t.Fatal(err)
	}
	call := r.model.Calls()[0]
	if call.MaxTokens == nil || *call.MaxTokens != 100 || call.MaxCompletionTokens != nil || call.Temperature == nil || *call.Temperature != 0 || !call.JSON {
		t.Errorf("the provider received %s", call.Body)
	}
	if call.Path != "/v1/chat/completions" || call.Model != "scripted" || call.Header.Get("Authorization") != "Bearer "+key {
		t.Errorf("the provider received %s at %s with %v", call.Model, call.Path, call.Header)
	}
	want := []llmtest.Message{{Role: "system", Content: "Be brief."}, {Role: "assistant", Content: "Yes?"}, {Role: "user", Content: prompt}}
	if !reflect.DeepEqual(call.Messages, want) {
		t.Errorf("the provider received the messages %+v", call.Messages)
	}
}

// OpenAI's own models that think first know the cap by another name and refuse a temperature; others of that name do
// not.
func TestThinkingModelsAreAskedInTheirWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		base, model string
		thinking    bool
	}{
		{"http://api.openai.com/v1", "gpt-5-mini", true},
		{"http://api.openai.com/v1", "o4-mini", true},
		{"http://api.openai.com/v1", "gpt-4o-mini", false},
		{"http://elsewhere.example/v1", "gpt-5-mini", false},
	} {
		model := llmtest.New(t)
		host := strings.TrimSuffix(strings.TrimPrefix(model.BaseURL(), "http://"), "/v1")
		client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, host)
		}}}
		engine, err := llm.New(llm.Options{BaseURL: c.base, APIKey: key, Model: c.model, Client: client})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Complete(t.Context(), request(prompt)); err != nil {
			t.Fatal(err)
		}
		client.CloseIdleConnections()
		call := model.Calls()[0]
		if call.Cap() != 100 || (call.MaxCompletionTokens != nil) != c.thinking || (call.MaxTokens != nil) == c.thinking || (call.Temperature == nil) != c.thinking {
			t.Errorf("%s at %s received %s", c.model, c.base, call.Body)
		}
	}
}

// A server of one's own may have no key; and no key of the environment, which is somebody else's, is sent to it.
func TestNoKeyOfTheEnvironmentIsSent(t *testing.T) {
	for _, variable := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_BASE_URL"} {
		t.Setenv(variable, "https://not.ours.example")
	}
	r := newRig(t, func(s *settings) { s.options.APIKey = "" })
	if _, err := r.ask(request(prompt)); err != nil {
		t.Fatal(err)
	}
	for name, values := range r.model.Calls()[0].Header {
		if name == "Authorization" || strings.Contains(strings.Join(values, " "), "not.ours") {
			t.Errorf("the provider received %s: %v", name, values)
		}
	}
}

// The key stays with the address that it is for.
func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	other := llmtest.New(t)
	r := newRig(t, nil)
	r.model.Script(llmtest.Reply{Status: http.StatusTemporaryRedirect, Headers: map[string]string{"Location": other.BaseURL() + "/chat/completions"}})
	if failure := r.fails(providers.Unreachable); !failure.Permanent {
		t.Error("a redirect is no passing trouble")
	}
	if len(other.Calls()) != 0 {
		t.Error("the redirect was followed")
	}
}

// An address with a user in it is reached, and the user is told nobody else.
func TestAddressMayHoldAPassword(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *settings) {
		s.options.BaseURL = strings.Replace(s.options.BaseURL, "http://", "http://user:hunter2@", 1)
		s.options.APIKey = ""
	})
	if _, err := r.ask(request(prompt)); err != nil {
		t.Fatal(err)
	}
	if user := r.model.Calls()[0].Header.Get("Authorization"); !strings.HasPrefix(user, "Basic ") {
		t.Errorf("the provider received %q", user)
	}
	if line := r.line(); strings.Contains(line.Provider, "hunter2") {
		t.Errorf("the ledger tells %q", line.Provider)
	}
}
