package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// Whatever is refused under /v1, known paths and others, the refusal has OpenAI's form, and what a client may do about it
// stands in the same headers as everywhere. Nothing of it reaches the model.
func TestEveryRefusalUnderV1HasOpenAIsForm(t *testing.T) {
	t.Parallel()
	r := newOpenAIRig(t, nil)
	client, other := r.caller(t, "ada", ""), servertest.ClientOf(t, r.process.URL)
	reader := servertest.ClientOf(t, r.process.URL)
	reader.Header.Set("Authorization", "Bearer "+servertest.CreateToken(t, r.environment, "ada@example.org", "read"))
	jsonHeader := http.Header{"Content-Type": {"application/json"}}
	for _, c := range []struct {
		client       *servertest.Client
		method, path string
		body         string
		header       http.Header
		status       int
		code         string
	}{
		{other, "GET", "/v1/models", "", nil, 401, "authentication_required"},
		{reader, "POST", completionsPath, "{}", jsonHeader, 403, "insufficient_scope"},
		{reader, "POST", transcriptionsPath, "", nil, 403, "insufficient_scope"},
		{client, "GET", "/v1/embeddings", "", nil, 404, "not_found"},
		{client, "GET", "/v1", "", nil, 404, "not_found"},
		{client, "GET", "/v1/models/of%2Fnobody", "", nil, 404, "model_not_found"},
		{client, "DELETE", completionsPath, "", nil, 405, "method_not_allowed"},
		{client, "POST", completionsPath, "{}", http.Header{"Content-Type": {"text/plain"}}, 415, "unsupported_media_type"},
		{client, "POST", completionsPath, "{}", http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, 415, "unsupported_media_type"},
		{client, "POST", transcriptionsPath, "{}", jsonHeader, 415, "unsupported_media_type"},
		{client, "POST", completionsPath, "{", jsonHeader, 400, "bad_request"},
		{client, "POST", completionsPath, strings.Repeat(" ", 3<<20), jsonHeader, 413, "payload_too_large"},
		{client, "POST", transcriptionsPath, strings.Repeat(" ", 5<<20), http.Header{"Content-Type": {"multipart/form-data; boundary=x"}}, 413, "payload_too_large"},
		{client, "POST", transcriptionsPath, "", http.Header{"Content-Type": {"multipart/form-data; boundary=x"}, "Idempotency-Key": {"once"}}, 400, "invalid_parameter"},
	} {
		answer := c.client.Call(c.method, c.path, strings.NewReader(c.body), c.header)
		if object := openAIError(t, answer); answer.Status != c.status || object["code"] != c.code {
			t.Errorf("%s %s: %v, want %d %s", c.method, c.path, answer, c.status, c.code)
		}
	}
	if answer := client.Get("/api/v1/nothing"); answer.JSON(t)["code"] != "not_found" {
		t.Errorf("beside /v1: %v", answer)
	}
	r.model.Script(llmtest.Fails(500), llmtest.Fails(401), llmtest.Busy(300))
	for _, want := range []struct {
		status      int
		code        string
		wait, again string
	}{{502, "provider_failed", "", "false"}, {502, "provider_failed", "", "false"}, {503, "provider_unavailable", "300", "false"}} {
		answer := client.Send(http.MethodPost, completionsPath, asks(nil))
		object := openAIError(t, answer)
		if answer.Status != want.status || object["code"] != want.code || strings.Contains(string(answer.Body), "PROVIDER-SECRET") {
			t.Errorf("the model's service failed: %v, want %v", answer, want)
		}
		if answer.Header.Get("Retry-After") != want.wait || answer.Header.Get("X-Should-Retry") != want.again {
			t.Errorf("%v has the headers %v", want, answer.Header)
		}
	}
}

