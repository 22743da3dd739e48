package v1_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gocloud.dev/blob/fileblob"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/accounts"
	v1 "github.com/stenometer/stenometer/api/v1"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/budgets/budgetstest"
	"github.com/stenometer/stenometer/idempotency"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/orgs"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/settings"
	"github.com/stenometer/stenometer/speech"
	"github.com/stenometer/stenometer/tests/described"
	"github.com/stenometer/stenometer/tests/jobstest"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// site serves the API over a real database, storage and guard. No job is worked: a test writes what a worker would.
type site struct {
	t      testing.TB
	db     *models.DB
	server *httptest.Server
	finder *authtest.Finder
	// model is the text model.
	model *llmtest.Server
	// budgets bound nothing until a test sets them.
	budgets *budgets.Budgets
	user    models.User
	token   string
	// standing are the system settings.
	standing atomic.Pointer[settings.Values]
}

type noMetrics struct{}

func (noMetrics) Request(string, string, int, time.Duration) {}

// deaf is a speech engine that nobody asks: no job is worked here.
type deaf struct{}

func (deaf) Describe() speech.Description { return speech.Description{Connector: "asr_endpoint"} }

func (deaf) Transcribe(context.Context, speech.Audio, speech.Request) (speech.Answer, error) {
	return speech.Answer{}, errors.ErrUnsupported
}

const maxUpload = 2 << 20

// tariff makes sums easy to read: a token and a second of audio cost a micro-dollar each.
const tariff = "currency: USD\ntext:\n  - {model: plain, input: 1, output: 1}\n  - {model: scripted, input: 1, output: 10}\naudio:\n  - {model: plain, per_minute: 0.00006}\n"

