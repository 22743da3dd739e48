package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/config"
)

// broken names every file of testdata with what its faults say, one string a line of the error.
var broken = map[string][]string{
	"rate-word":                            {"API_TOKEN_RATE_LIMIT_READ=\"plenty\": must be a limit such as `120 per minute`"},
	"rate-zero-per-minute":                 {"API_TOKEN_RATE_LIMIT_WRITE=\"0 per minute\": a rate allows 1 to 1000000000 requests; `0` alone switches the limit off"},
	"rate-too-many-requests":               {"SESSION_RATE_LIMIT=\"1000000001 per day\": a rate allows 1 to 1000000000 requests"},
	"rate-window-too-long":                 {"SESSION_RATE_LIMIT=\"10 per 367 days\": a window is 1 second to 366 days"},
	"rate-window-zero":                     {"SESSION_RATE_LIMIT=\"10 per 0 seconds\": a window is 1 second to 366 days"},
	"rate-same-window":                     {"LOGIN_RATE_LIMIT=\"10 per minute;20 per 60 seconds\": two rates have the same window (per minute)"},
	"rate-trailing-separator":              {"LOGIN_RATE_LIMIT=\"10 per minute;\": a rate is missing beside a separator"},
	"rate-thousands-comma":                 {"REGISTER_RATE_LIMIT=\"1,000 per hour\": must be a limit such as"},
	"rate-nine":                            {"at most 8 rates make one limit"},
	"rate-zero-among-others":               {"API_STATUS_RATE_LIMIT=\"0;10 per minute\": must be a limit such as"},
	"rate-negative":                        {"API_TOKEN_CREATE_RATE_LIMIT=\"-1\": must be a limit such as"},
	"number-fraction":                      {"RATE_LIMIT_AI_PER_USER_PER_MINUTE=\"1.5\": must be a whole number from 0 to 1000000000; 0 for no limit"},
	"number-negative":                      {"API_MAX_TOKENS_PER_USER=\"-1\": must be a whole number from 0 to 100000; 0 for no limit"},
	"number-above":                         {"MAX_UPLOAD_MB=\"1048577\": must be a whole number from 0 to 1048576"},
	"number-plus":                          {"MAX_UPLOAD_MB=\"+5\": must be a whole number"},
	"number-unit":                          {"MAX_UPLOAD_MB=\"500MB\": must be a whole number"},
	"number-int64":                         {"JOBS_MAX_CONCURRENT_PER_ORG=\"99999999999999999999\": must be a whole number from 0 to 1000"},
	"connections-one":                      {"DATABASE_MAX_CONNECTIONS=\"1\": must be a whole number from 2 to 1000"},
	"duration-go":                          {"SHUTDOWN_TIMEOUT_SECONDS=\"20s\": must be 0.1 to 600 seconds"},
	"duration-zero":                        {"HTTP_HANDLER_TIMEOUT_SECONDS=\"0\": must be 0.1 to 600 seconds"},
	"duration-not-a-number":                {"UPLOAD_STALL_TIMEOUT_SECONDS=\"NaN\": must be 0.1 to 3600 seconds"},
	"heartbeat-too-slow":                   {"JOB_DEAD_AFTER_SECONDS=\"10\": must be at least three times JOB_HEARTBEAT_SECONDS (5)"},
	"dead-after-too-long":                  {"JOB_DEAD_AFTER_SECONDS=\"25\": must be 0.5 to 15 seconds"},
	"idle-beyond-lifetime":                 {"SESSION_IDLE_HOURS=\"25\": must be at most SESSION_LIFETIME_HOURS (24)"},
	"bool-word":                            {"API_ALLOW_QUERY_TOKEN=\"maybe\": must be true or false"},
	"smtp-password-in-the-clear":           {"SMTP_URL=smtp://…: must not switch STARTTLS off beside a user"},
	"smtp-without-sender":                  {"MAIL_FROM: is required with SMTP_URL"},
	"smtp-other-scheme":                    {"SMTP_URL=mail://post.example.org: must be smtp://user:password@host:587"},
	"mail-from-no-address":                 {"MAIL_FROM=\"notes\": must be an address such as notes@example.org"},
	"oidc-alone":                           {"OIDC_CLIENT_ID: is required with OIDC_ISSUER", "PUBLIC_URL: is required with OIDC_ISSUER, which sends browsers back there"},
	"oidc-issuer-with-query":               {"OIDC_ISSUER=\"https://login.example.org/?tenant=a\": must be an address"},
	"oidc-scopes-without-openid":           {"OIDC_SCOPES=\"email profile\": must be at most 20 scopes"},
	"oidc-role-that-cannot-be-given":       {"OIDC_ROLE_MAP=\"bosses=owner\": \"owner\" is no role that can be given; it must be admin, editor or viewer"},
	"oidc-role-twice":                      {"OIDC_ROLE_MAP=\"a=admin,a=viewer\": \"a\" stands in it twice"},
	"registration-word":                    {"REGISTRATION=\"frist\": must be first, open, invite or closed"},
	"log-level-offset":                     {"LOG_LEVEL=\"info+2\": must be debug, info, warn or error"},
	"listen-no-port":                       {"LISTEN_ADDR=\"127.0.0.1\": must be an address and port such as 127.0.0.1:8899"},
	"listen-bare-ipv6":                     {"LISTEN_ADDR=\"::1:8899\": must be an address and port"},
	"listen-off":                           {"LISTEN_ADDR=\"off\": must be an address and port"},
	"metrics-on-the-same-port":             {"METRICS_ADDR=\"127.0.0.1:8899\": must differ from LISTEN_ADDR (:8899)"},
	"public-url-without-scheme":            {"PUBLIC_URL=\"notes.example.org\": must be an address such as https://notes.example.org"},
	"public-url-with-query":                {"PUBLIC_URL=\"https://notes.example.org/?a=b\": must be an address such as"},
	"database-mysql":                       {"DATABASE_URL=mysql://…: must be sqlite:///absolute/path.db"},
	"database-in-memory":                   {"DATABASE_URL=sqlite://:memory:: must name a file"},
	"database-keywords":                    {"DATABASE_URL=(not shown): must be sqlite:///absolute/path.db, sqlite://relative/path.db or postgres://"},
	"database-password-breaks-the-address": {"DATABASE_URL=(not shown): must be sqlite:///absolute/path.db"},
	"postgres-without-key":                 {"SECRET_KEY: is required with PostgreSQL"},
	"secret-key-short":                     {"SECRET_KEY=(not shown): must be at least 16 bytes"},
	"poll-slower-than-the-promise":         {"CREDENTIAL_POLL_MILLISECONDS=\"1000\": must be 10 to 900 milliseconds"},
	"chunk-limit-bare":                     {"CHUNK_LIMIT=\"20\": must be a size such as 20MB, or a length such as 1200s or 20m"},
	"budget-negative":                      {"AI_MONTHLY_BUDGET_USD=\"-5\": must be US dollars from 0 to 1000000000, such as 25 or 12.50, with at most six digits behind the point"},
	"budget-below-a-micro-dollar":          {"AI_MONTHLY_BUDGET_USD=\"0.0000001\": must be US dollars from 0 to 1000000000, such as 25 or 12.50, with at most six digits behind the point"},
	"stream-of-no-time":                    {"AI_STREAM_IDLE_TIMEOUT_SECONDS=\"0\": must be 0.1 to 3600 seconds"},
	"webhook-schedule-bare":                {"WEBHOOK_RETRY_SCHEDULE=\"0,30,120\": must be 1 to 20 waits such as 0s,30s,2m,1h, each at most 168h, separated by commas"},
	"webhook-hosts-open":                   {"WEBHOOK_INTRANET_HOST_ALLOWLIST=\"n8n)|(\": must be a regular expression of at most 1000 characters, without spaces"},
	"hold-of-nothing":                      {"BUDGET_HOLD_SECONDS=\"0\": must be 0.3 to 600 seconds"},
	"changes-settle-never":                 {"RECORDING_CHANGES_SETTLE_MILLISECONDS=\"0\": must be 10 to 60000 milliseconds"},
	"text-models-nameless":                 {"TEXT_MODELS_ALLOWED=\"big,,small\": must be at most 100 names"},
	"public-sharing-word":                  {"ENABLE_PUBLIC_SHARING=\"sometimes\": must be true or false"},
	"audio-redirect-word":                  {"AUDIO_REDIRECT=\"302\": must be true or false"},
	"audit-for-a-moment":                   {"AUDIT_DAYS=\"0.5\": must be 1 to 3650 days"},
	"tombstones-for-ever":                  {"RECORDING_TOMBSTONE_DAYS=\"3651\": must be 0.001 to 3650 days"},
	"files-relative":                       {"FILE_STORAGE_URL=file://files: must be file:///absolute/path or s3://bucket"},
	"files-ftp":                            {"FILE_STORAGE_URL=ftp://example.org/files: must be file:///absolute/path"},
	"limits-word":                          {"RATELIMIT_STORAGE_URI=(not shown): must be memory://, database://, redis://"},
	"limits-other-scheme":                  {"RATELIMIT_STORAGE_URI=memcached://127.0.0.1:11211: must be memory://, database://, redis://"},
	"limits-database-named":                {"RATELIMIT_STORAGE_URI=database://notes: must be memory://, database://, redis://"},
	"limits-database-number":               {"RATELIMIT_STORAGE_URI=redis://localhost:6379/main: has a database that is no number from 0 to 1023; must be redis://[user:password@]host[:port][/number]"},
	"limits-options":                       {"RATELIMIT_STORAGE_URI=redis://localhost:6379/0?…: has options (a ? in a password must be percent-encoded); must be redis://"},
	"limits-no-master":                     {"RATELIMIT_STORAGE_URI=redis+sentinel://…: names no master that the Sentinels can know; must be redis+sentinel://"},
	"limits-user-without-password":         {"RATELIMIT_STORAGE_URI=redis://…: has no password before the @; a password alone is written :password@; must be redis://"},
	"limits-password-with-slash":           {"RATELIMIT_STORAGE_URI=(not shown): has a host or a port that cannot be one; special characters of a password must be percent-encoded; must be redis://"},
	"limits-cluster-database":              {"asks for a database, and a cluster has only number 0; must be redis+cluster://"},
	"on-storage-error-two-words":           {"RATELIMIT_ON_STORAGE_ERROR=\"local,deny\": must be three words, for reads, writes and paid work, each local or deny"},
	"on-storage-error-allow":               {"RATELIMIT_ON_STORAGE_ERROR=\"allow,local,deny\": \"allow\" is neither local nor deny"},
	"storage-timeout-long":                 {"RATELIMIT_STORAGE_TIMEOUT_MILLISECONDS=\"6000\": must be 10 to 5000 milliseconds"},
	"proxies-many":                         {"TRUSTED_PROXY_COUNT=\"17\": must be a whole number from 0 to 16"},
	"proxies-two-names":                    {"TRUSTED_PROXY_HOPS=\"2\": is the older name of TRUSTED_PROXY_COUNT, which says \"1\"; set one of them"},
	"networks-host-bits":                   {"TRUSTED_PROXY_NETWORKS=\"10.0.0.1/8\": \"10.0.0.1/8\" is an address inside a network; write 10.0.0.0/8"},
	"networks-name":                        {"\"proxy.internal\" is not a network or an address"},
	"speech-openai-without-key":            {"TRANSCRIPTION_API_KEY: is required by openai_whisper at OpenAI"},
	"speech-transcribe-without-key":        {"TRANSCRIPTION_API_KEY: is required by openai_transcribe at OpenAI"},
	"speech-asr-without-address":           {"ASR_BASE_URL: is required by asr_endpoint"},
	"speech-azure":                         {"TRANSCRIPTION_BASE_URL=https://notes.openai.azure.com: must be an OpenAI-compatible server"},
	"speech-unknown-engine":                {"TRANSCRIPTION_CONNECTOR=\"mistral\": must be embedded, openai_whisper, openai_transcribe or asr_endpoint"},
	"speech-key-with-space":                {"TRANSCRIPTION_API_KEY=(not shown): must be printable ASCII without spaces"},
	"speech-address-with-query":            {"ASR_BASE_URL=http://asr:9000/?…: must be an address that begins with http://"},
	"file-line-without-equals":             {"testdata/file-line-without-equals.env line 2: is not NAME=value"},
	"file-open-quote":                      {"testdata/file-open-quote.env line 1: has a quote that is not closed on its line"},
	"file-behind-the-quote":                {"testdata/file-behind-the-quote.env line 1: has text behind the closing quote"},
	"many-faults": {
		"testdata/many-faults.env line 7: is not NAME=value",
		"LISTEN_ADDR=\"8899\": must be an address and port",
		"SECRET_KEY=(not shown): must be at least 16 bytes",
		"API_TOKEN_RATE_LIMIT_READ=\"120 a minute\": must be a limit such as",
		"RATE_LIMIT_AI_PER_ORG_PER_MINUTE=\"many\": must be a whole number from 0 to 1000000000; 0 for no limit",
		"TRANSCRIPTION_API_KEY: is required by openai_whisper at OpenAI",
	},
}

