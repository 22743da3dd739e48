package tests

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
	"github.com/stenometer/stenometer/tests/testservices"
)

// disabling is an account with everything that must end with it, on three processes.
type disabling struct {
	*replicas
	user     int64
	sessions []*servertest.Client
	link     string
	hook     map[string]any
	stream   *opened
	job      int64
	// receiver is an address of a webhook, which answers nothing; called is how many attempts hang on it.
	receiver string
	called   atomic.Int64
	asked    atomic.Int64
}

// stranger is somebody who has posted nothing yet from the address: one address may post in ten times a minute.
func (d *disabling) stranger(process *servertest.Process) *servertest.Client {
	client, n := process.Client(""), d.asked.Add(1)
	client.Header.Set("X-Forwarded-For", fmt.Sprintf("198.51.%d.%d", n/250, n%250+1))
	return client
}

// hang makes the receiver.
func (d *disabling) hang(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body) // a server hears of the end of a connection once it has read all
		d.called.Add(1)
		<-request.Context().Done()
		d.called.Add(-1)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	d.receiver = server.URL
}

// busy gives the account a stream, a session, a public link, an event on its way and a job at work, each begun on another process than the one
// that will hear of its end.
func (d *disabling) busy(t *testing.T) {
	t.Helper()
	if d.stream = d.asks(0); d.stream == nil {
		t.Fatal("the stream was refused")
	}
	d.sessions = nil
	browser := d.processes[1].Client("")
	if answer := browser.SignIn("crowd@example.org", servertest.Password); answer.Status != http.StatusOK {
		t.Fatalf("sign in: %v", answer)
	}
	for _, process := range d.processes {
		same := process.Client("")
		same.Cookies = browser.Cookies
		d.sessions = append(d.sessions, same)
	}
	shared := d.client.Call(http.MethodPost, at("/api/v1/recordings/%d/share", d.id), strings.NewReader("{}"),
		http.Header{"Content-Type": {"application/json"}, "X-Forwarded-Proto": {"https"}})
	_, d.link, _ = strings.Cut(shared.JSON(t)["share_url"].(string), "notes.example.org")
	d.hook = d.client.Send(http.MethodPost, "/api/v1/integrations", map[string]any{"name": "Room"}).JSON(t)
	webhook := d.client.Send(http.MethodPost, "/api/v1/webhooks", map[string]any{
		"name": "Hangs", "url": d.receiver, "allow_http": true, "events": []string{"webhook.test"},
	}).JSON(t)
	if answer := d.client.Send(http.MethodPost, at("/api/v1/webhooks/%d/test", recordingID(t, webhook)), nil); answer.Status != http.StatusAccepted {
		t.Fatalf("test the webhook: %v", answer)
	}
	servertest.Eventually(t, 10*time.Second, "an event is on its way", func() bool { return d.called.Load() > 0 })
	d.job = recordingID(t, d.client.Upload("tone.wav", tone(t), map[string]string{"title": "Held"}).JSON(t))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := d.r.speech.Await(ctx, func(s *asrtest.Server) bool { return s.InFlight() == 1 }); err != nil {
		t.Fatal(err)
	}
}

// status is what one answers.
func (d *disabling) status(client *servertest.Client, path string) int {
	answer, err := client.Do(http.MethodGet, path, nil, http.Header{"X-Forwarded-Proto": {"https"}})
	if err != nil {
		return 0
	}
	return answer.Status
}

// ends are what must be over, by name: each waits until it is.
func (d *disabling) ends() map[string]func() {
	ends := map[string]func(){
		"the stream on process 1":         func() { d.stream.rest() },
		"the provider's call for the job": func() { _ = d.r.speech.Await(d.t.Context(), func(s *asrtest.Server) bool { return s.InFlight() == 0 }) },
		"the event on its way": func() {
			for began := time.Now(); d.called.Load() > 0 && time.Since(began) < 10*time.Second; {
				<-time.After(10 * time.Millisecond)
			}
		},
	}
	until := func(client *servertest.Client, path string, want int) func() {
		return func() {
			for began := time.Now(); d.status(client, path) != want && time.Since(began) < 10*time.Second; {
				<-time.After(10 * time.Millisecond)
			}
		}
	}
	for i, process := range d.processes {
		number := string(rune('1' + i))
		token := servertest.ClientOf(d.t, process.URL)
		token.Header = d.client.Header
		ends["the token on process "+number] = until(token, "/api/v1/tags", http.StatusUnauthorized)
		ends["the session on process "+number] = until(d.sessions[i], "/api/v1/tags", http.StatusUnauthorized)
		ends["the hook on process "+number] = func() {
			hook, secret := "/hooks/"+d.hook["public_id"].(string), d.hook["secret"].(string)
			// Until then each is refused for what it holds, which is no recording.
			for nth, began := 0, time.Now(); time.Since(began) < 10*time.Second; nth++ {
				if delivery(d.stranger(process), hook, secret, "d-"+number+"-"+strconv.Itoa(nth), []byte("none")).Status == http.StatusUnauthorized {
					return
				}
				<-time.After(10 * time.Millisecond)
			}
		}
		ends["the recorder on process "+number] = func() {
			secret := strings.TrimPrefix(d.client.Header.Get("Authorization"), "Bearer ")
			for began := time.Now(); time.Since(began) < 10*time.Second; <-time.After(10 * time.Millisecond) {
				if recordBy(d.t, d.stranger(process), nil, "secret", secret).Status == http.StatusUnauthorized {
					return
				}
			}
		}
		ends["the link on process "+number] = until(process.Client(""), d.link, http.StatusNotFound)
	}
	return ends
}

