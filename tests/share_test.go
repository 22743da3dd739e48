package tests

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/servertest"
)

// shared uploads a recording and shares it; the link begins with its slash.
func shared(t *testing.T, client *servertest.Client) (id int64, link string) {
	t.Helper()
	id = recordingID(t, client.Upload("tone.wav", tone(t), map[string]string{"title": "<script>alert(1)</script>"}).JSON(t))
	made := client.Call(http.MethodPost, at("/api/v1/recordings/%d/share", id), strings.NewReader("{}"),
		http.Header{"Content-Type": {"application/json"}, "X-Forwarded-Proto": {"https"}})
	if made.Status != http.StatusCreated {
		t.Fatalf("share: %v, want 201", made)
	}
	address, err := url.Parse(made.JSON(t)["share_url"].(string))
	if err != nil || address.Host != "notes.example.org" || !strings.HasPrefix(address.Path, "/share/") {
		t.Fatalf("share_url is %v, %v", address, err)
	}
	return id, address.Path
}

// Rule: a public link shows its recording to whoever has it, is refused over HTTP, never reaches a log, is limited by
// address, and is gone with its revocation.
func TestPublicLink(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(servertest.Environment{"TRUSTED_PROXY_COUNT": "1", "PUBLIC_URL": "http://notes.example.org", "SESSION_RATE_LIMIT": "12 per hour", "LOG_LEVEL": "debug"})
	process, client := signedUp(t, environment)
	id, link := shared(t, client)
	insecure := client.Send(http.MethodPost, at("/api/v1/recordings/%d/share", id), map[string]any{})
	if insecure.Status != http.StatusForbidden || insecure.Code() != "https_required" {
		t.Errorf("over HTTP: %v, want 403 https_required", insecure)
	}
	stranger := process.Client("")
	page := stranger.Get(link)
	if page.Status != http.StatusOK || !strings.Contains(string(page.Body), "&lt;script&gt;alert(1)") || strings.Contains(string(page.Body), "<script") {
		t.Errorf("the page: %v", page)
	}
	if page.Header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(page.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("the page's headers are %v", page.Header)
	}
	part := stranger.Call(http.MethodGet, link+"/audio", nil, http.Header{"Range": {"bytes=0-3"}})
	if part.Status != http.StatusPartialContent || string(part.Body) != "RIFF" {
		t.Errorf("the audio: %v, want 206 RIFF", part)
	}
	if head := stranger.Call(http.MethodHead, link, nil, nil); head.Status != http.StatusOK || len(head.Body) != 0 {
		t.Errorf("HEAD: %v", head)
	}
	never := stranger.Get("/share/" + strings.Repeat("A", 22))
	shares := client.Get(at("/api/v1/recordings/%d/shares", id)).JSON(t)["shares"].([]any)
	revoked := client.Send(http.MethodDelete, at("/api/v1/shares/%d", recordingID(t, shares[0].(map[string]any))), nil)
	if revoked.Status != http.StatusNoContent {
		t.Fatalf("revoke: %v", revoked)
	}
	for _, path := range []string{link, link + "/audio"} {
		if dead := stranger.Get(path); dead.Status != http.StatusNotFound || string(dead.Body) != string(never.Body) {
			t.Errorf("revoked: %v, want what an unknown link says: %v", dead, never)
		}
	}
	var last servertest.Answer
	for range 8 { // six of the twelve are used up
		last = stranger.Get(link)
	}
	if last.Status != http.StatusTooManyRequests || last.Code() != "address_rate_limit_exceeded" {
		t.Errorf("beyond the address's figure: %v, want 429", last)
	}
	secret := strings.TrimPrefix(link, "/share/")
	if logs := process.Logs(); strings.Contains(logs, secret) || !strings.Contains(logs, "/share/:link") {
		t.Errorf("the log has the link, or not its route: %s", logs)
	}
}

