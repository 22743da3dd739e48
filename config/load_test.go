package config_test

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/config"
)

func load(t *testing.T, environ ...string) *config.Config {
	t.Helper()
	c, _, err := config.Load(environ, "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), ".env")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func warned(warnings []config.Warning) []string {
	names := make([]string, len(warnings))
	for i, w := range warnings {
		names[i] = w.Variable
	}
	return names
}

// Without any variable the figures are those of the product's table.
func TestDefaults(t *testing.T) {
	t.Parallel()
	c, warnings, err := config.Load(nil, filepath.Join(t.TempDir(), "not-there"))
	if err != nil || len(warnings) > 0 {
		t.Fatalf("got %v and %v, want neither error nor warning", err, warnings)
	}
	for name, got := range map[string]string{
		"120 per minute": c.TokenRateRead.String(), "30 per minute": c.TokenRateWrite.String(), "10 per minute": c.TokenRateProcess.String(),
		"240 per minute": c.UserRateRead.String(), "60 per minute": c.UserRateWrite.String(), "20 per minute": c.UserRateProcess.String(),
		"1000 per hour;5000 per day": c.SessionRate.String(), "600 per minute": c.StatusRate.String(),
		"10 per hour": c.TokenCreateRate.String(), "20 per hour": c.TokenChangeRate.String(), "5 per hour": c.RegisterRate.String(),
		"127.0.0.1:8899": c.ListenAddr, "": c.MetricsAddr, "memory://": c.RateLimitStorageURI.Reveal(), "first": c.Registration, "embedded": c.TranscriptionConnector,
	} {
		if got != name {
			t.Errorf("got %q, want %q", got, name)
		}
	}
	if c.MaxTokensPerUser != 10 || c.AIPerUserPerMinute != 20 || c.AIPerOrgPerMinute != 100 || c.AIPerIPPerMinute != 200 || c.MaxUploadMB != 500 {
		t.Errorf("numbers: %+v", c)
	}
	if c.SessionLifetime != 14*24*time.Hour || c.CredentialPoll != 300*time.Millisecond || c.TranscriptionTimeout != 30*time.Minute || c.LogLevel != slog.LevelInfo {
		t.Errorf("durations: %+v", c)
	}
	if c.DatabaseMaxConnections != 4 || c.DatabaseURL.Reveal() != "sqlite://"+filepath.Join(c.DataDir, "stenometer.db") || !filepath.IsAbs(c.DataDir) {
		t.Errorf("database: %d of %s", c.DatabaseMaxConnections, c.DatabaseURL)
	}
	if c.SecretKey.IsSet() || len(c.Off()) > 0 {
		t.Errorf("a secret key or limits switched off without being asked: %v", c.Off())
	}
}

// Every limit can be switched off by 0, each alone, and Off names it; nothing else is one.
func TestZeroSwitchesOffOneLimit(t *testing.T) {
	t.Parallel()
	limits := 0
	for _, setting := range config.Settings() {
		if !setting.Limit {
			continue
		}
		limits++
		if got := load(t, setting.Name+"=0").Off(); !slices.Equal(got, []string{setting.Name}) {
			t.Errorf("%s=0 switches off %v", setting.Name, got)
		}
	}
	if limits != 20 {
		t.Errorf("%d settings are limits, want 20", limits)
	}
}

// An account's limit is twice the token limit in force unless set, and is never switched off by the token limit's 0.
func TestAccountLimitFollowsTheTokenLimit(t *testing.T) {
	t.Parallel()
	for want, environ := range map[string][]string{
		"10 per minute":             {"API_TOKEN_RATE_LIMIT_READ=5 per minute"},
		"10 per minute;200 per day": {"API_TOKEN_RATE_LIMIT_READ=5 per minute, 100 per day"},
		"8 per minute":              {"API_TOKEN_RATE_LIMIT_READ=5 per minute", "API_USER_RATE_LIMIT_READ=8 per minute"},
		"240 per minute":            {"API_TOKEN_RATE_LIMIT_READ=0"},
		"0":                         {"API_TOKEN_RATE_LIMIT_READ=5 per minute", "API_USER_RATE_LIMIT_READ=0"},
		"1000000000 per second":     {"API_TOKEN_RATE_LIMIT_READ=900000000 per second"},
	} {
		if got := load(t, environ...).UserRateRead.String(); got != want {
			t.Errorf("%v gives an account %s, want %s", environ, got, want)
		}
	}
}

// The environment wins over the file even where it says nothing, and an empty variable means its default.
func TestEnvironmentWinsOverTheFile(t *testing.T) {
	t.Parallel()
	file := write(t, "\ufeff# comment\r\nexport MAX_UPLOAD_MB = 7 # MiB\r\nLOGIN_RATE_LIMIT=\"3 per minute\"\nREGISTRATION=open\nLOG_LEVEL=\nSESSION_RATE_LIMIT='2/minute' # two\nAPI_MAX_TOKENS_PER_USER=4\n")
	c, _, err := config.Load([]string{"REGISTRATION=closed", "API_MAX_TOKENS_PER_USER=", "LOGIN_RATE_LIMIT=' 4/minute '"}, file)
	if err != nil {
		t.Fatal(err)
	}
	if c.MaxUploadMB != 7 || c.SessionRate.String() != "2 per minute" {
		t.Errorf("the file is not read: %d, %s", c.MaxUploadMB, c.SessionRate)
	}
	if c.Registration != "closed" || c.LoginRate.String() != "4 per minute" {
		t.Errorf("the environment does not win: %s, %s", c.Registration, c.LoginRate)
	}
	if c.MaxTokensPerUser != 10 || c.LogLevel != slog.LevelInfo {
		t.Errorf("an empty variable is not its default: %d, %s", c.MaxTokensPerUser, c.LogLevel)
	}
}

// Nothing in a value of the file is replaced, least of all in a password.
func TestFileValuesAreTakenAsTheyStand(t *testing.T) {
	t.Parallel()
	file := write(t, "TRANSCRIPTION_API_KEY=pa$$w0rd#1\nSECRET_KEY=\"0123456789 \\\"${HOME}\\\" 'x\"\n")
	c, warnings, err := config.Load(nil, file)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.TranscriptionAPIKey.Reveal(); got != "pa$$w0rd#1" {
		t.Errorf("got %q", got)
	}
	if got := c.SecretKey.Reveal(); got != `0123456789 "${HOME}" 'x` {
		t.Errorf("got %q", got)
	}
	if got := warned(warnings); !slices.Equal(got, []string{"SECRET_KEY"}) {
		t.Errorf("warned of %v, want the ${…}", got)
	}
}

// Names that look like settings and are none are warned of, with the name that was probably meant; other programs'
// variables are left alone.
func TestUnknownNamesAreWarnedOf(t *testing.T) {
	t.Parallel()
	_, warnings, err := config.Load([]string{
		"API_TOKEN_RATE_LIMIT_REED=1", "REGISTRATON=closed", "listen_addr=:1", "TRUSTED_PROXY_HOP=1",
		"CORS_MAX_AGE=1", "RATELIMIT_STRATEGY=x", "WEBHOOK_TIMEOUT=1", "ENABLE_CHUNKING=1",
		"PATH=/bin", "HOME=/", "HTTP_PROXY=http://proxy:3128", "SESSION_MANAGER=local", "USER=x", "LANG=C",
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"API_TOKEN_RATE_LIMIT_REED", "CORS_MAX_AGE", "ENABLE_CHUNKING", "RATELIMIT_STRATEGY",
		"REGISTRATON", "TRUSTED_PROXY_HOP", "WEBHOOK_TIMEOUT", "listen_addr",
	}
	if got := warned(warnings); !slices.Equal(got, want) {
		t.Errorf("warned of\n%v, want\n%v", got, want)
	}
	for _, w := range warnings {
		if strings.Contains(w.String(), "hunter2") {
			t.Errorf("a warning shows a value: %s", w)
		}
		meant := map[string]string{"API_TOKEN_RATE_LIMIT_REED": "API_TOKEN_RATE_LIMIT_READ", "REGISTRATON": "REGISTRATION", "listen_addr": "LISTEN_ADDR", "TRUSTED_PROXY_HOP": "TRUSTED_PROXY_HOPS"}[w.Variable]
		if !strings.Contains(w.Text, meant) {
			t.Errorf("%s does not suggest %s", w, meant)
		}
	}
}

// Whoever brings a `.env` of Speakr is told which of its settings for models do nothing here.
func TestSpeakrsOtherModelSettingsAreWarnedOf(t *testing.T) {
	t.Parallel()
	nothing := []string{
		"AUTO_IDENTIFY_RESPONSE_SCHEMA", "CHAT_MODEL_API_KEY", "CHAT_MODEL_BASE_URL", "CHAT_MODEL_NAME", "EMBEDDING_MODEL",
		"ENABLE_STREAM_OPTIONS", "GPT5_REASONING_EFFORT", "GPT5_VERBOSITY", "INQUIRE_MAX", "LLM_CONNECT_TIMEOUT",
		"LLM_MAX_RETRIES", "LLM_REQUEST_TIMEOUT", "LLM_WRITE_TIMEOUT",
	}
	environment := []string{
		"TEXT_MODEL_BASE_URL=http://llm:1/v1", "TEXT_MODEL_API_KEY=k", "TEXT_MODEL_NAME=m", "SUMMARY_MAX_TOKENS=3000",
		"CHAT_MAX_TOKENS=5000", "TITLE_MAX_TOKENS=5000", "EVENT_MAX_TOKENS=3000",
	}
	for _, variable := range nothing {
		environment = append(environment, variable+"=1")
	}
	_, warnings, err := config.Load(environment, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := warned(warnings); !slices.Equal(got, nothing) {
		t.Errorf("warned of\n%v, want\n%v", got, nothing)
	}
}

// The older name of the proxies' number is read, and networks are read in every form they come in.
func TestProxies(t *testing.T) {
	t.Parallel()
	c := load(t, "TRUSTED_PROXY_HOPS=2", "TRUSTED_PROXY_NETWORKS=10.1.0.0/16, 192.0.2.7 2001:db8::/32,::ffff:198.51.100.0/120")
	want := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("198.51.100.0/24")}
	if c.TrustedProxyCount != 2 || !slices.Equal(c.TrustedProxyNetworks, want) {
		t.Errorf("got %d and %v", c.TrustedProxyCount, c.TrustedProxyNetworks)
	}
	_, warnings, _ := config.Load([]string{"TRUSTED_PROXY_NETWORKS=10.0.0.0/8"}, "")
	if got := warned(warnings); !slices.Equal(got, []string{"TRUSTED_PROXY_NETWORKS"}) {
		t.Errorf("networks without a count: warned of %v", got)
	}
	_, warnings, _ = config.Load([]string{"TRUSTED_PROXY_COUNT=1", "TRUSTED_PROXY_NETWORKS=0.0.0.0/0"}, "")
	if got := warned(warnings); !slices.Equal(got, []string{"TRUSTED_PROXY_NETWORKS"}) {
		t.Errorf("everybody as a proxy: warned of %v", got)
	}
}

// The speech engine follows from what is set, in Speakr's order.
func TestSpeechEngineFollowsFromTheSettings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		want    string
		environ []string
		warned  []string
	}{
		{"embedded", nil, nil},
		{"openai_whisper", []string{"TRANSCRIPTION_API_KEY=sk-1"}, nil},
		{"openai_whisper", []string{"TRANSCRIPTION_BASE_URL=http://whisper:8000/v1/ # local"}, nil},
		{"openai_transcribe", []string{"TRANSCRIPTION_API_KEY=sk-1", "TRANSCRIPTION_MODEL=gpt-4o-transcribe"}, nil},
		{"asr_endpoint", []string{"ASR_BASE_URL=http://asr:9000", "TRANSCRIPTION_API_KEY=sk-1"}, []string{"TRANSCRIPTION_API_KEY"}},
		{"embedded", []string{"TRANSCRIPTION_CONNECTOR=embedded", "ASR_BASE_URL=http://asr:9000"}, []string{"ASR_BASE_URL"}},
	} {
		c, warnings, err := config.Load(test.environ, "")
		if err != nil {
			t.Fatal(err)
		}
		if c.TranscriptionConnector != test.want || !slices.Equal(warned(warnings), append([]string{}, test.warned...)) {
			t.Errorf("%v: got %s, warned of %v", test.environ, c.TranscriptionConnector, warnings)
		}
	}
	if got := load(t, "TRANSCRIPTION_BASE_URL=http://whisper:8000/v1/ # local").TranscriptionBaseURL.Reveal(); got != "http://whisper:8000/v1" {
		t.Errorf("the comment behind the address stays: %q", got)
	}
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	c := load(t, "DATABASE_URL=postgres://notes:hunter2hunter2@db/notes", "SECRET_KEY=0123456789abcdef", "RATELIMIT_STORAGE_URI=redis://:hunter2hunter2@redis:6379/1")
	if c.DatabaseMaxConnections != 20 || c.DatabaseURL.Scheme() != "postgres" || c.RateLimitStorageURI.Scheme() != "redis" {
		t.Errorf("got %d connections, %s, %s", c.DatabaseMaxConnections, c.DatabaseURL, c.RateLimitStorageURI)
	}
}

