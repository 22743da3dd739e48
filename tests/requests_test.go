package tests

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule: ids that cannot be are 404, always JSON (H-071).
func TestOddIDsAreNotFound(t *testing.T) {
	t.Parallel()
	_, client := signedUp(t, quiet(t))
	for _, id := range []string{"2147483648", "9223372036854775807", "9223372036854775808", "99999999999999999999999999", "-1", "0", "1e3", "1.5", "abc", "%00", "%2e%2e", "1%2f2", "١"} {
		for _, row := range []struct{ method, path string }{
			{http.MethodGet, "/api/v1/recordings/%s"},
			{http.MethodGet, "/api/v1/recordings/%s/status"},
			{http.MethodGet, "/api/v1/recordings/%s/audio"},
			{http.MethodGet, "/api/v1/recordings/%s/transcript"},
			{http.MethodDelete, "/api/v1/recordings/%s"},
			{http.MethodPost, "/api/v1/recordings/%s/transcribe"},
		} {
			answer := client.Send(row.method, fmt.Sprintf(row.path, id), map[string]any{})
			if body := answer.JSON(t); answer.Status != http.StatusNotFound || body["error"] == "" {
				t.Errorf("%s %s with %s: %v, want a JSON 404", row.method, row.path, id, answer)
			}
		}
	}
}

// Rule: paging out of range is clamped, never an error (H-070).
func TestPagingIsClamped(t *testing.T) {
	t.Parallel()
	_, client := signedUp(t, quiet(t))
	client.Upload("tone.wav", tone(t), nil)
	for _, row := range []struct {
		query         string
		page, perPage float64
		items         int
	}{
		{"", 1, 25, 1},
		{"page=0", 1, 25, 1},
		{"page=-1", 1, 25, 1},
		{"page=abc", 1, 25, 1},
		{"page=1.5", 1, 25, 1},
		{"page=", 1, 25, 1},
		{"page=1000000000", 1000000000, 25, 0},
		{"per_page=1000000", 1, 100, 1},
		{"per_page=101", 1, 100, 1},
		{"per_page=abc", 1, 25, 1},
		{"per_page=0", 1, 1, 1},
		{"per_page=-1", 1, 1, 1},
	} {
		answer := client.Get("/api/v1/recordings?" + row.query)
		if answer.Status != http.StatusOK {
			t.Errorf("%s: %v", row.query, answer)
			continue
		}
		body := answer.JSON(t)
		pagination := body["pagination"].(map[string]any)
		if pagination["page"] != row.page || pagination["per_page"] != row.perPage || len(body["recordings"].([]any)) != row.items {
			t.Errorf("%s: %v with %d items, want page %v of %v with %d", row.query, pagination, len(body["recordings"].([]any)), row.page, row.perPage, row.items)
		}
	}
	if answer := client.Get("/api/v1/recordings?page=9223372036854775808"); answer.Status != http.StatusOK {
		t.Errorf("a page beyond int64: %v, want 200", answer)
	}
}

