package tests

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// A file is transcribed while its caller waits, in each form, paid for by its decoded length, and nothing of it stays.
func TestAFileIsTranscribedAtOnce(t *testing.T) {
	t.Parallel()
	r := newOpenAIRig(t, nil)
	client := r.caller(t, "ada", "1")
	r.speech.Always(func(asrtest.Call) asrtest.Reply {
		return asrtest.Segments(asrtest.Segment{Start: 0, End: 0.25, Text: "Good morning."}, asrtest.Segment{Start: 0.25, End: 0.4, Text: "Thank <you>."})
	})
	const said = "Good morning. Thank <you>."
	for format, want := range map[string]string{
		"text": said,
		"srt":  "1\n00:00:00,000 --> 00:00:00,250\nGood morning.\n\n2\n00:00:00,250 --> 00:00:00,400\nThank <you>.\n",
		"vtt":  "WEBVTT\n\n00:00:00.000 --> 00:00:00.250\nGood morning.\n\n00:00:00.250 --> 00:00:00.400\nThank &lt;you&gt;.\n",
	} {
		answer := hears(t, client, tone(t), "model", "whisper-1", "response_format", format)
		if answer.Status != http.StatusOK || string(answer.Body) != want || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %v", format, answer)
		}
	}
	plain := hears(t, client, tone(t), "model", "whisper-1", "prompt", "bees", "language", "en", "temperature", "0", "timestamp_granularities[]", "segment")
	if plain.Status != http.StatusOK || plain.JSON(t)["text"] != said {
		t.Errorf("json: %v", plain)
	}
	calls := r.speech.Calls()
	if last := calls[len(calls)-1].Fields; last.Get("prompt") != "bees" || last.Get("language") != "en" || last.Get("model") != "whisper-1" {
		t.Errorf("the engine was sent %v", last)
	}
	whole := hears(t, client, tone(t), "model", "whisper-1", "response_format", "verbose_json").JSON(t)
	if segments, _ := whole["segments"].([]any); len(segments) != 2 || whole["duration"].(float64) <= 0 || whole["language"] != "en" || whole["text"] != said {
		t.Errorf("verbose_json: %v", whole)
	}
	if left := filesLeft(t, r.environment); len(left) != 0 {
		t.Errorf("there stay %v", left)
	}
	reader := r.reader(t, "ada")
	if list := reader.Get("/api/v1/recordings").JSON(t); list["pagination"].(map[string]any)["total"] != 0.0 {
		t.Errorf("recordings were made: %v", list)
	}
	stands := used(t, reader)
	if len(stands.Entries) != 1 || stands.Entries[0].Operation != "transcription" || stands.Entries[0].Calls != 5 || stands.Account.Held != 0 {
		t.Errorf("the ledger has %+v", stands)
	}
	// Each is three seconds begun, by 60 cents a minute.
	if spent := stands.Account.Spent; spent < 0.1499 || spent > 0.1501 {
		t.Errorf("five tones cost %v, want 15 cents", spent)
	}
}

