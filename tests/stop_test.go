package tests

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
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
