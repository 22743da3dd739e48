package tests

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/servertest"
)

// unkept makes a database refuse to keep the answer of a key, as if the server had ended just before it.
var unkept = map[string]struct{ begin, end string }{
	"sqlite": {
		"CREATE TRIGGER unkept BEFORE UPDATE OF status ON idempotency_keys BEGIN SELECT RAISE(ABORT, 'unkept'); END",
		"DROP TRIGGER unkept",
	},
	"postgres": {
		"CREATE FUNCTION unkept() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'unkept'; END $$; " +
			"CREATE TRIGGER unkept BEFORE UPDATE OF status ON idempotency_keys FOR EACH ROW EXECUTE FUNCTION unkept()",
		"DROP TRIGGER unkept ON idempotency_keys",
	},
}

// Rule: a retry is never billed twice. The server is killed when it has made the recording, and the job, and nobody has
// its answer: whoever sends the same again gets that recording and that job, and the provider is asked once.
func TestARetryAfterAKillMakesOneRecordingAndOneJob(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, w *world) {
		w.environment["HTTP_HANDLER_TIMEOUT_SECONDS"] = "1" // a dead server's claim is believed in for ten seconds more
		ada := w.account(t, "kill")
		id := finished(t, ada, nil)
		w.restart(t, ada, "0") // jobs wait: each is asked of the provider once, after the last start
		trigger := unkept[t.Name()[strings.LastIndex(t.Name(), "/")+1:]]
		w.exec(t, trigger.begin)

		contentType, body := form(t, filePart("other.wav", talk(1)))
		transcribe := row{method: "POST", path: at("/api/v1/recordings/%d/transcribe", id), body: `{"hotwords":"GDPR"}`}
		w.sendUnheard(t, ada, "POST", transcribe.path, "application/json", "k", []byte(`{"hotwords":"GDPR"}`))
		servertest.Eventually(t, time.Minute, "the answer could not be kept", func() bool {
			return containsAll(w.process.Logs(), "an idempotency key could not be settled")
		})
		ada.AwaitStatus(id, time.Minute, "QUEUED")
		w.exec(t, trigger.end)
		w.sendUnheard(t, ada, "POST", "/api/v1/recordings/upload", contentType, "u", body)
		uploaded := onlyOther(t, ada, id)
		w.restart(t, ada, "0")

		transcribe.header = http.Header{"Idempotency-Key": {"k"}}
		first := settledAnswer(t, func() servertest.Answer { return transcribe.send(t, ada) })
		again := transcribe.send(t, ada)
		if first.Status != http.StatusOK || string(again.Body) != string(first.Body) {
			t.Errorf("the retry: %v, and again: %v", first, again)
		}
		retry := ada.Call(http.MethodPost, "/api/v1/recordings/upload", bytes.NewReader(body), http.Header{"Content-Type": {contentType}, "Idempotency-Key": {"u"}})
		expectForm(t, retry, some{"id": uploaded, "idempotent_replay": true})

		calls := len(w.provider.Calls())
		w.restart(t, ada, "100")
		ada.AwaitStatus(id, time.Minute, "COMPLETED")
		ada.AwaitStatus(uploaded, time.Minute, "COMPLETED")
		if made := len(w.provider.Calls()) - calls; made != 2 || onlyOther(t, ada, id) != uploaded {
			t.Errorf("the provider was asked %d times for two recordings", made)
		}
		cutUploads(t, w, ada)
	})
}

// cutUploads kills the server while the file is being sent: nothing is there, and the retry makes one.
func cutUploads(t *testing.T, w *world, ada *servertest.Client) {
	t.Helper()
	before := total(t, ada)
	contentType, body := form(t, filePart("cut.wav", talk(2)))
	w.sendPart(t, ada, "POST", "/api/v1/recordings/upload", contentType, "cut", body, len(body)/2)
	w.restart(t, ada, "100")
	if now := total(t, ada); now != before {
		t.Errorf("%v recordings after half an upload, want %v", now, before)
	}
	for _, want := range []int{http.StatusAccepted, http.StatusOK} {
		answer := ada.Call(http.MethodPost, "/api/v1/recordings/upload", bytes.NewReader(body), http.Header{"Content-Type": {contentType}, "Idempotency-Key": {"cut"}})
		if answer.Status != want {
			t.Errorf("sent again: %v, want %d", answer, want)
		}
	}
	if now := total(t, ada); now != before+1 {
		t.Errorf("%v recordings, want %v", now, before+1)
	}
}

// restart kills the server and starts it anew, with room for so many jobs at once.
func (w *world) restart(t *testing.T, client *servertest.Client, jobs string) {
	t.Helper()
	w.process.Kill()
	w.process = servertest.Start(t, w.environment.With(servertest.Environment{"JOBS_MAX_CONCURRENT_PER_ORG": jobs}))
	client.URL = w.process.URL
}

// sendUnheard sends a request and never reads its answer.
func (w *world) sendUnheard(t *testing.T, client *servertest.Client, method, path, contentType, key string, body []byte) {
	t.Helper()
	w.sendPart(t, client, method, path, contentType, key, body, len(body))
}

// sendPart sends a request with so many bytes of its body; the connection stays open until the test ends.
func (w *world) sendPart(t *testing.T, client *servertest.Client, method, path, contentType, key string, body []byte, bytes int) {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(w.process.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	_, err = fmt.Fprintf(connection, "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Type: %s\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
		method, path, client.Header.Get("Authorization"), contentType, key, len(body), body[:bytes])
	if err != nil {
		t.Fatal(err)
	}
}

// settledAnswer asks until the key of a dead server is free; what it is told meanwhile is that it is being worked on.
func settledAnswer(t *testing.T, ask func() servertest.Answer) (answer servertest.Answer) {
	t.Helper()
	servertest.Eventually(t, 30*time.Second, "the key is free", func() bool {
		answer = ask()
		if answer.Status == http.StatusConflict && (answer.Code() != "idempotency_in_progress" || answer.Header.Get("Retry-After") == "") {
			t.Fatalf("while the key is held: %v with Retry-After %q", answer, answer.Header.Get("Retry-After"))
		}
		return answer.Status != http.StatusConflict
	})
	return answer
}

// onlyOther waits until the account has two recordings, and gives the one that is not id.
func onlyOther(t *testing.T, client *servertest.Client, id int64) (other int64) {
	t.Helper()
	servertest.Eventually(t, time.Minute, "there are two recordings", func() bool { return total(t, client) == 2 })
	for _, listed := range client.Get("/api/v1/recordings").JSON(t)["recordings"].([]any) {
		if found := recordingID(t, listed.(map[string]any)); found != id {
			other = found
		}
	}
	return other
}

func total(t *testing.T, client *servertest.Client) float64 {
	t.Helper()
	return client.Get("/api/v1/recordings").JSON(t)["pagination"].(map[string]any)["total"].(float64)
}
