package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/config"
)

// No verb of fmt, no encoder and no logger shows a secret, wherever the configuration ends up.
func TestSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	c := load(t, "SECRET_KEY=hunter2hunter2hunter2", "TRANSCRIPTION_API_KEY=hunter2", "DATABASE_URL=postgres://notes:hunter2@db/notes",
		"RATELIMIT_STORAGE_URI=redis://:hunter2@redis:6379", "ASR_BASE_URL=http://u:hunter2@asr:9000", "FILE_STORAGE_URL=s3://bucket?secret=hunter2")
	type server struct{ settings config.Config }
	var all bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%p"} {
		for _, value := range []any{c, *c, server{*c}, &server{*c}, c.SecretKey, &c.SecretKey, c.DatabaseURL, []config.Secret{c.SecretKey}, map[string]config.Location{"a": c.DatabaseURL}} {
			fmt.Fprintf(&all, verb, value)
		}
	}
	encoded, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	all.Write(encoded)
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&all, nil), slog.NewTextHandler(&all, nil)} {
		slog.New(handler).Info("settings", "config", c, "key", c.SecretKey, "database", c.DatabaseURL)
	}
	for _, form := range []string{"hunter2", fmt.Sprintf("%x", "hunter2"), fmt.Sprintf("%X", "hunter2")} {
		if strings.Contains(all.String(), form) {
			t.Errorf("a secret is shown as %s", form)
		}
	}
	if c.SecretKey.Reveal() != "hunter2hunter2hunter2" || !strings.Contains(c.DatabaseURL.Reveal(), "hunter2") {
		t.Error("the value is lost")
	}
}

// Secrets lose the white space, quotes and byte-order mark that copying leaves around them, and nothing inside.
func TestSecretsAreTrimmed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"sk-'1\"2", " sk-'1\"2\t", "\ufeffsk-'1\"2", "\"sk-'1\"2\"", "' \"sk-'1\"2\" '\n", "\ufeff\"sk-'1\"2\"\r\n"} {
		if got := load(t, "TRANSCRIPTION_API_KEY="+text).TranscriptionAPIKey.Reveal(); got != "sk-'1\"2" {
			t.Errorf("%q is read as %q", text, got)
		}
	}
	if load(t, "TRANSCRIPTION_API_KEY=\" \"").TranscriptionAPIKey.IsSet() {
		t.Error("a secret of white space is set")
	}
}

// An address is shown without what may be secret in it.
func TestLocationHidesWhatMayBeSecret(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"":                                   "",
		"memory://":                          "memory://",
		"sqlite:///var/lib/x/stenometer.db":  "sqlite:///var/lib/x/stenometer.db",
		"redis://redis:6379/1":               "redis://redis:6379/1",
		"redis://:hunter2@redis:6379/1":      "redis://…",
		"postgres://u:12/hunter2@db/notes":   "postgres://…",
		"postgres:///notes?password=hunter2": "postgres:///notes?…",
		"postgres://u:hunter2#x@db/notes":    "(not shown)",
		"host=db password=hunter2":           "(not shown)",
		"hunter2 postgres://u@db":            "(not shown)",
		"http://asr:9000":                    "http://asr:9000",
	} {
		if got := config.NewLocation(address).String(); got != want {
			t.Errorf("%q is shown as %q, want %q", address, got, want)
		}
	}
}

// A fault does not quote a password, also where none is allowed.
func TestFaultsHidePasswords(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{
		"PUBLIC_URL=https://u:hunter2@notes.example.org", "LISTEN_ADDR=u:hunter2@localhost:80", "ASR_BASE_URL=ftp://u:hunter2@asr",
		"DATABASE_URL=mysql://u:hunter2@db/notes", "RATELIMIT_STORAGE_URI=http://u:hunter2@redis", "TRUSTED_PROXY_NETWORKS=https://u:hunter2@proxy",
		"SECRET_KEY=hunter2", "TRANSCRIPTION_API_KEY=hunter2 x",
	} {
		_, _, err := config.Load([]string{setting}, "")
		if err == nil {
			t.Errorf("%s is accepted", setting)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the password is shown: %v", err)
		}
	}
}

// Whatever the bytes of the file, loading it ends with a configuration or with faults, and never shows a value of it
// that may be secret.
func FuzzDotenv(f *testing.F) {
	for _, seed := range []string{"A=b", "export A='b' # c", "A=\"b\\\"c\"\nB", "\ufeffA=", "=", "A=${B}", "TRUSTED_PROXY_NETWORKS=::/0", "LISTEN_ADDR=[::]:1", "RATELIMIT_STORAGE_URI=redis://%zz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const secret = "hunter2hunter2 \x7f"
		path := write(t, text+"\nTRANSCRIPTION_API_KEY="+secret)
		c, warnings, err := config.Load(nil, path)
		if (c == nil) != (err != nil) {
			t.Fatalf("got %v and %v", c, err)
		}
		if told := fmt.Sprint(warnings, err); !strings.Contains(text, "hunter2") && strings.Contains(told, "hunter2") {
			t.Fatalf("a secret is shown: %s", told)
		}
	})
}
