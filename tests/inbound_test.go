package tests

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/tests/servertest"
)

const recorderPath = "/api/v1/integrations/asr-voice-recorder/upload"

// Rule: one table a fact. The reasons of the guide are those of the code.
func TestGoldenImportReasonsOfTheGuide(t *testing.T) {
	t.Parallel()
	var rows [][]string
	for _, reason := range recordings.ImportReasons() {
		rows = append(rows, []string{"`" + reason.Code + "`", reason.Meaning})
	}
	expectSection(t, "imports.md", "import-reasons", table([]string{"code", "meaning"}, rows))
}

// recordBy posts a recorder's form, whose fields stand in this order; a file is called a.wav.
func recordBy(t testing.TB, client *servertest.Client, file []byte, fields ...string) servertest.Answer {
	t.Helper()
	var parts []part
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == "file" {
			parts = append(parts, filePart(fields[i+1], file))
			continue
		}
		parts = append(parts, fieldPart(fields[i], fields[i+1]))
	}
	contentType, body := form(t, parts...)
	return client.Call(http.MethodPost, recorderPath, bytes.NewReader(body), http.Header{"Content-Type": {contentType}})
}

// Rule: a recorder is who its secret says, wherever that stands in the form; every secret that opens nothing is one
// identical 401; the limits of its token and account bite, and a body is not read from an address without room.
// (Must show 6)
func TestRecorderOverTheWire(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(servertest.Environment{"API_TOKEN_RATE_LIMIT_WRITE": "4 per minute", "API_USER_RATE_LIMIT_WRITE": "5 per minute"})
	process, owner := signedUp(t, environment)
	anyone := process.Client("")
	secret := servertest.CreateToken(t, environment, "ada@example.org", "upload")

	if test := recordBy(t, anyone, nil, "secret", secret); test.Status != http.StatusOK || test.JSON(t)["connection_test"] != true {
		t.Fatalf("the connection test: %v", test)
	}
	var ids []any
	for _, fields := range [][]string{{"secret", secret, "file", "a.wav"}, {"file", "a.wav", "secret", secret}} {
		answer := recordBy(t, anyone, tone(t), fields...)
		body := answer.JSON(t)
		if answer.Status != http.StatusOK || body["idempotent_replay"] != (len(ids) == 1) || body["title"] != nil || body["status"] == nil {
			t.Errorf("%s first: %v", fields[0], answer)
		}
		ids = append(ids, body["id"])
	}
	if ids[0] != ids[1] {
		t.Errorf("two recordings: %v", ids)
	}
	if metadata := recordBy(t, anyone, nil, "secret", secret, "note", "x"); metadata.Code() != "invalid_parameter" {
		t.Errorf("a note without a file: %v", metadata)
	}
	if limited := recordBy(t, anyone, tone(t), "secret", secret, "file", "b.wav"); limited.Code() != "token_rate_limit_exceeded" {
		t.Errorf("a fifth request of the token: %v", limited)
	}
	other := servertest.CreateToken(t, environment, "ada@example.org", "upload")
	if last := recordBy(t, anyone, nil, "secret", other); last.Status != http.StatusOK {
		t.Errorf("a fifth request of the account: %v", last)
	}
	if limited := recordBy(t, anyone, tone(t), "secret", other, "file", "b.wav"); limited.Code() != "account_rate_limit_exceeded" {
		t.Errorf("a sixth request of the account: %v", limited)
	}
	var told string
	for name, fields := range map[string][]string{
		"no secret":        {"file", "a.wav"},
		"a cookie's token": {"file", "a.wav", "secret", "x"},
		"another's scope":  {"secret", servertest.CreateToken(t, environment, "ada@example.org", "read"), "file", "a.wav"},
	} {
		answer := recordBy(t, owner, tone(t), fields...)
		if told == "" {
			told = string(answer.Body)
		}
		if answer.Status != http.StatusUnauthorized || string(answer.Body) != told {
			t.Errorf("%s: %v, others are told %s", name, answer, told)
		}
	}
	expectUnreadBody(t, process)
	if total := owner.Get("/api/v1/recordings").JSON(t)["pagination"].(map[string]any)["total"]; total != 1.0 {
		t.Errorf("%v recordings, want one", total)
	}
}

// expectUnreadBody declares 500 MB and sends none of it, from an address that has used up its room.
func expectUnreadBody(t *testing.T, process *servertest.Process) {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(process.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	_ = connection.SetDeadline(time.Now().Add(20 * time.Second))
	_, err = fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n", recorderPath, 500<<20)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatalf("nothing was answered before the body: %v", err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") == "" {
		t.Errorf("before the body: %d %v", answer.StatusCode, answer.Header)
	}
}

// delivery is a signed request.
func delivery(client *servertest.Client, hook, secret, id string, file []byte, changes ...func(http.Header)) servertest.Answer {
	now := fmt.Sprint(time.Now().Unix())
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%s.%s.%s", id, now, file)
	header := http.Header{
		"X-Delivery-Id": {id}, "X-Timestamp": {now}, "X-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))},
	}
	for _, change := range changes {
		change(header)
	}
	return client.Call(http.MethodPost, hook, bytes.NewReader(file), header)
}

