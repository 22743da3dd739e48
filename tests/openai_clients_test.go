package tests

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// OpenAI's own library for Node works against this server by its address alone: it lists models, asks and is answered, at
// once and while the model writes, reads over heartbeats (H-016), puts tools together, and transcribes.
func TestOpenAIsLibraryForNodeWorksByTheAddressAlone(t *testing.T) {
	t.Parallel()
	r := newOpenAIRig(t, nil)
	client := r.caller(t, "node", "")
	file := filepath.Join(t.TempDir(), "tone.wav")
	if err := os.WriteFile(file, tone(t), 0o600); err != nil {
		t.Fatal(err)
	}
	const said = "Bees make  honey,\nand *wax* [S1 \"as they do\"]. "
	silent := llmtest.Chunks(strings.SplitAfter(said, " ")...).Each(250*time.Millisecond).Using(11, 7)
	r.model.Script(llmtest.Says("Honey.").Using(5, 2), silent, llmtest.Asks("weigh", `{"hive": 3}`), llmtest.Asks("weigh", `{"hive": 3}`))
	r.speech.Always(func(asrtest.Call) asrtest.Reply {
		return asrtest.Segments(asrtest.Segment{Start: 0, End: 0.4, Text: "My name is Ada."})
	})
	offered := map[string]any{"tools": []any{map[string]any{"type": "function", "function": map[string]any{
		"name": "weigh", "parameters": map[string]any{"type": "object", "properties": map[string]any{"hive": map[string]any{"enum": []any{3, nil}}}},
	}}}}
	results := r.sdk(t, client, [2]any{"models", nil}, [2]any{"chat", asks(nil)}, [2]any{"stream", asks(nil)},
		[2]any{"chat", asks(offered)}, [2]any{"stream", asks(offered)},
		[2]any{"transcribe", map[string]any{"path": file, "model": "whisper-1"}},
		[2]any{"transcribe", map[string]any{"path": file, "model": "whisper-1", "response_format": "verbose_json"}},
		[2]any{"transcribe", map[string]any{"path": file, "model": "whisper-1", "response_format": "srt"}},
	)
	for i, result := range results {
		if result["failed"] != "" {
			t.Fatalf("call %d: %v", i, result)
		}
	}
	if names, _ := results[0]["names"].([]any); len(names) != 4 || names[0] != "scripted" || results[0]["one"] != "scripted" {
		t.Errorf("the models are %v", results[0])
	}
	expectMessage(t, results[1], "Honey.", "stop", 2)
	expectMessage(t, results[2], said, "stop", 7)
	if results[2]["text"] != said {
		t.Errorf("the chunks are %q, the model said %q", results[2]["text"], said)
	}
	for _, result := range results[3:5] {
		message, _ := result["message"].(map[string]any)
		calls, _ := message["tool_calls"].([]any)
		if len(calls) != 1 || result["finish_reason"] != "tool_calls" {
			t.Fatalf("the model asked for a tool, and came %v", result)
		}
		called, _ := calls[0].(map[string]any)["function"].(map[string]any)
		if called["name"] != "weigh" || called["arguments"] != `{"hive": 3}` {
			t.Errorf("it asked for %v", called)
		}
	}
	if heard, _ := results[5]["heard"].(map[string]any); heard["text"] != "My name is Ada." {
		t.Errorf("heard %v", results[5])
	}
	heard, _ := results[6]["heard"].(map[string]any)
	if segments, _ := heard["segments"].([]any); len(segments) != 1 || heard["language"] != "en" || heard["duration"] == nil {
		t.Errorf("heard %v", results[6])
	}
	if results[7]["heard"] != "1\n00:00:00,000 --> 00:00:00,400\nMy name is Ada.\n" {
		t.Errorf("heard %v", results[7])
	}
}

func expectMessage(t *testing.T, result map[string]any, said, finish string, tokens float64) {
	t.Helper()
	message, _ := result["message"].(map[string]any)
	used, _ := result["usage"].(map[string]any)
	if message["content"] != said || message["role"] != "assistant" || result["finish_reason"] != finish || used["completion_tokens"] != tokens {
		t.Errorf("the answer is %v, want %q", result, said)
	}
}