// Rule: switched off, or without PUBLIC_URL, nothing is shared any more, and the capabilities say so.
func TestPublicLinksAreSwitchedOff(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(servertest.Environment{"TRUSTED_PROXY_COUNT": "1", "PUBLIC_URL": "http://notes.example.org"})
	process, client := signedUp(t, environment)
	id, link := shared(t, client)
	if err := process.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, off := range []servertest.Environment{{"ENABLE_PUBLIC_SHARING": "false"}, {"PUBLIC_URL": ""}} {
		process = servertest.Start(t, environment.With(off))
		client.URL = process.URL
		nothingIsShared(t, process, client, id, link)
		if err := process.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

func nothingIsShared(t *testing.T, process *servertest.Process, client *servertest.Client, id int64, link string) {
	t.Helper()
	if dead := process.Client("").Get(link); dead.Status != http.StatusNotFound {
		t.Errorf("the link: %v, want 404", dead)
	}
	refused := client.Send(http.MethodPost, at("/api/v1/recordings/%d/share", id), map[string]any{})
	if refused.Status != http.StatusForbidden || refused.Code() != "feature_disabled" {
		t.Errorf("share: %v, want 403 feature_disabled", refused)
	}
	if listed := client.Get(at("/api/v1/recordings/%d/shares", id)); listed.Status != http.StatusOK {
		t.Errorf("the list: %v, want 200", listed)
	}
	features, _ := client.Get("/api/v1/capabilities").JSON(t)["features"].(map[string]any)
	if features["public_sharing"] != false || features["can_share_publicly"] != false || features["share_links"] != true {
		t.Errorf("features are %v", features)
	}
}

// Rule: with PUBLIC_URL links lead there, whatever host the request names, and need no further proof of HTTPS.
func TestPublicLinksLeadToThePublicURL(t *testing.T) {
	t.Parallel()
	_, client := signedUp(t, quiet(t).With(servertest.Environment{"PUBLIC_URL": "https://notes.example.org/"}))
	id := recordingID(t, client.Upload("tone.wav", tone(t), nil).JSON(t))
	made := client.Send(http.MethodPost, at("/api/v1/recordings/%d/share", id), map[string]any{})
	if address, _ := made.JSON(t)["share_url"].(string); made.Status != http.StatusCreated || !strings.HasPrefix(address, "https://notes.example.org/share/") {
		t.Errorf("share: %v", made)
	}
}

// Rule: AUDIO_REDIRECT=true sends players on to S3 for 60 s, once the access is checked; the page of a public link
// streams, and so does a server without the setting.
func TestAudioRedirect(t *testing.T) {
	t.Parallel()
	_, storage := bucket(t)
	environment := quiet(t).With(storage).With(servertest.Environment{"AUDIO_REDIRECT": "true", "TRUSTED_PROXY_COUNT": "1", "PUBLIC_URL": "http://notes.example.org"})
	process, client := signedUp(t, environment)
	servertest.CreateUser(t, environment, "eve@example.org")
	content := tone(t)
	id, link := shared(t, client)
	path := at("/api/v1/recordings/%d/audio", id)
	answer := client.Get(path + "?download=true")
	address, err := url.Parse(answer.Header.Get("Location"))
	if answer.Status != http.StatusFound || err != nil || answer.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("audio: %v with %v, %v, want 302", answer, answer.Header, err)
	}
	query := address.Query()
	if !strings.HasPrefix(query.Get("response-content-disposition"), "attachment; filename=\"tone.wav\"") || query.Get("X-Amz-Expires") != "60" ||
		!strings.HasPrefix(query.Get("response-content-type"), "audio/") {
		t.Errorf("the address asks for %v", query)
	}
	if got := fetched(t, address.String()); got != string(content) {
		t.Errorf("the storage gives %d bytes, want %d", len(got), len(content))
	}
	if head := client.Call(http.MethodHead, path, nil, nil); head.Status != http.StatusOK || head.Header.Get("Content-Type") == "" {
		t.Errorf("HEAD: %v, want 200", head)
	}
	stranger := process.Client(servertest.CreateToken(t, environment, "eve@example.org"))
	if foreign := stranger.Get(path); foreign.Status != http.StatusNotFound || foreign.Header.Get("Location") != "" {
		t.Errorf("another account: %v, want 404", foreign)
	}
	if public := process.Client("").Get(link + "/audio"); public.Status != http.StatusOK || string(public.Body) != string(content) {
		t.Errorf("the public link: %v, want 200", public)
	}
	if logs := process.Logs(); strings.Contains(logs, "X-Amz-Signature") {
		t.Errorf("the log has the address: %s", logs)
	}
}

// fetched is what an address gives to whoever has it.
func fetched(t *testing.T, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: time.Minute}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