func open(t testing.TB) *site {
	t.Helper()
	folder := t.TempDir()
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	s := &site{t: t, db: modelstest.Open(t, jobstest.Migrated.SQLiteURL(t), false), finder: authtest.NewFinder()}
	s.budgets = budgetstest.New(t, s.db, tariff, nil)
	queue, err := jobs.New(s.db, jobs.Options{
		Role: "web", MaxWorkers: 1, MaxAttempts: 1, Heartbeat: time.Second, DeadAfter: 3 * time.Second, RetryBase: time.Second, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	toolbox, err := media.New(media.Options{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tmp", "files"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	files, err := fileblob.OpenBucket(filepath.Join(folder, "files"), &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		t.Fatal(err)
	}
	s.model = llmtest.New(t)
	engine, err := llm.New(llm.Options{BaseURL: s.model.BaseURL(), APIKey: "sk-key-of-the-tests", Model: "scripted", Client: outbound.Operator(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	s.standing.Store(&settings.Values{MaxFileSizeMB: 1000, TranscriptLengthLimit: settings.Unlimited, EnableFolders: true})
	stories := recordings.New(s.db, recordings.Options{
		Transcriber: speech.NewTranscriber(deaf{}, toolbox, speech.TranscriberOptions{TempDir: filepath.Join(folder, "tmp"), Logger: logger}),
		Text:        llm.NewAdapter(engine, llm.AdapterOptions{Attempts: 1, Logger: logger}),
		TextBounds: recordings.TextBounds{
			InputChars: 20_000, PartChars: 60_000, MaxParts: 8, SummaryTokens: 500, ChatTokens: 400, TitleTokens: 50, EventTokens: 300,
		},
		Inquiry: recordings.InquiryOptions{Enabled: true},
		Files:   files, TempDir: filepath.Join(folder, "tmp"), Free: func() (int64, error) { return 1 << 40, nil },
		LocalPath: func(key string) string { return filepath.Join(folder, "files", key) },
		Standing:  func() settings.Values { return *s.standing.Load() },
		Keys:      idempotency.New(s.db, idempotency.Options{Life: time.Hour, Now: time.Now}),
		Queue:     queue, Purses: s.budgets.Purses(), Media: toolbox, MaxUploadBytes: maxUpload, PublicSharing: true, Now: time.Now, Logger: logger,
	})
	recordings.RegisterWorkers(queue, stories)
	figures := make(limits.Figures)
	for _, plan := range limits.Plans() {
		figures[plan] = []limits.Rate{{Limit: 1000, Period: time.Minute}}
	}
	guard := auth.NewGuard(authtest.GuardOptions(s.finder, figures, limits.NewMemory(time.Now)))
	table := routes.New(routes.Options{
		Guard: guard, Bounds: routes.Bounds{Upload: maxUpload}, Metrics: noMetrics{}, Logger: logger, Now: time.Now, Purses: s.budgets.Purses(),
	})
	v1.New(v1.Options{
		Recordings: stories, Accounts: accounts.New(s.db, accounts.Options{}), Organizations: orgs.NewOrganizations(s.db, time.Now), Budgets: s.budgets, Limits: guard, Version: "1.2.3", PublicURL: "http://notes.example.org/", Now: time.Now,
		Addresses: auth.NewAddresses(auth.AddressOptions{
			TrustedProxies: 1, TrustedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Now: time.Now, Logger: logger,
		}),
		Text:   engine.Describe(),
		Engine: speech.Description{Connector: "asr_endpoint", Model: "large", Capabilities: speech.Capabilities{Diarization: true}},
	}).Declare(table)
	s.server = httptest.NewServer(table.Handler())
	s.server.Client().Transport = described.Over(t, s.server.Client().Transport)
	t.Cleanup(func() {
		s.server.Close()
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	})
	s.user = s.account("owner")
	s.token = s.mint(s.user, "full")
	return s
}

func (s *site) account(name string) models.User {
	s.t.Helper()
	return modelstest.Account(s.t, s.db, name, name, auth.RoleEditor)
}

func (s *site) mint(user models.User, scopes string) string {
	return s.finder.Mint(auth.Token{
		ID: time.Now().UnixNano(), UserID: user.ID, OrganizationID: user.OrganizationID, Role: "editor", Scopes: auth.ParseScopes(scopes),
	})
}

func (s *site) write(change func(tx *gorm.DB) error) {
	s.t.Helper()
	if err := s.db.Transaction(context.Background(), change); err != nil {
		s.t.Fatal(err)
	}
}

// reply is an answer with its body read.
type reply struct {
	*http.Response
	body []byte
}

func (r reply) json(t testing.TB) map[string]any {
	t.Helper()
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		t.Fatalf("the answer %d is %q, not JSON", r.StatusCode, r.Header.Get("Content-Type"))
	}
	var body map[string]any
	if err := json.Unmarshal(r.body, &body); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	return body
}

// do sends a request with the owner's token; header lines override.
func (s *site) do(method, path string, body io.Reader, header ...string) reply {
	s.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, s.server.URL+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := s.server.Client().Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{response, content}
}

func (s *site) get(path string, header ...string) reply {
	return s.do(http.MethodGet, path, nil, header...)
}

// expect fails unless the answer has the status and, where one is given, the code.
func (s *site) expect(r reply, status int, code string) map[string]any {
	s.t.Helper()
	body := r.json(s.t)
	if got, _ := body["code"].(string); r.StatusCode != status || got != code {
		s.t.Fatalf("got %d %s, want %d %q: %s", r.StatusCode, got, status, code, r.body)
	}
	return body
}

// upload posts a form with a file of this name; a server too busy to look into the file is asked again.
func (s *site) upload(token, name string, file []byte, fields ...string) reply {
	s.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			s.t.Fatal(err)
		}
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name)
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="` + quoted + `"`}})
	if err == nil {
		_, err = part.Write(file)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	for attempt := 1; ; attempt++ {
		r := s.do(http.MethodPost, "/api/v1/recordings/upload", bytes.NewReader(body.Bytes()), "Authorization", "Bearer "+token, "Content-Type", w.FormDataContentType())
		if r.StatusCode != http.StatusServiceUnavailable || attempt == 5 {
			return r
		}
	}
}

// recording uploads a file and gives its id.
func (s *site) recording(name string, fields ...string) int64 {
	s.t.Helper()
	body := s.expect(s.upload(s.token, name, sound(1), fields...), http.StatusAccepted, "")
	return int64(body["id"].(float64))
}

// complete writes what a worker would.
func (s *site) complete(id int64, kind, text string, segments ...models.TranscriptSegment) {
	s.t.Helper()
	s.write(func(tx *gorm.DB) error {
		now := time.Date(2026, 3, 5, 6, 13, 46, 123456000, time.UTC)
		err := tx.Model(&models.Recording{}).Where("id = ?", id).UpdateColumns(map[string]any{
			"status": recordings.StatusCompleted, "job_id": 0, "audio_duration": 12.5, "completed_at": now, "created_at": now.Truncate(time.Second), "updated_at": now.Truncate(time.Second),
		}).Error
		if err == nil {
			err = tx.Create(&models.Transcript{RecordingID: id, Kind: kind, Text: text, Gaps: `[{"start_time":5,"end_time":6,"reason":"the service failed"}]`, CreatedAt: now}).Error
		}
		for i := range segments {
			if err == nil {
				segments[i].RecordingID, segments[i].Position = id, i
				err = tx.Create(&segments[i]).Error
			}
		}
		return err
	})
}

func segment(start, end float64, speaker, text string) models.TranscriptSegment {
	return models.TranscriptSegment{StartSeconds: &start, EndSeconds: &end, Speaker: &speaker, SpeakerLabel: &speaker, Text: text}
}

// sound is a WAV of so many seconds of a square wave at 8 kHz, 8 bits.
func sound(seconds int) []byte {
	data := bytes.Repeat([]byte{60, 60, 60, 60, 200, 200, 200, 200}, 1000*seconds)
	head := fmt.Sprintf("RIFF%sWAVEfmt %s\x01\x00\x01\x00%s%s\x01\x00\x08\x00data%s",
		little(36+len(data)), little(16), little(8000), little(8000), little(len(data)))
	return append([]byte(head), data...)
}

func little(n int) string { return string([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}) }

// keys fails unless the object has exactly these members.
func keys(t testing.TB, what string, object map[string]any, want string) {
	t.Helper()
	var got []string
	for key := range object {
		got = append(got, key)
	}
	slices.Sort(got)
	expected := strings.Fields(want)
	slices.Sort(expected)
	if !slices.Equal(got, expected) {
		t.Errorf("the %s has\n%v, want\n%v", what, got, expected)
	}
}