// Rule: a captured delivery makes nothing again, whatever of it is changed; old and new secret count during a rotation,
// none of an integration that is off, deleted, or of a disabled account. (H-056)
func TestSignedHooksOverTheWire(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, w *world) {
		ada := w.account(t, "ada")
		made := ada.Send(http.MethodPost, "/api/v1/integrations", map[string]any{"name": "Room"}).JSON(t)
		address, secret := at("/api/v1/integrations/%d", recordingID(t, made)), made["secret"].(string)
		hook, anyone := "/hooks/"+made["public_id"].(string), w.process.Client("")
		first := delivery(anyone, hook, secret, "d-1", talk(1))
		if first.Status != http.StatusAccepted || first.JSON(t)["already_accepted"] != false {
			t.Fatalf("a delivery: %v", first)
		}
		if again := delivery(anyone, hook, secret, "d-1", talk(1)); again.Status != http.StatusOK || again.JSON(t)["recording_id"] != first.JSON(t)["recording_id"] {
			t.Errorf("the same again: %v", again)
		}
		forged := delivery(anyone, hook, secret, "d-1", talk(1), func(h http.Header) { h.Set("X-Delivery-Id", "d-2") })
		if forged.Status != http.StatusUnauthorized {
			t.Errorf("the same under another id: %v", forged)
		}
		ada.AwaitStatus(int64(first.JSON(t)["recording_id"].(float64)), time.Minute, "COMPLETED")
		if calls := len(w.provider.Calls()); calls != 1 {
			t.Errorf("the provider was asked %d times, want once", calls)
		}
		fresh := ada.Send(http.MethodPost, address+"/rotate", map[string]any{"overlap_hours": 1}).JSON(t)["secret"].(string)
		for name, secret := range map[string]string{"old": secret, "new": fresh} {
			if answer := delivery(anyone, hook, secret, "d-"+name, talk(2)); answer.Status != http.StatusAccepted {
				t.Errorf("the %s secret: %v", name, answer)
			}
		}
		for _, off := range []func(){
			func() { ada.Send(http.MethodPost, address+"/rotate", map[string]any{"overlap_hours": 0}) },
			func() {
				fresh = ada.Send(http.MethodPost, address+"/rotate", map[string]any{}).JSON(t)["secret"].(string)
				ada.Send(http.MethodPatch, address, map[string]any{"enabled": false})
			},
			func() {
				ada.Send(http.MethodPatch, address, map[string]any{"enabled": true})
				w.exec(t, "UPDATE users SET disabled_at = CURRENT_TIMESTAMP WHERE email = 'ada@example.org'")
			},
			func() {
				w.exec(t, "UPDATE users SET disabled_at = NULL WHERE email = 'ada@example.org'")
				servertest.Eventually(t, 10*time.Second, "the account is back", func() bool { return ada.Get("/api/v1/users/me").Status == http.StatusOK })
				ada.Send(http.MethodDelete, address, nil)
			},
		} {
			off()
			if answer := delivery(anyone, hook, fresh, "d-9", talk(3)); answer.Status != http.StatusUnauthorized || string(answer.Body) != string(forged.Body) {
				t.Errorf("what does not count any more: %v, want %s", answer, forged.Body)
			}
		}
		if strings.Contains(w.process.Logs(), secret) || strings.Contains(w.process.Logs(), hook) {
			t.Error("a secret, or the address of a hook, is in the logs")
		}
	})
}

// Rule: an import survives a kill -9: the server that is back fetches the file anew, once, and nothing of the first
// attempt is left.
func TestAnImportSurvivesAKill(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, w *world) {
		w.environment["WEBHOOK_INTRANET_HOST_ALLOWLIST"] = `127\.0\.0\.1`
		ada := w.account(t, "ada")
		var mu sync.Mutex // guards asked
		asked, file := 0, talk(1)
		half := make(chan struct{})
		files := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
			mu.Lock()
			asked++
			first := asked == 1
			mu.Unlock()
			answer.Header().Set("Content-Length", fmt.Sprint(len(file)))
			_, _ = answer.Write(file[:len(file)/2])
			if first {
				_ = http.NewResponseController(answer).Flush()
				close(half)
				<-request.Context().Done()
				return
			}
			_, _ = answer.Write(file[len(file)/2:])
		}))
		t.Cleanup(files.Close)
		w.restart(t, ada, "100")
		answer := ada.Send(http.MethodPost, "/api/v1/recordings/import", map[string]any{"url": files.URL + "/talk.wav?key=hidden", "title": "Talk"})
		if answer.Status != http.StatusAccepted || answer.JSON(t)["status"] != "PENDING" {
			t.Fatalf("an import: %v", answer)
		}
		id := recordingID(t, answer.JSON(t))
		select {
		case <-half:
		case <-time.After(time.Minute):
			t.Fatal("the file was never asked for")
		}
		servertest.Eventually(t, time.Minute, "the progress is told", func() bool {
			progress, _ := ada.Get(at("/api/v1/recordings/%d/status", id)).JSON(t)["import"].(map[string]any)
			return progress["total_bytes"] == float64(len(file)) && progress["received_bytes"].(float64) > 0
		})
		if strings.Contains(w.process.Logs(), "hidden") {
			t.Error("the address is in the logs")
		}
		w.restart(t, ada, "100")
		ada.AwaitStatus(id, time.Minute, "COMPLETED")
		if total(t, ada) != 1 || asked != 2 || len(w.provider.Calls()) != 1 {
			t.Errorf("%v recordings, the file was asked for %d times, the provider %d", total(t, ada), asked, len(w.provider.Calls()))
		}
	})
}