// What is not taken is refused, in OpenAI's form and before the engine hears anything; a file that is too long is measured
// by decoding it.
func TestWhatIsNotTranscribedAtOnce(t *testing.T) {
	t.Parallel()
	r := newOpenAIRig(t, nil)
	client, poor := r.caller(t, "ada", ""), r.caller(t, "poor", "0.005")
	long := filepath.Join(t.TempDir(), "long.wav")
	if err := asrtest.WriteBeeps(long, 3, 2*time.Second); err != nil {
		t.Fatal(err)
	}
	six, err := os.ReadFile(long)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		client *servertest.Client
		file   []byte
		fields []string
		status int
		code   string
	}{
		"six seconds":   {client, six, []string{"model", "whisper-1"}, 413, "payload_too_large"},
		"no sound":      {client, []byte("#EXTM3U\n/etc/passwd"), []string{"model", "whisper-1"}, 400, "invalid_media"},
		"an empty file": {client, nil, []string{"model", "whisper-1"}, 400, "invalid_media"},
		"over a MiB":    {client, make([]byte, 1<<20+1), []string{"model", "whisper-1"}, 413, "payload_too_large"},
		"no model":      {client, tone(t), nil, 400, "invalid_parameter"},
		"another model": {client, tone(t), []string{"model", "whisper-9"}, 404, "model_not_found"},
		"a text model":  {client, tone(t), []string{"model", "scripted"}, 404, "model_not_found"},
		"a form":        {client, tone(t), []string{"model", "whisper-1", "response_format", "xml"}, 400, "invalid_parameter"},
		"a stream":      {client, tone(t), []string{"model", "whisper-1", "stream", "true"}, 400, "invalid_parameter"},
		"words' times":  {client, tone(t), []string{"model", "whisper-1", "timestamp_granularities[]", "word"}, 400, "invalid_parameter"},
		"a long prompt": {client, tone(t), []string{"model", "whisper-1", "prompt", strings.Repeat("x", 10_001)}, 400, "invalid_parameter"},
		"a temperature": {client, tone(t), []string{"model", "whisper-1", "temperature", "NaN"}, 400, "invalid_parameter"},
		"without money": {poor, tone(t), []string{"model", "whisper-1"}, 402, "budget_exceeded"},
		"nor at all":    {poor, six, []string{"model", "whisper-1"}, 402, "budget_exceeded"},
	} {
		answer := hears(t, c.client, c.file, c.fields...)
		if object := openAIError(t, answer); answer.Status != c.status || object["code"] != c.code {
			t.Errorf("%s: %v, want %d %s", name, answer, c.status, c.code)
		}
	}
	if bound := openAIError(t, hears(t, client, six, "model", "whisper-1")); bound["max_seconds"] != 5.0 || !strings.Contains(bound["message"].(string), "5 seconds") {
		t.Errorf("the bound is told as %v", bound)
	}
	if calls := r.speech.Calls(); len(calls) != 0 {
		t.Errorf("the engine heard %d of them", len(calls))
	}
	r.speech.Script(asrtest.Fails(400), asrtest.Fails(500), asrtest.Fails(401))
	for range 2 {
		if answer := hears(t, client, tone(t), "model", "whisper-1"); answer.Status < 502 || openAIError(t, answer)["type"] != "server_error" {
			t.Errorf("the engine failed: %v", answer)
		}
	}
	if left := filesLeft(t, r.environment); len(left) != 0 {
		t.Errorf("there stay %v", left)
	}
}

// A caller that leaves takes its call along: the engine is left, its work is paid for, and the file is gone.
func TestACallerThatLeavesIsNotTranscribed(t *testing.T) {
	t.Parallel()
	r := newOpenAIRig(t, nil)
	client := r.caller(t, "ada", "1")
	r.speech.Always(func(asrtest.Call) asrtest.Reply { return asrtest.Reply{Hold: true} })
	body := strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n--x\r\n" +
		"Content-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n" + string(tone(t)) + "\r\n--x--\r\n")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, client.URL+transcriptionsPath, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = client.Header.Clone()
	request.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	left := make(chan struct{})
	go func() {
		defer close(left)
		if response, err := (&http.Client{Transport: &http.Transport{Proxy: nil}}).Do(request); err == nil {
			t.Errorf("it was answered %d", response.StatusCode)
			_ = response.Body.Close()
		}
	}()
	servertest.Eventually(t, time.Minute, "the engine is asked", func() bool { return r.speech.InFlight() == 1 })
	leave()
	<-left
	servertest.Eventually(t, 5*time.Second, "the engine is left", func() bool { return r.speech.Aborted() == 1 })
	reader := r.reader(t, "ada")
	servertest.Eventually(t, 5*time.Second, "it is settled and gone", func() bool {
		stands := used(t, reader)
		return len(filesLeft(t, r.environment)) == 0 && stands.Account.Held == 0 && len(stands.Entries) == 1
	})
}
