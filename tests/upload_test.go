package tests

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/servertest"
)

// quiet lets a test send as many requests as it likes.
func quiet(t testing.TB) servertest.Environment {
	return servertest.Fresh(t).With(servertest.Environment{
		"API_TOKEN_RATE_LIMIT_READ": "0", "API_TOKEN_RATE_LIMIT_WRITE": "0", "API_TOKEN_RATE_LIMIT_PROCESS": "0",
		"API_USER_RATE_LIMIT_READ": "0", "API_USER_RATE_LIMIT_WRITE": "0", "API_USER_RATE_LIMIT_PROCESS": "0",
		"SESSION_RATE_LIMIT": "0", "AUTH_FAILURE_RATE_LIMIT": "0", "API_STATUS_RATE_LIMIT": "0",
		"RATE_LIMIT_AI_PER_USER_PER_MINUTE": "0", "RATE_LIMIT_AI_PER_ORG_PER_MINUTE": "0", "RATE_LIMIT_AI_PER_IP_PER_MINUTE": "0",
	})
}

// deaf is quiet, and the embedded engine hears nothing, at once: where what it would hear is not what is tested. To load
// its model costs more than all the rest of an upload.
func deaf(t testing.TB) servertest.Environment {
	t.Helper()
	nothing, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Symlink(nothing, filepath.Join(folder, "pocketsphinx_batch")); err != nil {
		t.Fatal(err)
	}
	return quiet(t).With(servertest.Environment{"PATH": folder + string(os.PathListSeparator) + os.Getenv("PATH")})
}

// signedUp is one process with one account and a full token.
func signedUp(t testing.TB, environment servertest.Environment) (*servertest.Process, *servertest.Client) {
	t.Helper()
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	return process, process.Client(servertest.CreateToken(t, environment, "ada@example.org"))
}