// Two addresses may have the same port where they do not meet: on different interfaces, or as port 0, any free one.
func TestAddressesThatDoNotMeet(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"127.0.0.1:0", "127.0.0.1:0"}, {"127.0.0.1:8899", "127.0.0.2:8899"}, {"[::1]:8899", "127.0.0.1:8899"}, {":8899", ":9100"}, {":8899", "off"}} {
		load(t, "LISTEN_ADDR="+pair[0], "METRICS_ADDR="+pair[1])
	}
	for _, pair := range [][2]string{{"0.0.0.0:8899", "127.0.0.1:8899"}, {"localhost:8899", "[::]:8899"}, {"10.0.0.1:8899", "10.0.0.1:8899"}} {
		if _, _, err := config.Load([]string{"LISTEN_ADDR=" + pair[0], "METRICS_ADDR=" + pair[1]}, ""); err == nil {
			t.Errorf("%v are taken", pair)
		}
	}
}

// Fractions let what takes hours in service be shown in seconds.
func TestDurationsTakeFractions(t *testing.T) {
	t.Parallel()
	if got := load(t, "SESSION_IDLE_HOURS=0.001").SessionIdle; got != 3600*time.Millisecond {
		t.Errorf("got %s", got)
	}
}

// Every field is in the table with a meaning, what is allowed and a default that is itself allowed.
func TestEverySettingIsDescribed(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for i, setting := range config.Settings() {
		field := reflect.TypeFor[config.Config]().Field(i).Name
		if setting.Name == "" || setting.Meaning == "" || setting.Allowed == "" || setting.Default == "" || seen[setting.Name] {
			t.Errorf("%s is not described: %+v", field, setting)
		}
		seen[setting.Name] = true
	}
}
