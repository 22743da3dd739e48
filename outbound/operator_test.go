package outbound_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/outbound"
)

func get(t *testing.T, client *http.Client, address string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer key")
	return client.Do(request)
}

// A redirect is not followed: the key would go wherever the service says.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{}, 1)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	defer elsewhere.Close()
	service := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer service.Close()
	answer, err := get(t, outbound.Operator(5*time.Second), service.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusTemporaryRedirect || len(reached) > 0 {
		t.Errorf("status %d, the other server reached %d times", answer.StatusCode, len(reached))
	}
}

// A certificate that nobody vouches for is refused.
func TestCertificatesAreVerified(t *testing.T) {
	t.Parallel()
	service := httptest.NewUnstartedServer(http.NotFoundHandler())
	service.Config.ErrorLog = log.New(io.Discard, "", 0)
	service.StartTLS()
	defer service.Close()
	answer, err := get(t, outbound.Operator(5*time.Second), service.URL)
	if err == nil {
		answer.Body.Close()
		t.Fatal("a self-signed certificate is taken")
	}
	if !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
}

// A service that leaves HTTP gets no say in how long a call takes: the connection that it hands over has no timeout.
func TestNoOtherProtocolIsSpoken(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { connection.Close() }) // never before: it is silent
		_, _ = io.WriteString(connection, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: silence\r\n\r\n")
	}))
	defer service.Close()
	answer, err := get(t, outbound.Operator(time.Minute), service.URL)
	if err == nil {
		answer.Body.Close()
		t.Fatalf("got status %d", answer.StatusCode)
	}
	if !strings.Contains(err.Error(), "switched protocols") {
		t.Errorf("got %v", err)
	}
}

// A service that never answers, or never ends its answer, holds a call no longer than its time.
func TestACallEndsInItsTime(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(context.Background())
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, _ = io.WriteString(w, "a")
			_ = http.NewResponseController(w).Flush()
		}
		<-ended.Done()
	}))
	defer service.Close()
	defer end()
	client := outbound.Operator(time.Second)
	if answer, err := get(t, client, service.URL+"/headers"); err == nil {
		answer.Body.Close()
		t.Error("no error though no answer came")
	}
	answer, err := get(t, client, service.URL+"/body")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := outbound.ReadAll(answer.Body, 1<<20); err == nil {
		t.Error("no error though the answer never ended")
	}
}

// A body is read to its bound and not beyond it.
func TestReadAllIsBounded(t *testing.T) {
	t.Parallel()
	if read, err := outbound.ReadAll(strings.NewReader("12345"), 5); err != nil || string(read) != "12345" {
		t.Errorf("at the bound: %q, %v", read, err)
	}
	endless := &endlessReader{}
	if _, err := outbound.ReadAll(endless, 1000); !errors.Is(err, outbound.ErrTooLarge) {
		t.Errorf("above the bound: %v", err)
	}
	if endless.read > 4096 {
		t.Errorf("%d bytes were read for a bound of 1000", endless.read)
	}
	if _, err := outbound.ReadAll(io.MultiReader(strings.NewReader("12"), brokenReader{}), 5); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a body cut short: %v", err)
	}
}

type endlessReader struct{ read int }

func (r *endlessReader) Read(p []byte) (int, error) {
	r.read += len(p)
	return len(p), nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
