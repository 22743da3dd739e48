package tests

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/jobstest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// world is one built server with quiet limits on one database, and the transcription service that it calls.
type world struct {
	environment servertest.Environment
	process     *servertest.Process
	provider    *asrtest.Server
}

// onBothDatabases gives the test a server on each database, both at the same time and far from UTC: no clock may show
// that. Starting one takes a second, so that the tables share it; each has accounts of its own.
func onBothDatabases(t *testing.T, test func(t *testing.T, w *world), further ...servertest.Environment) {
	t.Helper()
	zones := map[string]string{"sqlite": "America/Los_Angeles", "postgres": "Asia/Tokyo"}
	for name, address := range jobstest.Migrated.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := asrtest.New(t)
			environment := quiet(t).With(lively).With(servertest.Environment{
				"DATABASE_URL": address(t), "SECRET_KEY": "0123456789abcdef0123456789abcdef", "TZ": zones[name],
				"ASR_BASE_URL": provider.ASRBaseURL(), "API_SEARCH_RATE_LIMIT": "0", "API_MAX_TOKENS_PER_USER": "0",
				"RECORDING_CHANGES_SETTLE_MILLISECONDS": "10", "JOBS_MAX_CONCURRENT_PER_ORG": "100",
			})
			for _, settings := range further {
				environment = environment.With(settings)
			}
			test(t, &world{environment, servertest.Start(t, environment), provider})
		})
	}
}

// account makes an account and a token of it; without scopes it is full.
func (w *world) account(t *testing.T, name string, scopes ...string) *servertest.Client {
	t.Helper()
	servertest.CreateUser(t, w.environment, name+"@example.org")
	return w.token(t, name, scopes...)
}

// token makes a further token of an account.
func (w *world) token(t *testing.T, name string, scopes ...string) *servertest.Client {
	t.Helper()
	client := servertest.ClientOf(t, w.process.URL)
	client.Header.Set("Authorization", "Bearer "+servertest.CreateToken(t, w.environment, name+"@example.org", scopes...))
	return client
}

// exec changes the server's database behind its back.
func (w *world) exec(t *testing.T, statement string) {
	t.Helper()
	db := modelstest.Open(t, w.environment["DATABASE_URL"], false)
	if err := db.Transaction(t.Context(), func(tx *gorm.DB) error { return tx.Exec(statement).Error }); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// finished uploads a recording and waits until it is done.
func finished(t *testing.T, client *servertest.Client, fields map[string]string) int64 {
	t.Helper()
	id := waiting(t, client, fields)
	client.AwaitStatus(id, 60*time.Second, "COMPLETED", "FAILED")
	return id
}

// waiting uploads a recording.
func waiting(t *testing.T, client *servertest.Client, fields map[string]string) int64 {
	t.Helper()
	answer := client.Upload("talk.wav", talk(0), fields)
	if answer.Status != http.StatusAccepted {
		t.Fatalf("upload: %v, want 202", answer)
	}
	return recordingID(t, answer.JSON(t))
}

// talk is three seconds of 16 kHz WAV; each variant has other bytes.
func talk(variant int16) []byte {
	const rate, bytes = 16_000, 3 * 2 * 16_000
	file := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00")
	file = binary.LittleEndian.AppendUint32(file, rate)
	file = binary.LittleEndian.AppendUint32(file, 2*rate)
	file = binary.LittleEndian.AppendUint32(append(file, "\x02\x00\x10\x00data"...), bytes)
	file = append(file, make([]byte, bytes)...)
	binary.LittleEndian.PutUint32(file[4:], uint32(len(file)-8))
	binary.LittleEndian.PutUint16(file[len(file)-2:], uint16(variant))
	return file
}

// row is one row of the contract: a request, and the answer that its clients rely on.
type row struct {
	// rule is what the contract says, in our words.
	rule string
	// method is GET when empty.
	method, path string
	// body is JSON; a string is sent as it stands.
	body   any
	header http.Header
	// status is 200 when 0.
	status int
	// code is that of an error.
	code string
	// want is the form of the body. An error without one has a sentence and the code and nothing else.
	want any
}

// keeps sends each row's request and compares its answer. What is under stands before each row's path.
func keeps(t *testing.T, client *servertest.Client, rows []row, under ...string) {
	t.Helper()
	for _, r := range rows {
		r.path = strings.Join(under, "") + r.path
		t.Run(r.rule, func(t *testing.T) {
			answer := r.send(t, client)
			if want := max(r.status, http.StatusOK); answer.Status != want {
				t.Fatalf("%s %s: got %v, want %d", r.method, r.path, answer, want)
			}
			want := r.want
			if want == nil && r.code != "" {
				want = object{"error": text, "code": r.code}
			}
			if want != nil {
				expectForm(t, answer, want)
			}
		})
	}
}

func (r row) send(t *testing.T, client *servertest.Client) servertest.Answer {
	t.Helper()
	method := r.method
	if method == "" {
		method = http.MethodGet
	}
	header := http.Header{}
	var content []byte
	switch body := r.body.(type) {
	case nil:
	case string:
		content = []byte(body)
	default:
		var err error
		if content, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	if r.body != nil {
		header.Set("Content-Type", "application/json")
	}
	for name, values := range r.header {
		header[name] = values
	}
	return client.Call(method, r.path, bytes.NewReader(content), header)
}

// expectForm compares a JSON answer with its form.
func expectForm(t *testing.T, answer servertest.Answer, want any) {
	t.Helper()
	var got any
	if err := json.Unmarshal(answer.Body, &got); err != nil {
		t.Fatalf("the answer is no JSON: %v: %v", err, answer)
	}
	if faults := differences("", got, want); len(faults) > 0 {
		t.Errorf("%s\n%s", strings.Join(faults, "\n"), answer.Body)
	}
}