// measured waits for all of it to be over and says how long each took.
func (d *disabling) measured(t *testing.T, how string, since time.Time, ends map[string]func()) {
	t.Helper()
	var all sync.WaitGroup
	for what, end := range ends {
		all.Go(func() {
			end()
			took := time.Since(since)
			t.Logf("%s: %s was over after %v", how, what, took.Round(time.Millisecond))
			if took > time.Second {
				t.Errorf("%s: %s was over only after %v, want a second at most", how, what, took)
			}
		})
	}
	all.Wait()
}

// Rule (H-039, issue 7 line 4): when an account is disabled, by the API or in the database, its open stream, tokens,
// sessions, signed hook, recorder, public link, the provider's call of its job and an event on its way are over within a second,
// on all of three processes. The recording fails with account_disabled, and is done once the account is enabled and it is started again.
func TestADisabledAccountStopsEverywhere(t *testing.T) {
	t.Parallel()
	url := modelstest.PostgresURL(t)
	// The first account is the administrator.
	servertest.CreateUser(t, servertest.Fresh(t).With(servertest.Environment{"DATABASE_URL": url, "SECRET_KEY": "0123456789abcdef0123456789abcdef"}), "boss@example.org")
	d := &disabling{replicas: newReplicas(t, servertest.Environment{
		"DATABASE_URL": url, "RATELIMIT_STORAGE_URI": testservices.OwnRedis(t), "TRUSTED_PROXY_COUNT": "1",
		"PUBLIC_URL": "http://notes.example.org", "LOGIN_RATE_LIMIT": "100/minute",
		"WEBHOOK_INTRANET_HOST_ALLOWLIST": `127\.0\.0\.1`, "WEBHOOK_DELIVERY_TIMEOUT_SECONDS": "60",
	})}
	d.hang(t)
	d.user = int64(d.client.Get("/api/v1/users/me").JSON(t)["id"].(float64))
	words := d.r.speech
	words.Always(func(asrtest.Call) asrtest.Reply { return asrtest.Reply{Hold: true} })
	admin := d.processes[2].Client(strings.TrimSpace(servertest.Prepare(t, d.r.environment, "", "token", "create", "--user", "boss@example.org", "--name", "a", "--admin")))
	db := modelstest.Open(t, url, false)

	d.busy(t)
	ends := d.ends()
	since := time.Now()
	if answer := admin.Send(http.MethodPatch, at("/api/v1/admin/users/%d", d.user), map[string]any{"disabled": true}); answer.Status != http.StatusOK {
		t.Fatalf("disable: %v", answer)
	}
	d.measured(t, "by the API", since, ends)
	d.enable(t, admin)

	d.busy(t)
	ends = d.ends()
	since = time.Now()
	err := db.Transaction(t.Context(), func(tx *gorm.DB) error {
		return tx.Model(&models.User{}).Where("id = ?", d.user).UpdateColumn("disabled_at", since).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	d.measured(t, "in the database", since, ends)
	d.enable(t, admin)

	words.Always(func(asrtest.Call) asrtest.Reply { return asrtest.Plain("My name is Ada and I keep bees.") })
	d.r.model.Always(func(llmtest.Call) llmtest.Reply { return llmtest.Says("Bees.") })
	if answer := d.client.Send(http.MethodPost, at("/api/v1/recordings/%d/transcribe", d.job), map[string]any{}); answer.Status != http.StatusOK {
		t.Fatalf("start it again: %v", answer)
	}
	d.client.AwaitStatus(d.job, time.Minute, "COMPLETED")
}

// enable switches the account on again, and looks at what became of its job.
func (d *disabling) enable(t *testing.T, admin *servertest.Client) {
	t.Helper()
	if answer := admin.Send(http.MethodPatch, at("/api/v1/admin/users/%d", d.user), map[string]any{"disabled": false}); answer.Status != http.StatusOK {
		t.Fatalf("enable: %v", answer)
	}
	for _, process := range d.processes { // each hears of it by itself
		token := servertest.ClientOf(t, process.URL)
		token.Header = d.client.Header
		servertest.Eventually(t, 10*time.Second, "the token is good again", func() bool { return d.status(token, "/api/v1/tags") == http.StatusOK })
	}
	failed := d.client.AwaitStatus(d.job, 10*time.Second, "FAILED")
	if recording := d.client.Get(at("/api/v1/recordings/%d", d.job)).JSON(t); recording["error_code"] != "account_disabled" {
		t.Errorf("the recording is %v, %v, want error_code account_disabled", failed, recording["error_code"])
	}
}