// filesLeft lists what the server keeps on disk for recordings and temporary work.
func filesLeft(t testing.TB, environment servertest.Environment) []string {
	t.Helper()
	var left []string
	for _, folder := range []string{"files", "tmp"} {
		err := filepath.WalkDir(filepath.Join(environment["DATA_DIR"], folder), func(path string, entry os.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				left = append(left, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return left
}

// expectNothingLeft waits until no file of a refused upload is left and no recording is listed.
func expectNothingLeft(t *testing.T, environment servertest.Environment, client *servertest.Client) {
	t.Helper()
	servertest.Eventually(t, 10*time.Second, "nothing of the upload is left on disk", func() bool {
		return len(filesLeft(t, environment)) == 0
	})
	if total := client.Get("/api/v1/recordings").JSON(t)["pagination"].(map[string]any)["total"]; total != 0.0 {
		t.Errorf("%v recordings are listed, want none", total)
	}
}

// part is one part of a form, with the headers as they are sent.
type part struct {
	disposition, contentType string
	content                  io.Reader
}

func filePart(name string, content []byte) part {
	return part{fmt.Sprintf(`form-data; name="file"; filename=%q`, name), "application/octet-stream", bytes.NewReader(content)}
}

func fieldPart(name, value string) part {
	return part{fmt.Sprintf(`form-data; name=%q`, name), "", strings.NewReader(value)}
}

func form(t testing.TB, parts ...part) (contentType string, body []byte) {
	t.Helper()
	var buffer bytes.Buffer
	writer := multipart.NewWriter(&buffer)
	for _, p := range parts {
		header := textproto.MIMEHeader{"Content-Disposition": {p.disposition}}
		if p.contentType != "" {
			header.Set("Content-Type", p.contentType)
		}
		w, err := writer.CreatePart(header)
		if err == nil {
			_, err = io.Copy(w, p.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return writer.FormDataContentType(), buffer.Bytes()
}

func post(t testing.TB, client *servertest.Client, parts ...part) servertest.Answer {
	t.Helper()
	contentType, body := form(t, parts...)
	return client.Call(http.MethodPost, "/api/v1/recordings/upload", bytes.NewReader(body), http.Header{"Content-Type": {contentType}})
}

// Rule: bad input gets a clear JSON error, and nothing is lost or half done (H-057, H-060, H-061).
func TestBadUploadsAreRefusedAndLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	environment := deaf(t).With(servertest.Environment{"MAX_UPLOAD_MB": "1"})
	_, client := signedUp(t, environment)
	movie := encode(t, "cut.mp4", "-c:a", "aac")
	many := make([]part, 0, 152)
	for i := range 151 {
		many = append(many, fieldPart(fmt.Sprintf("field%d", i), "x"))
	}
	for _, row := range []struct {
		name   string
		status int
		code   string
		parts  []part
	}{
		{"no file part", 400, "invalid_parameter", []part{fieldPart("title", "x")}},
		{"an empty form", 400, "", nil},
		{"a file sent as a plain field", 400, "invalid_parameter", []part{fieldPart("file", "hello")}},
		{"an empty file", 400, "invalid_media", []part{filePart("a.mp3", nil)}},
		{"five bytes", 400, "invalid_media", []part{filePart("a.webm", []byte("\x1aE\xdf\xa3\x01"))}},
		{"text named .mp3", 400, "invalid_media", []part{filePart("a.mp3", []byte(strings.Repeat("This is no music. ", 200)))}},
		{"a truncated mp4", 400, "invalid_media", []part{filePart("a.mp4", movie[:len(movie)/2])}},
		{"a playlist named .m4a", 400, "invalid_media", []part{filePart("a.m4a", []byte("#EXTM3U\n#EXTINF:3,\nfile:///etc/passwd\n"))}},
		{"a picture named .mp3", 400, "invalid_media", []part{filePart("a.mp3", picture())}},
		{"two files", 400, "invalid_parameter", []part{filePart("a.wav", tone(t)), filePart("b.wav", tone(t))}},
		{"a file over the bound", 413, "payload_too_large", []part{filePart("a.wav", make([]byte, 1<<20+1))}},
		{"fields over their bound", 413, "payload_too_large", []part{fieldPart("notes", strings.Repeat("x", 1<<20+1)), filePart("a.wav", tone(t))}},
		{"too many parts", 413, "payload_too_large", append(many, filePart("a.wav", tone(t)))},
		{"a title that is too long", 400, "invalid_parameter", []part{fieldPart("title", strings.Repeat("x", 201)), filePart("a.wav", tone(t))}},
	} {
		t.Run(row.name, func(t *testing.T) {
			answer := post(t, client, row.parts...)
			body := answer.JSON(t)
			if answer.Status != row.status || row.code != "" && body["code"] != row.code {
				t.Errorf("got %v, want %d %s", answer, row.status, row.code)
			}
			if text, _ := body["error"].(string); text == "" {
				t.Errorf("the answer has no error sentence: %v", answer)
			}
			expectNothingLeft(t, environment, client)
		})
	}
}

// picture is the head of a PNG.
func picture() []byte {
	return append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde"), make([]byte, 600)...)
}

// Rule: what a body claims of itself is judged before it is read, and the wrong kind of body is 415.
func TestBodiesOfTheWrongKindAreRefused(t *testing.T) {
	t.Parallel()
	environment := deaf(t)
	_, client := signedUp(t, environment)
	contentType, body := form(t, filePart("a.wav", tone(t)))
	for _, row := range []struct {
		name, code string
		status     int
		header     http.Header
	}{
		{"JSON", "unsupported_media_type", 415, http.Header{"Content-Type": {"application/json"}}},
		{"no content type", "unsupported_media_type", 415, http.Header{}},
		{"no boundary", "", 400, http.Header{"Content-Type": {"multipart/form-data"}}},
		{"an encoded body", "unsupported_media_type", 415, http.Header{"Content-Type": {contentType}, "Content-Encoding": {"gzip"}}},
	} {
		answer := client.Call(http.MethodPost, "/api/v1/recordings/upload", bytes.NewReader(body), row.header)
		if answer.Status != row.status || row.code != "" && answer.Code() != row.code {
			t.Errorf("%s: got %v, want %d %s", row.name, answer, row.status, row.code)
		}
		answer.JSON(t)
	}
	expectNothingLeft(t, environment, client)
}

// Rule: 413 as soon as it is known. A declared length over the bound is refused before a byte of it is read, and a
// chunked body shortly after the bound (H-057).
func TestAnUploadOverTheBoundIsRefusedAsSoonAsItIsKnown(t *testing.T) {
	t.Parallel()
	environment := deaf(t).With(servertest.Environment{"MAX_UPLOAD_MB": "10"})
	process, client := signedUp(t, environment)
	token := client.Header.Get("Authorization")

	t.Run("declared", func(t *testing.T) {
		answer := raw(t, process, "POST /api/v1/recordings/upload HTTP/1.1\r\nHost: x\r\nAuthorization: "+token+
			"\r\nContent-Type: multipart/form-data; boundary=b\r\nExpect: 100-continue\r\nContent-Length: 2147483648\r\n\r\n", nil)
		if !strings.HasPrefix(answer, "HTTP/1.1 413 ") || !containsAll(answer, `"payload_too_large"`, `"max_size_mb":10`, `"audio_only_mode":false`) {
			t.Errorf("got %.600s, want 413 payload_too_large in the contract's form", answer)
		}
	})
	t.Run("chunked", func(t *testing.T) {
		sent := &counter{limit: 2 << 30}
		head := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n"
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, process.URL+"/api/v1/recordings/upload",
			io.MultiReader(strings.NewReader(head), sent))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", token)
		request.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			defer response.Body.Close()
			if response.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("got %d, want 413", response.StatusCode)
			}
		}
		if taken := sent.n.Load(); taken > 64<<20 {
			t.Errorf("%d MiB were taken before the refusal, want little more than 10", taken>>20)
		}
	})
	expectNothingLeft(t, environment, client)
}

// counter is a body of zeros that counts what was taken of it.
type counter struct {
	n     atomic.Int64 // read while the transport may still send
	limit int64
}

func (c *counter) Read(p []byte) (int, error) {
	if c.n.Load() >= c.limit {
		return 0, io.EOF
	}
	clear(p)
	c.n.Add(int64(len(p)))
	return len(p), nil
}

// raw sends bytes as they are and returns what the server answers until it closes or falls silent.
func raw(t testing.TB, process *servertest.Process, head string, then func(net.Conn)) string {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(process.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, head); err != nil {
		t.Fatal(err)
	}
	if then != nil {
		then(connection)
	}
	_ = connection.SetReadDeadline(time.Now().Add(10 * time.Second))
	buffer := make([]byte, 8192)
	var answer strings.Builder
	for {
		n, err := connection.Read(buffer)
		answer.Write(buffer[:n])
		if err != nil || strings.Contains(answer.String(), "}\n") {
			return answer.String()
		}
	}
}

// Rule: a client that stops mid-upload leaves nothing behind, whether it goes or falls silent; silence is 408.
func TestAClientThatStopsMidUploadLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	environment := deaf(t).With(servertest.Environment{"UPLOAD_STALL_TIMEOUT_SECONDS": "1"})
	process, client := signedUp(t, environment)
	head := "POST /api/v1/recordings/upload HTTP/1.1\r\nHost: x\r\nAuthorization: " + client.Header.Get("Authorization") +
		"\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000000\r\n\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n" + strings.Repeat("x", 1000)

	t.Run("gone", func(t *testing.T) {
		raw(t, process, head, func(c net.Conn) { _ = c.Close() })
		expectNothingLeft(t, environment, client)
	})
	t.Run("silent", func(t *testing.T) {
		answer := raw(t, process, head, nil)
		if !strings.HasPrefix(answer, "HTTP/1.1 408 ") || !strings.Contains(answer, `"request_timeout"`) {
			t.Errorf("got %.300s, want 408 request_timeout", answer)
		}
		expectNothingLeft(t, environment, client)
	})
	t.Run("cut short by its declared length", func(t *testing.T) {
		contentType, body := form(t, filePart("a.wav", tone(t)))
		cut := fmt.Sprintf("POST /api/v1/recordings/upload HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Type: %s\r\nContent-Length: 5\r\nConnection: close\r\n\r\n%s",
			client.Header.Get("Authorization"), contentType, body[:5])
		answer := raw(t, process, cut, nil)
		if !strings.HasPrefix(answer, "HTTP/1.1 400 ") || !strings.Contains(answer, `"error"`) {
			t.Errorf("got %.300s, want 400", answer)
		}
		expectNothingLeft(t, environment, client)
	})
}

// Rule: form fields may stand before or after the file; authentication never depends on them (H-058).
func TestFieldsBeforeAndAfterTheFileMakeTheSameRecording(t *testing.T) {
	t.Parallel()
	_, client := signedUp(t, deaf(t))
	fields := []part{fieldPart("title", "Standup"), fieldPart("language", "en"), fieldPart("notes", "n")}
	before := post(t, client, append(append([]part{}, fields...), filePart("a.wav", tone(t)))...)
	fields = []part{fieldPart("title", "Standup"), fieldPart("language", "en"), fieldPart("notes", "n")}
	after := post(t, client, append([]part{filePart("a.wav", tone(t))}, fields...)...)
	for _, answer := range []servertest.Answer{before, after} {
		if answer.Status != http.StatusAccepted {
			t.Fatalf("got %v, want 202", answer)
		}
		if body := answer.JSON(t); body["title"] != "Standup" || body["notes"] != "n" {
			t.Errorf("got title %v and notes %v", body["title"], body["notes"])
		}
	}
}

// Rule: of a field that is sent twice the first counts, as in the contract's server.
func TestOfAFieldSentTwiceTheFirstCounts(t *testing.T) {
	t.Parallel()
	_, client := signedUp(t, deaf(t))
	answer := post(t, client, fieldPart("title", "first"), fieldPart("title", "second"), filePart("a.wav", tone(t)))
	if answer.Status != http.StatusAccepted || answer.JSON(t)["title"] != "first" {
		t.Errorf("got %v, want 202 with the first title", answer)
	}
}

// Rule: content follows its scope. An upload-only token sees what it made, but no titles and texts.
func TestAnUploadOnlyTokenSeesNoTitles(t *testing.T) {
	t.Parallel()
	environment := deaf(t)
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	client := process.Client(servertest.CreateToken(t, environment, "ada@example.org", "upload"))
	answer := post(t, client, fieldPart("title", "Secret plans"), filePart("secret.wav", tone(t)))
	if answer.Status != http.StatusAccepted {
		t.Fatalf("got %v, want 202", answer)
	}
	body := answer.JSON(t)
	for _, field := range []string{"title", "original_filename", "notes", "transcription", "summary"} {
		if value, there := body[field]; !there || value != nil {
			t.Errorf("%s is %v, want null", field, value)
		}
	}
	if strings.Contains(string(answer.Body), "ecret") {
		t.Errorf("the answer shows the title or the name: %s", answer.Body)
	}
}
