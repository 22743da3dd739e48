package tests

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule: a configuration that is wrong stops the start, names variable, value and what is allowed, all faults at
// once, and nothing listens (H-049).
func TestAWrongConfigurationStopsTheStart(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	for _, row := range []struct {
		name     string
		settings servertest.Environment
		told     []string
	}{
		{"a limit that is none", servertest.Environment{"API_TOKEN_RATE_LIMIT_READ": "lots"}, []string{"API_TOKEN_RATE_LIMIT_READ", "lots", "120 per minute"}},
		{"PostgreSQL without a key", servertest.Environment{"DATABASE_URL": "postgres://u:p@127.0.0.1:1/x", "SECRET_KEY": ""}, []string{"SECRET_KEY"}},
		{"several at once", servertest.Environment{"MAX_UPLOAD_MB": "-1", "LOG_LEVEL": "loud", "TRUSTED_PROXY_COUNT": "x"}, []string{"MAX_UPLOAD_MB", "LOG_LEVEL", "TRUSTED_PROXY_COUNT"}},
	} {
		result := servertest.Command(t, servertest.Fresh(t).With(row.settings).With(servertest.Environment{"LISTEN_ADDR": address}), "", "serve")
		if result.Code == 0 || !containsAll(result.Errors, row.told...) {
			t.Errorf("%s: ended with %d: %s", row.name, result.Code, result.Errors)
		}
		if connection, err := net.Dial("tcp", address); err == nil {
			_ = connection.Close()
			t.Errorf("%s: something listens", row.name)
		}
	}
}

// Rule: an empty variable means its default, never none; and without SECRET_KEY the server makes one that it keeps,
// readable by nobody else (H-049).
func TestEmptyVariablesMeanTheirDefaults(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t).With(servertest.Environment{"API_TOKEN_RATE_LIMIT_READ": "", "SECRET_KEY": ""})
	_, client := signedUp(t, environment)
	if got := client.Get("/api/v1/recordings").Header.Get("X-RateLimit-Limit"); got != "120" {
		t.Errorf("X-RateLimit-Limit is %q, want the default 120", got)
	}
	client.Header.Del("Authorization")
	for _, row := range []string{"/api/v1/recordings", "/api/v1/admin/users"} {
		if answer := client.Get(row); answer.Status != http.StatusUnauthorized {
			t.Errorf("%s is open without a credential: %v", row, answer)
		}
	}
	key, err := os.Stat(filepath.Join(environment["DATA_DIR"], "secret.key"))
	if err != nil || key.Mode().Perm() != 0o600 {
		t.Errorf("the secret key: %v, %v; want a file of mode 0600", key, err)
	}
	folder, err := os.Stat(environment["DATA_DIR"])
	if err != nil || folder.Mode().Perm() != 0o700 {
		t.Errorf("DATA_DIR: %v, %v; want mode 0700", folder, err)
	}
}

// Rule: `token create` prints the plaintext alone on standard output and obeys the cap.
func TestTokenCreateObeysTheCap(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t).With(servertest.Environment{"API_MAX_TOKENS_PER_USER": "1"})
	servertest.CreateUser(t, environment, "ada@example.org")
	result := servertest.Command(t, environment, "", "token", "create", "--user", "ada@example.org", "--name", "n", "--scopes", "read,upload", "--expires-in-days", "3")
	if result.Code != 0 || !strings.HasPrefix(result.Output, "stn_") || len(strings.TrimSpace(result.Output)) != 53 {
		t.Errorf("token create printed %q, ended with %d: %s", result.Output, result.Code, result.Errors)
	}
	result = servertest.Command(t, environment, "", "token", "create", "--user", "ada@example.org", "--name", "n")
	if result.Code != 1 || result.Output != "" || !strings.Contains(result.Errors, "token_limit_reached") {
		t.Errorf("at the cap it printed %q, ended with %d: %s", result.Output, result.Code, result.Errors)
	}
}