// What cannot be priced, or is beyond a bound, is refused before the model sees anything, and the refusal names the field.
func TestWhatACompletionMayNotAsk(t *testing.T) {
	t.Parallel()
	r := newOpenAIRig(t, nil)
	client := r.caller(t, "ada", "10")
	saying := func(content any) map[string]any {
		return asks(map[string]any{"messages": []any{map[string]any{"role": "user", "content": content}}})
	}
	picture := []any{map[string]any{"type": "image_url", "image_url": map[string]any{"url": "https://example.org/bee.png"}}}
	tool := func(tool any) map[string]any { return asks(map[string]any{"tools": []any{tool}}) }
	named := func(name string, schema any) map[string]any {
		return map[string]any{"type": "function", "function": map[string]any{"name": name, "parameters": schema}}
	}
	for name, c := range map[string]struct {
		body   map[string]any
		status int
		param  string
	}{
		"no model":          {asks(map[string]any{"model": nil}), 400, ""},
		"another model":     {asks(map[string]any{"model": "gpt-9"}), 404, "model"},
		"an unpriced model": {asks(map[string]any{"model": "dear"}), 402, ""},
		"no messages":       {asks(map[string]any{"messages": []any{}}), 400, ""},
		"null messages":     {asks(map[string]any{"messages": []any{nil}}), 400, ""},
		"1,001 messages":    {asks(map[string]any{"messages": make([]map[string]any, 1001)}), 400, ""},
		"a role":            {asks(map[string]any{"messages": []any{map[string]any{"role": "root", "content": "x"}}}), 400, ""},
		"no content":        {saying(nil), 400, "messages[0].content"},
		"a number":          {saying(7), 400, "messages[0].content"},
		"a picture":         {saying(picture), 400, "messages[0].content"},
		"too much text":     {saying(strings.Repeat("ö", 1001)), 413, ""},
		"too large a tool":  {tool(named("weigh", map[string]any{"description": strings.Repeat("x", 1000)})), 413, ""},
		"too large a form":  {asks(map[string]any{"response_format": map[string]any{"type": "json_schema", "x": strings.Repeat("x", 1000)}}), 413, ""},
		"two answers":       {asks(map[string]any{"n": 2}), 400, ""},
		"no tokens":         {asks(map[string]any{"max_tokens": 0}), 400, ""},
		"fewer than none":   {asks(map[string]any{"max_completion_tokens": -5}), 400, ""},
		"a hosted tool":     {tool(map[string]any{"type": "web_search"}), 400, "tools[0].type"},
		"a tool's name":     {tool(named("weigh the hive", nil)), 400, "tools[0].function.name"},
		"a tool's schema":   {tool(named("weigh", "string")), 400, "tools[0].function.parameters"},
		"web search":        {asks(map[string]any{"web_search_options": map[string]any{}}), 400, "web_search_options"},
		"sound":             {asks(map[string]any{"modalities": []any{"text", "audio"}}), 400, "modalities"},
		"a dearer tier":     {asks(map[string]any{"service_tier": "priority"}), 400, "service_tier"},
		"a prediction":      {asks(map[string]any{"prediction": map[string]any{"type": "content"}}), 400, "prediction"},
		"a result of no call": {asks(map[string]any{"messages": []any{
			map[string]any{"role": "tool", "content": "3 kg", "tool_call_id": "call_1"},
		}}), 400, "messages[0].tool_call_id"},
		"heat":          {asks(map[string]any{"temperature": 2.5}), 400, ""},
		"a number's":    {asks(map[string]any{"temperature": "hot"}), 400, ""},
		"five stops":    {asks(map[string]any{"stop": []any{"a", "b", "c", "d", "e"}}), 400, "stop"},
		"a null stop":   {asks(map[string]any{"stop": []any{nil}}), 400, "stop"},
		"a form":        {asks(map[string]any{"response_format": map[string]any{"type": "xml"}}), 400, "response_format"},
		"a tool choice": {asks(map[string]any{"tool_choice": "any"}), 400, "tool_choice"},
	} {
		for _, stream := range []bool{false, true} {
			c.body["stream"] = stream
			answer := client.Send(http.MethodPost, completionsPath, c.body)
			object := openAIError(t, answer)
			if param, _ := object["param"].(string); answer.Status != c.status || param != c.param {
				t.Errorf("%s (stream %v): %v, want %d and the param %q", name, stream, answer, c.status, c.param)
			}
		}
	}
	if calls := r.model.Calls(); len(calls) != 0 {
		t.Errorf("%d of them reached the model: %s", len(calls), calls[0].Body)
	}
}

// The operator's cap is what the model receives (H-081): a client lowers it and never raises it. What only shapes the
// answer is passed on as it was sent, what names the caller or would keep the text elsewhere is not, and a model is paid
// at its own price.
func TestWhatTheModelReceivesOfACompletion(t *testing.T) {
	t.Parallel()
	r := newOpenAIRig(t, nil)
	client := r.caller(t, "ada", "10")
	sent := func(more map[string]any) llmtest.Call {
		t.Helper()
		if answer := client.Send(http.MethodPost, completionsPath, asks(more)); answer.Status != http.StatusOK {
			t.Fatalf("%v: %v", more, answer)
		}
		calls := r.model.Calls()
		return calls[len(calls)-1]
	}
	for _, c := range []struct {
		wish map[string]any
		want int64
	}{
		{nil, 100},
		{map[string]any{"max_tokens": 5000}, 100},
		{map[string]any{"max_tokens": 7}, 7},
		{map[string]any{"max_completion_tokens": 1_000_000_000}, 100},
		{map[string]any{"max_completion_tokens": 9, "max_tokens": 30}, 9},
		{map[string]any{"max_tokens": nil}, 100},
	} {
		if call := sent(c.wish); call.Cap() != c.want {
			t.Errorf("%v: the model receives the cap %d, want %d: %s", c.wish, call.Cap(), c.want, call.Body)
		}
	}
	passed := map[string]any{
		"temperature": 0.25, "top_p": 0.5, "seed": 7.0, "stop": []any{"END"}, "presence_penalty": -1.0, "frequency_penalty": 1.5,
		"response_format":  map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "x", "schema": map[string]any{"enum": []any{"a", nil}}}},
		"reasoning_effort": "low",
		"tools":            []any{map[string]any{"type": "function", "function": map[string]any{"name": "find", "parameters": map[string]any{"type": "object"}, "strict": true}}},
	}
	wish := map[string]any{"user": "ada", "metadata": map[string]any{"a": "b"}, "store": true, "service_tier": "auto", "logprobs": true, "n": 1, "model": "big"}
	for name, value := range passed {
		wish[name] = value
	}
	var received map[string]any
	if err := json.Unmarshal(sent(wish).Body, &received); err != nil {
		t.Fatal(err)
	}
	for name, value := range passed {
		if fmt.Sprint(received[name]) != fmt.Sprint(value) {
			t.Errorf("%s reached the model as %v, want %v", name, received[name], value)
		}
	}
	for _, name := range []string{"user", "metadata", "store", "service_tier", "logprobs"} {
		if value, there := received[name]; there {
			t.Errorf("%s reached the model: %v", name, value)
		}
	}
	if received["model"] != "big" {
		t.Errorf("the model that was asked is %v", received["model"])
	}
	for _, entry := range used(t, r.reader(t, "ada")).Entries {
		if entry.Model == "big" && (entry.Operation != "completion" || entry.Charged != 0.002*float64(entry.OutputTokens)) {
			t.Errorf("the ledger has %+v", entry)
		}
	}
}

