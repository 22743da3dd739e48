package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// openAIRig is one server with a text and a speech service, whose clients speak OpenAI's wire. A token that a model writes
// costs a tenth of a cent, a minute of sound 60 cents.
type openAIRig struct {
	*moneyRig
}

func newOpenAIRig(t *testing.T, more servertest.Environment) openAIRig {
	t.Helper()
	r := openAIRig{&moneyRig{speech: asrtest.New(t), model: llmtest.New(t)}}
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	err := os.WriteFile(prices, []byte("currency: USD\naudio:\n  - {model: whisper-1, per_minute: 0.6}\ntext:\n"+
		"  - {model: scripted, input: 0, output: 1000}\n  - {model: big, input: 0, output: 2000}\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	r.environment = quiet(t).With(servertest.Environment{
		"TEXT_MODEL_BASE_URL": r.model.BaseURL(), "TEXT_MODEL_API_KEY": "sk-test", "TEXT_MODEL_NAME": "scripted",
		"TEXT_MODELS_ALLOWED": "big,dear", "PRICES_FILE": prices, "CHAT_MAX_TOKENS": "100", "AI_MAX_INPUT_CHARS": "1000",
		"TRANSCRIPTION_BASE_URL": r.speech.BaseURL(), "TRANSCRIPTION_API_KEY": "sk-test", "TRANSCRIPTION_MODEL": "whisper-1",
		"SYNC_AUDIO_MAX_SECONDS": "5", "AI_STREAM_HEARTBEAT_SECONDS": "0.1", "TEXT_MODEL_ATTEMPTS": "1", "MAX_UPLOAD_MB": "1",
	}).With(more)
	r.process = servertest.Start(t, r.environment)
	return r
}

// caller is a new account whose token may process and nothing else, under a budget of so many dollars, or none.
func (r openAIRig) caller(t *testing.T, name, dollars string) *servertest.Client {
	t.Helper()
	email := name + "@example.org"
	servertest.CreateUser(t, r.environment, email)
	client := servertest.ClientOf(t, r.process.URL)
	client.Header.Set("Authorization", "Bearer "+servertest.CreateToken(t, r.environment, email, "process"))
	if dollars != "" {
		servertest.Prepare(t, r.environment, "", "budget", "set", "--user", email, "--usd", dollars)
	}
	return client
}

// asks is a chat request with a question and what a test adds to it.
func asks(more map[string]any) map[string]any {
	body := map[string]any{"model": "scripted", "messages": []any{map[string]any{"role": "user", "content": "What do bees make?"}}}
	for name, value := range more {
		body[name] = value
	}
	return body
}

const (
	completionsPath    = "/v1/chat/completions"
	transcriptionsPath = "/v1/audio/transcriptions"
)

// hears sends a file to be transcribed at once, the file before the fields.
func hears(t *testing.T, client *servertest.Client, file []byte, fields ...string) servertest.Answer {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "talk.wav")
	if err == nil {
		_, err = part.Write(file)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		err = errors.Join(err, form.WriteField(fields[i], fields[i+1]))
	}
	if err = errors.Join(err, form.Close()); err != nil {
		t.Fatal(err)
	}
	return client.Call(http.MethodPost, transcriptionsPath, &body, http.Header{"Content-Type": {form.FormDataContentType()}})
}

// openAIError is the object of a refusal; it fails the test when the answer has another form.
func openAIError(t *testing.T, answer servertest.Answer) map[string]any {
	t.Helper()
	object, is := answer.JSON(t)["error"].(map[string]any)
	if message, _ := object["message"].(string); !is || message == "" || object["type"] == nil || object["code"] == nil {
		t.Errorf("the refusal has not OpenAI's form: %v", answer)
	}
	if answer.JSON(t)["code"] != nil {
		t.Errorf("the refusal is of both forms: %v", answer)
	}
	return object
}

// sdk makes calls by OpenAI's library for Node in one process and gives what came of each.
func (r openAIRig) sdk(t *testing.T, client *servertest.Client, calls ...[2]any) []map[string]any {
	t.Helper()
	script, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	command := node(t, filepath.Join("clients", "openai.mjs"), string(script))
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "STENOMETER_URL=" + r.process.URL, "STENOMETER_TOKEN=" + bearerOf(client),
	}
	var complaints strings.Builder
	command.Stderr = &complaints
	printed, err := command.Output()
	if err != nil {
		t.Fatalf("the library's calls failed (scripts/install-dependencies test installs it): %v\n%s", err, complaints.String())
	}
	var results []map[string]any
	if err := json.Unmarshal(printed, &results); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	for i, result := range results {
		if result["failed"] == nil {
			results[i]["failed"] = ""
		}
	}
	return results
}

// node runs a script. Before Node 20, which the library asks for, a class that it needs for files had to be fetched.
func node(t *testing.T, arguments ...string) *exec.Cmd {
	const files = "data:text/javascript,import{File}from'node:buffer';globalThis.File??=File"
	return exec.CommandContext(t.Context(), "node", append([]string{"--import", files}, arguments...)...)
}

func bearerOf(client *servertest.Client) string {
	return strings.TrimPrefix(client.Header.Get("Authorization"), "Bearer ")
}

// requests counts those that the server has answered on a route.
func (r openAIRig) requests(route string) int {
	return strings.Count(r.process.Logs(), `"route":"`+route+`"`)
}