// Rule: commands refuse what they do not know, with 2 for a wrong call and 1 for a failure.
func TestCommandsRefuseWhatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t)
	for _, row := range []struct {
		code      int
		arguments []string
	}{
		{2, nil},
		{2, []string{"serv"}},
		{2, []string{"serve", "--role", "boss"}},
		{2, []string{"serve", "now"}},
		{2, []string{"user", "create", "--email", "a@example.org"}},
		{1, []string{"user", "create", "--email", "a@example.org", "--username", "a", "--role", "superuser"}},
		{1, []string{"user", "create", "--email", "a@example.org", "--username", "a", "--org", "nowhere"}},
		{1, []string{"token", "create", "--user", "nobody@example.org", "--name", "n"}},
	} {
		if result := servertest.Command(t, environment, servertest.Password, row.arguments...); result.Code != row.code {
			t.Errorf("server %s ended with %d, want %d: %s", strings.Join(row.arguments, " "), result.Code, row.code, result.Errors)
		}
	}
}

// Rule: `routes --json` shows the live table: each row with its scopes, its category and every limit stacked on it.
func TestRoutesCommand(t *testing.T) {
	t.Parallel()
	var table struct{ Routes []map[string]any }
	if err := json.Unmarshal([]byte(servertest.MustCommand(t, servertest.Fresh(t), "", "routes", "--json")), &table); err != nil {
		t.Fatal(err)
	}
	for _, row := range table.Routes {
		for _, field := range []string{"method", "path", "scopes", "category", "limits", "door"} {
			if _, there := row[field]; !there {
				t.Errorf("%v %v has no %s", row["method"], row["path"], field)
			}
		}
	}
	if len(table.Routes) < 20 {
		t.Errorf("%d rows, want at least 20", len(table.Routes))
	}
}

// Rule: the demo runs the main job end to end and ends with 0 only if every step held.
func TestTheDemo(t *testing.T) {
	t.Parallel()
	// Whatever the operator's real server uses, the demo stays on its embedded parts and an address that can be called.
	result := servertest.Command(t, servertest.Environment{
		"DATABASE_URL": "postgres://u:p@127.0.0.1:1/real", "SECRET_KEY": "0123456789abcdef", "ASR_BASE_URL": "http://127.0.0.1:1",
		"RATELIMIT_STORAGE_URI": "redis://127.0.0.1:1/0", "LISTEN_ADDR": ":0",
	}, "", "demo", "--exit")
	if result.Code != 0 || !containsAll(result.Output, "http://127.0.0.1:") || !containsAll(result.Output, "word error rate", "429", "Retry-After", "every step held") {
		t.Errorf("the demo ended with %d\n%s\n%s", result.Code, result.Output, result.Errors)
	}
}

// Rule: the demo finds a guard that does not guard: with the limit that it asks for switched off it fails.
func TestTheDemoFailsWithoutTheGuard(t *testing.T) {
	t.Parallel()
	result := servertest.Command(t, servertest.Environment{"API_TOKEN_RATE_LIMIT_READ": "0"}, "", "demo", "--exit")
	if result.Code == 0 {
		t.Errorf("the demo ended with 0 although nothing limits the token\n%s", result.Output)
	}
}

// Rule: probes stand before authentication and every limit, and move no counter (H-030); metrics are on an address
// of their own.
func TestProbesAndMetrics(t *testing.T) {
	t.Parallel()
	environment := servertest.Fresh(t).With(servertest.Environment{"METRICS_ADDR": "127.0.0.1:0"})
	process := servertest.Start(t, environment)
	client := process.Client("")
	for range 100 { // far beyond the 30 answers 401 that an address gets
		client.Get("/api/v1/recordings")
	}
	for range 100 {
		for _, probe := range []string{"/healthz", "/readyz"} {
			answer := client.Get(probe)
			if answer.Status != http.StatusOK || answer.Header.Get("X-RateLimit-Limit") != "" {
				t.Fatalf("%s: %v", probe, answer)
			}
		}
	}
	if answer := client.Get("/metrics"); answer.Status != http.StatusNotFound {
		t.Errorf("/metrics on the public address: %d, want 404", answer.Status)
	}
	metrics := process.Client("")
	metrics.URL = "http://" + process.LogField("serving metrics", "address")
	if answer := metrics.Get("/metrics"); answer.Status != http.StatusOK || !containsAll(string(answer.Body), "stenometer_") {
		t.Errorf("metrics: %d", answer.Status)
	}
}

// Rule: SIGTERM ends the server in order, with exit code 0.
func TestSIGTERMEndsInOrder(t *testing.T) {
	t.Parallel()
	process := servertest.Start(t, servertest.Fresh(t))
	if err := process.Stop(); err != nil {
		t.Errorf("ended with %v\n%s", err, process.Logs())
	}
}