// reader is the account by a token that may read.
func (r openAIRig) reader(t *testing.T, name string) *servertest.Client {
	t.Helper()
	client := servertest.ClientOf(t, r.process.URL)
	client.Header.Set("Authorization", "Bearer "+servertest.CreateToken(t, r.environment, name+"@example.org"))
	return client
}

// A streamed completion ends with [DONE] when it is whole. When the model's service breaks off (H-014), or delivers an error
// in its stream (H-015), the last event is OpenAI's error object and no [DONE] follows. A key of idempotency is for answers
// that can be kept: the same request with it is asked once.
func TestStreamedCompletionsSayHowTheyEnd(t *testing.T) {
	t.Parallel()
	r := newOpenAIRig(t, servertest.Environment{"AI_STREAM_IDLE_TIMEOUT_SECONDS": "1.5"})
	client := r.caller(t, "ada", "")
	cut, broken, stalls := llmtest.Chunks("Of ", "bees ", "and"), llmtest.Chunks("Of ", "bees ", "and"), until(3, (&gate{}).open)
	cut.Drop, broken.Breaks = true, true
	for _, c := range []struct {
		reply llmtest.Reply
		code  string
	}{{llmtest.Chunks("Of ", "bees"), ""}, {cut, "provider_unavailable"}, {broken, "provider_failed"}, {stalls, "idle_timeout"}} {
		r.model.Script(c.reply)
		text, last, lines := readsStream(t, client, asks(map[string]any{"stream": true}))
		if !strings.HasPrefix(text, "Of bees") && !strings.HasPrefix(text, "bees bees") {
			t.Errorf("%q: the text is %q", c.code, text)
		}
		failure, _ := last["error"].(map[string]any)
		done := strings.Contains(lines, "data: [DONE]")
		if c.code == "" && (failure != nil || !strings.HasSuffix(lines, "data: [DONE]\n\n")) {
			t.Errorf("a whole answer ended with %v: %s", failure, lines)
		}
		if c.code != "" && (done || failure["code"] != c.code || failure["type"] != "server_error" || failure["message"] == nil) {
			t.Errorf("%s: it ended with %v (done %v)", c.code, last, done)
		}
	}
	before := len(r.model.Calls())
	header := http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"once"}}
	body, _ := json.Marshal(asks(nil))
	first := client.Call(http.MethodPost, completionsPath, bytes.NewReader(body), header)
	second := client.Call(http.MethodPost, completionsPath, bytes.NewReader(body), header)
	if first.Status != http.StatusOK || string(first.Body) != string(second.Body) || len(r.model.Calls()) != before+1 {
		t.Errorf("with a key: %v, then %v, after %d calls", first, second, len(r.model.Calls())-before)
	}
	body, _ = json.Marshal(asks(map[string]any{"stream": true}))
	if refused := client.Call(http.MethodPost, completionsPath, bytes.NewReader(body), http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"other"}}); refused.Status != http.StatusBadRequest || openAIError(t, refused)["param"] != "Idempotency-Key" {
		t.Errorf("a stream with a key: %v", refused)
	}
}

// readsStream reads a streamed completion to its end: the text, the last event, and all lines.
func readsStream(t *testing.T, client *servertest.Client, body map[string]any) (text string, last map[string]any, lines string) {
	t.Helper()
	raw, err := io.ReadAll(opensStream(t, &http.Transport{Proxy: nil, DisableKeepAlives: true}, client, completionsPath, body).lines)
	if err != nil {
		t.Errorf("the stream ended with %v", err)
	}
	for line := range strings.Lines(string(raw)) {
		data, is := strings.CutPrefix(line, "data: {")
		if !is {
			continue
		}
		last = nil
		if err := json.Unmarshal([]byte("{"+data), &last); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if choices, _ := last["choices"].([]any); len(choices) > 0 {
			delta, _ := choices[0].(map[string]any)["delta"].(map[string]any)
			piece, _ := delta["content"].(string)
			text += piece
		}
	}
	return text, last, string(raw)
}