// The library sees our refusals as its errors and does not hammer: of a budget that is used up and of a limit whose wait
// it would not keep it makes one request, and a wait that it keeps it waits (H-029).
func TestOpenAIsLibraryForNodeDoesNotHammer(t *testing.T) {
	t.Parallel()
	r := newOpenAIRig(t, nil)
	poor, busy, patient := r.caller(t, "poor", "0.05"), r.caller(t, "busy", ""), r.caller(t, "patient", "")
	for email, figures := range map[string]string{"busy@example.org": "1 per 5 minutes", "patient@example.org": "1 per 2 seconds"} {
		servertest.Prepare(t, r.environment, "", "limits", "set", "--user", email, "account_process="+figures)
	}
	servertest.Eventually(t, 5*time.Second, "the limits are in force", func() bool {
		return strings.Contains(string(patient.Get("/api/v1/limits").Body), `"window_seconds":2`)
	})
	made := func(client *servertest.Client, calls ...[2]any) ([]map[string]any, int) {
		before := r.requests(completionsPath)
		results := r.sdk(t, client, calls...)
		servertest.Eventually(t, 5*time.Second, "the log is written", func() bool { return r.requests(completionsPath) >= before+len(calls) })
		return results, r.requests(completionsPath) - before
	}
	results, requests := made(poor, [2]any{"chat", asks(nil)}, [2]any{"stream", asks(nil)})
	for _, result := range results {
		object, _ := result["object"].(map[string]any)
		if result["status"] != 402.0 || result["code"] != "budget_exceeded" || result["type"] != "insufficient_quota" || object["budget"] != 0.05 {
			t.Errorf("without money: %v", result)
		}
	}
	if requests != 2 || len(r.model.Calls()) != 0 {
		t.Errorf("two calls without money were %d requests, and %d reached the model", requests, len(r.model.Calls()))
	}
	results, requests = made(busy, [2]any{"chat", asks(nil)}, [2]any{"chat", asks(nil)})
	if refused := results[1]; results[0]["failed"] != "" || refused["failed"] != "RateLimitError" || refused["status"] != 429.0 || refused["code"] != "account_rate_limit_exceeded" {
		t.Errorf("over the limit: %v", results)
	}
	if requests != 2 {
		t.Errorf("two calls, of which one is over a limit of five minutes, were %d requests", requests)
	}
	results, requests = made(patient, [2]any{"chat", asks(nil)}, [2]any{"chat", asks(nil)})
	if results[1]["failed"] != "" || results[1]["took"].(float64) < 1000 || requests != 3 {
		t.Errorf("over a limit of two seconds: %v after %d requests, want one that waits", results, requests)
	}
	stranger := servertest.ClientOf(t, r.process.URL)
	stranger.Header.Set("Authorization", "Bearer sk-of-somebody-else")
	if results := r.sdk(t, stranger, [2]any{"chat", asks(nil)}); results[0]["failed"] != "AuthenticationError" || results[0]["code"] != "invalid_token" {
		t.Errorf("with a key of another service: %v", results)
	}
}

// The guide's example for Node works as printed.
func TestTheGuidesExampleForNodeWorks(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(string(readFile(t, "docs/user-guide/openai-clients.md")), "```js\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no example for Node")
	}
	r := newOpenAIRig(t, servertest.Environment{"TEXT_MODEL_NAME": "gpt-4o-mini"})
	r.model.Always(func(llmtest.Call) llmtest.Reply { return llmtest.Says("By Friday.") })
	folder := t.TempDir()
	libraries, err := filepath.Abs(filepath.Join("clients", "node_modules"))
	err = errors.Join(err, os.Symlink(libraries, filepath.Join(folder, "node_modules")),
		os.WriteFile(filepath.Join(folder, "speech.flac"), encode(t, "tone.flac"), 0o600),
		os.WriteFile(filepath.Join(folder, "example.mjs"), []byte(example), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	command := node(t, "example.mjs")
	command.Dir = folder
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "STENOMETER_URL=" + r.process.URL, "STENOMETER_TOKEN=" + bearerOf(r.caller(t, "ada", "")),
	}
	printed, err := command.CombinedOutput()
	if err != nil || string(printed) != "By Friday.\nHello world.\n" {
		t.Errorf("it printed %q, %v", printed, err)
	}
}