// Rule: a search is literal, whatever the database thinks of % and _ (H-072).
func TestTheListsSearchIsLiteral(t *testing.T) {
	t.Parallel()
	_, client := signedUp(t, quiet(t))
	content := tone(t)
	for _, title := range []string{"50% off", "50 xx off", "a_b", "axb", `a\b`} {
		if answer := client.Upload("tone.wav", content, map[string]string{"title": title}); answer.Status != http.StatusAccepted {
			t.Fatalf("%s: %v", title, answer)
		}
	}
	for term, want := range map[string][]string{
		"50% off": {"50% off"}, "a_b": {"a_b"}, "%": {"50% off"}, `\`: {`a\b`}, "OFF": {"50 xx off", "50% off"}, "zz": nil,
	} {
		var got []string
		for _, entry := range client.Get("/api/v1/recordings?q=" + url.QueryEscape(term)).JSON(t)["recordings"].([]any) {
			got = append(got, entry.(map[string]any)["title"].(string))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("q=%s found %v, want %v", term, got, want)
		}
	}
}

// Rule: HEAD is GET without a body under the same guards, OPTIONS is 204 with Allow and costs nothing, and a wrong
// method is 405 with a correct Allow (H-074).
func TestMethods(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t)
	process, client := signedUp(t, environment)
	head := client.Call(http.MethodHead, "/api/v1/recordings", nil, nil)
	if head.Status != http.StatusOK || len(head.Body) != 0 || head.Header.Get("X-RateLimit-Remaining") == "" {
		t.Errorf("HEAD: %d with %d bytes", head.Status, len(head.Body))
	}
	if answer := process.Client("").Call(http.MethodHead, "/api/v1/recordings", nil, nil); answer.Status != http.StatusUnauthorized {
		t.Errorf("HEAD without a token: %d, want 401", answer.Status)
	}
	for range 200 {
		if answer := process.Client("").Call(http.MethodOptions, "/api/v1/recordings", nil, nil); answer.Status != http.StatusNoContent || !containsAll(answer.Header.Get("Allow"), "GET", "HEAD", "OPTIONS") {
			t.Fatalf("OPTIONS: %d with Allow %q", answer.Status, answer.Header.Get("Allow"))
		}
	}
	wrong := client.Send(http.MethodDelete, "/api/v1/recordings", nil)
	if allow := wrong.Header.Get("Allow"); wrong.Status != http.StatusMethodNotAllowed || wrong.Code() != "method_not_allowed" || !containsAll(allow, "GET") || strings.Contains(allow, "DELETE") {
		t.Errorf("DELETE on the list: %v with Allow %q", wrong, allow)
	}
	if answer := client.Get("/api/v1/nowhere"); answer.Status != http.StatusNotFound || answer.Code() != "not_found" {
		t.Errorf("an unknown path: %v", answer)
	}
	if answer := client.Get("/api/v1/recordings/upload"); answer.Status != http.StatusMethodNotAllowed {
		t.Errorf("GET on the upload route: %v, want 405", answer)
	}
}

// Rule: bounds on every header and body, each with a JSON answer.
func TestOversizedRequests(t *testing.T) {
	t.Parallel()
	_, client := signedUp(t, quiet(t))
	large := client.Call(http.MethodGet, "/api/v1/recordings", nil, http.Header{"X-Padding": {strings.Repeat("x", 40<<10)}})
	if large.Status != http.StatusRequestHeaderFieldsTooLarge || large.Code() != "headers_too_large" {
		t.Errorf("40 KiB of headers: %v, want 431", large)
	}
	body := strings.NewReader(`{"language":"` + strings.Repeat("x", 2<<20) + `"}`)
	answer := client.Call(http.MethodPost, "/api/v1/recordings/1/transcribe", body, http.Header{"Content-Type": {"application/json"}})
	if answer.Status != http.StatusRequestEntityTooLarge || answer.Code() != "payload_too_large" {
		t.Errorf("a JSON body over 2 MiB: %v, want 413", answer)
	}
	for _, row := range []struct {
		name, contentType, body string
		status                  int
	}{
		{"no JSON", "application/json", `{`, 400},
		{"two values", "application/json", `{} {}`, 400},
		{"an array", "application/json", `[]`, 400},
		{"null", "application/json", `null`, 400},
		{"deep", "application/json", strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), 400},
		{"text", "text/plain", `{}`, 415},
	} {
		answer := client.Call(http.MethodPost, "/api/auth/login", strings.NewReader(row.body), http.Header{"Content-Type": {row.contentType}})
		if answer.Status != row.status || answer.JSON(t)["code"] == "" {
			t.Errorf("%s: %v, want %d", row.name, answer, row.status)
		}
	}
}

// Rule: every answer has a request id, and a client's own is used only if it is short and plain.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	process := servertest.Start(t, quiet(t))
	for sent, kept := range map[string]bool{"abc-123": true, strings.Repeat("x", 200): false, "a b<script>": false} {
		got := process.Client("").Call(http.MethodGet, "/healthz", nil, http.Header{"X-Request-Id": {sent}}).Header.Get("X-Request-Id")
		if got == "" || (got == sent) != kept {
			t.Errorf("sent %.20q, got %q", sent, got)
		}
	}
}