// A wrong value stops the start, every fault is told at once on a line of its own, and no secret is in any of them.
func TestABrokenConfigurationSaysAllThatIsWrong(t *testing.T) {
	t.Parallel()
	for name, lines := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loaded, _, err := config.Load(nil, filepath.Join("testdata", name+".env"))
			if loaded != nil {
				t.Error("a configuration came with the faults")
			}
			var faults config.Faults
			if !errors.As(err, &faults) {
				t.Fatalf("got %v, want faults", err)
			}
			got := strings.Split(err.Error(), "\n")
			if len(got) != len(lines) {
				t.Fatalf("got %d faults, want %d:\n%v", len(got), len(lines), err)
			}
			for i, want := range lines {
				if !strings.Contains(got[i], want) {
					t.Errorf("fault %d is\n%s\nand should contain\n%s", i, got[i], want)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the faults show a secret: %v", err)
			}
		})
	}
}

// Every broken file is in the table, so that none is kept untested.
func TestEveryBrokenFileIsTested(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name, isEnv := strings.CutSuffix(file.Name(), ".env")
		if _, listed := broken[name]; isEnv && !listed {
			t.Errorf("%s is not in the table", file.Name())
		}
	}
}

// Each variable that takes no free text refuses text: none of them falls back to its default.
func TestNoSettingFallsBackToItsDefault(t *testing.T) {
	t.Parallel()
	free := map[string]bool{"DATA_DIR": true, "OIDC_CLIENT_ID": true, "OIDC_ROLE_CLAIM": true, "TRANSCRIPTION_MODEL": true, "TEXT_MODEL_NAME": true, "TEXT_MODELS_ALLOWED": true, "PRICES_FILE": true, "SECRET_KEY": true, "TRANSCRIPTION_API_KEY": true, "TEXT_MODEL_API_KEY": true}
	for _, setting := range config.Settings() {
		if free[setting.Name] {
			continue
		}
		_, _, err := config.Load([]string{setting.Name + "=certainly not a value"}, "")
		if err == nil || !strings.HasPrefix(err.Error(), setting.Name+"=") {
			t.Errorf("%s: got %v, want a fault of it", setting.Name, err)
		}
	}
}
