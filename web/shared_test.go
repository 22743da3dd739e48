package web_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/tests/described"
	"github.com/stenometer/stenometer/web"
)

type noMetrics struct{}

func (noMetrics) Request(string, string, int, time.Duration) {}

// site serves the pages over a real database and guard. Its one recording holds what must not run.
type site struct {
	t      testing.TB
	db     *models.DB
	server *httptest.Server
	log    *strings.Builder
}

const (
	link    = "AAAAAAAAAAAAAAAAAAAAA-"
	hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>{{.}}`
)

func open(t testing.TB) *site {
	t.Helper()
	s := &site{t: t, db: modelstest.SQLite(t), log: &strings.Builder{}}
	files := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = files.Close() })
	if err := files.WriteAll(context.Background(), "key", []byte("0123456789"), nil); err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(s.log, nil))
	stories := recordings.New(s.db, recordings.Options{Files: files, PublicSharing: true, Now: time.Now, Logger: logger})
	figures := authtest.NoFigures()
	figures[limits.SessionAddress] = []limits.Rate{{Limit: 40, Period: time.Minute}}
	table := routes.New(routes.Options{
		Guard:   auth.NewGuard(authtest.GuardOptions(authtest.NewFinder(), figures, limits.NewMemory(time.Now))),
		Metrics: noMetrics{}, Logger: logger, Now: time.Now,
	})
	web.New(web.Options{Recordings: stories, Issuer: "https://login.example.org/staff"}).Declare(table)
	s.server = httptest.NewServer(table.Handler())
	s.server.Client().Transport = described.Over(t, s.server.Client().Transport)
	t.Cleanup(s.server.Close)
	s.fill()
	return s
}

func (s *site) fill() {
	s.t.Helper()
	now, words := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), hostile
	start := 3725.9
	err := s.db.Transaction(context.Background(), func(tx *gorm.DB) error {
		for _, row := range []any{
			&models.Organization{ID: 1, Slug: "o", Name: "o", TimeZone: "UTC", CreatedAt: now},
			&models.User{ID: 1, OrganizationID: 1, Email: "a@example.org", Username: "a", PasswordHash: "-", Role: "editor", CreatedAt: now},
			&models.Recording{
				ID: 1, OrganizationID: 1, UserID: 1, Title: &words, Summary: &words, Notes: &words, Status: "COMPLETED", SHA256: strings.Repeat("a", 64),
				StorageKey: "key", MimeType: &words, OriginalFilename: &words, MeetingDate: &now, CreatedAt: now, UpdatedAt: now,
			},
			&models.Transcript{RecordingID: 1, Kind: recordings.Segmented, Engine: "e", Gaps: "[]", CreatedAt: now},
			&models.TranscriptSegment{RecordingID: 1, Speaker: &words, Text: hostile, StartSeconds: &start, EndSeconds: &start},
			&models.PublicShare{RecordingID: 1, UserID: 1, PublicID: link, ShareSummary: true, ShareNotes: true, CreatedAt: now},
		} {
			if err := tx.Create(row).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) get(path string, header ...string) (*http.Response, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.server.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer, err := s.server.Client().Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer, string(body)
}

// Text from people, models and files is escaped wherever it is shown, and what gets past that still cannot run
// (H-077); the page is kept by nobody, told to nobody, framed by nobody.
func TestThePageRunsNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	answer, page := s.get("/share/" + link)
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %q: %s", answer.StatusCode, answer.Header.Get("Content-Type"), page)
	}
	if strings.Contains(page, "<script") || strings.Contains(page, "<img") || strings.Count(page, "&lt;script&gt;alert(1)&lt;/script&gt;") != 6 {
		t.Errorf("texts are not escaped, or not all there:\n%s", page)
	}
	if !strings.Contains(page, "1:02:05") || !strings.Contains(page, `src="`+link+`/audio"`) || !strings.Contains(page, "March 4, 2026") {
		t.Errorf("the page lacks the time, the player or the date:\n%s", page)
	}
	_, style, _ := strings.Cut(page, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	hash := sha256.Sum256([]byte(style))
	rules := "default-src 'none'; media-src 'self'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	for name, want := range map[string]string{
		"Content-Security-Policy": rules, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
	} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(answer.Header.Get("X-Robots-Tag"), "noindex") || len(answer.Header["Set-Cookie"]) != 0 {
		t.Errorf("headers are %v", answer.Header)
	}
}

// The link shows of summary and notes what it was made to show, and the text of a transcript without times.
func TestThePageShowsWhatTheLinkDoes(t *testing.T) {
	t.Parallel()
	s := open(t)
	err := s.db.Transaction(context.Background(), func(tx *gorm.DB) error {
		err := tx.Model(&models.PublicShare{}).Where("id = 1").UpdateColumns(map[string]any{"share_summary": false, "share_notes": false}).Error
		if err == nil {
			err = tx.Model(&models.Recording{}).Where("id = 1").UpdateColumns(map[string]any{"title": nil, "audio_deleted_at": time.Now().UTC(), "storage_key": ""}).Error
		}
		if err == nil {
			err = tx.Where("recording_id = 1").Delete(&models.TranscriptSegment{}).Error
		}
		if err == nil {
			err = tx.Model(&models.Transcript{}).Where("recording_id = 1").UpdateColumns(map[string]any{"kind": recordings.Plain, "text": "plain words"}).Error
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	answer, page := s.get("/share/" + link)
	if answer.StatusCode != http.StatusOK || strings.Contains(page, "alert(") || strings.Contains(page, "<audio") || !strings.Contains(page, "plain words") || !strings.Contains(page, "<h1 dir=\"auto\">Recording</h1>") {
		t.Errorf("%d:\n%s", answer.StatusCode, page)
	}
	if answer, body := s.get("/share/" + link + "/audio"); answer.StatusCode != http.StatusNotFound {
		t.Errorf("removed audio: %d %s", answer.StatusCode, body)
	}
}

// The audio comes in ranges, is never a page, and is kept by nobody.
func TestTheAudioComesInRanges(t *testing.T) {
	t.Parallel()
	s := open(t)
	answer, body := s.get("/share/"+link+"/audio", "Range", "bytes=2-4")
	if answer.StatusCode != http.StatusPartialContent || body != "234" || answer.Header.Get("Content-Range") != "bytes 2-4/10" ||
		answer.Header.Get("Cache-Control") != "no-store" || answer.Header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("%d %q %v", answer.StatusCode, body, answer.Header)
	}
	if disposition := answer.Header.Get("Content-Disposition"); strings.ContainsAny(disposition, "<>") || !strings.HasPrefix(disposition, "inline;") {
		t.Errorf("the disposition is %s", disposition)
	}
	if answer, body := s.get("/share/"+link+"/audio", "Range", "bytes=10-"); answer.StatusCode != http.StatusRequestedRangeNotSatisfiable || !strings.Contains(body, "range_not_satisfiable") {
		t.Errorf("outside: %d %s", answer.StatusCode, body)
	}
}

// What leads nowhere is one answer, whatever it is; links are limited by address, with or without a token; no link
// reaches the log.
func TestLinksAreSecretAndLimited(t *testing.T) {
	t.Parallel()
	s := open(t)
	var first string
	for _, path := range []string{"/share/" + strings.Repeat("B", 22), "/share/short", "/share/" + strings.Repeat("B", 22) + "/audio", "/share/%00", "/share/..%2f"} {
		answer, body := s.get(path)
		if first == "" {
			first = body
		}
		if answer.StatusCode != http.StatusNotFound || body != first || !strings.Contains(body, `"code":"not_found"`) {
			t.Errorf("%s: %d %s, want %s", path, answer.StatusCode, body, first)
		}
	}
	s.get("/share/" + link)
	s.get("/share/" + link + "/audio")
	if log := s.log.String(); strings.Contains(log, link) || strings.Contains(log, "BBBB") || !strings.Contains(log, "route=/share/:link/audio") {
		t.Errorf("the log is\n%s", log)
	}
	for i := 7; i < 40; i++ {
		s.get("/share/" + link)
	}
	if answer, body := s.get("/share/" + link); answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") == "" || !strings.Contains(body, "address_rate_limit_exceeded") {
		t.Errorf("beyond the limit: %d %s", answer.StatusCode, body)
	}
}
