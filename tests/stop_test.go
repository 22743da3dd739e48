package tests

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule: an orderly stop loses no work, also when a client keeps an upload open for longer than the stop may last: the
// running job is back in the queue, and nothing of the upload stays.
func TestAnUploadThatHangsDoesNotSpoilTheStop(t *testing.T) {
	t.Parallel()
	service := asrtest.New(t)
	service.Script(asrtest.Reply{Hold: true})
	environment := quiet(t).With(servertest.Environment{
		"TRANSCRIPTION_BASE_URL": service.BaseURL(), "TRANSCRIPTION_API_KEY": "sk-test", "SHUTDOWN_TIMEOUT_SECONDS": "4",
	})
	process, client := signedUp(t, environment)
	id := recordingID(t, client.Upload("tone.wav", tone(t), nil).JSON(t))
	servertest.Eventually(t, 30*time.Second, "the service is asked", func() bool { return service.InFlight() == 1 })
	before := len(filesLeft(t, environment))

	hanging, err := net.Dial("tcp", strings.TrimPrefix(process.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer hanging.Close()
	_, err = io.WriteString(hanging, "POST /api/v1/recordings/upload HTTP/1.1\r\nHost: x\r\nAuthorization: "+client.Header.Get("Authorization")+
		"\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000000\r\n\r\n"+
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n"+strings.Repeat("x", 1000))
	if err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, 10*time.Second, "the upload has begun", func() bool { return len(filesLeft(t, environment)) > before })
	began := time.Now()
	_ = process.Stop() // that a request was cut off may be told
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the stop took %v, it was given 4 s", took)
	}
	for _, file := range filesLeft(t, environment) {
		if strings.HasSuffix(file, ".tmp") || strings.Contains(file, filepath.Join("data", "tmp")) {
			t.Errorf("%s is left", file)
		}
	}
	again := servertest.Start(t, environment)
	client.URL = again.URL
	client.AwaitStatus(id, 30*time.Second, "COMPLETED")
	if strings.Contains(again.Logs(), "processes died") {
		t.Errorf("the stopped process had to be taken for dead:\n%s", again.Logs())
	}
}

// Rule: who waits for a model when the server stops is told so, and the call is settled: an answer that takes longer than
// the stop may last is given up, and that is no failure of the stop.
func TestWhoWaitsForAModelIsToldOfTheStop(t *testing.T) {
	t.Parallel()
	r := streamRig(t, "", servertest.Environment{"SHUTDOWN_TIMEOUT_SECONDS": "2"})
	client, id := r.payer(t, "patient", "none")
	r.model.Always(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Hold: true} })
	answers := make(chan servertest.Answer, 1)
	go func() {
		answer, err := client.Do("POST", fmt.Sprintf("/api/v1/recordings/%d/chat", id), strings.NewReader(`{"message":"Who keeps bees?"}`),
			http.Header{"Content-Type": {"application/json"}})
		if err != nil {
			t.Error(err)
		}
		answers <- answer
	}()
	servertest.Eventually(t, 30*time.Second, "the model is asked", func() bool { return r.model.InFlight() == 1 })
	if err := r.process.Stop(); err != nil {
		t.Errorf("the stop failed: %v", err)
	}
	answer := <-answers
	if answer.Status != http.StatusServiceUnavailable || answer.Code() != "server_stopping" || answer.Header.Get("Retry-After") == "" {
		t.Errorf("told %v, want 503 server_stopping with a wait", answer)
	}
	r.process = servertest.Start(t, r.environment)
	client.URL = r.process.URL
	if held := used(t, client).Account.Held; held != 0 {
		t.Errorf("%v is held", held)
	}
}

// Rule: a server that cannot store files is not ready.
func TestAServerWithoutItsFilesIsNotReady(t *testing.T) {
	t.Parallel()
	environment := quiet(t)
	process, client := signedUp(t, environment)
	files := filepath.Join(environment["DATA_DIR"], "files")
	if err := os.Rename(files, files+".away"); err != nil {
		t.Fatal(err)
	}
	answer := client.Get("/readyz")
	if answer.Status != http.StatusServiceUnavailable || !strings.Contains(string(answer.Body), "file storage") {
		t.Errorf("got %v, want 503 with the fault", answer)
	}
	if strings.Contains(string(answer.Body), files) {
		t.Errorf("the answer tells where the files are: %v", answer)
	}
	if err := os.Rename(files+".away", files); err != nil {
		t.Fatal(err)
	}
	process.AwaitReady()
}
