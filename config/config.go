// Package config turns the environment and a `.env` file into one checked struct. Nothing else in the program reads
// the environment. A value that is wrong is never replaced by a default: Load reports every fault at once and the
// program does not start.
package config

import (
	"log/slog"
	"net/netip"
	"time"
)

// Config is every setting of the server, one field a variable. Its tags are the one table that parsing, the faults and
// the user guide are made of:
//
//   - env: the variable; alias: an older name of the same.
//   - default: used when the variable is unset or empty; derived: how the user guide writes a default that depends on
//     other settings (defaults.go computes it).
//   - rule: what is allowed, by the field's type: "1..10" for numbers and durations (in the unit that ends the
//     variable's name), "a|b" for words, else the name of a rule in text.go.
//   - off: on a number that is a limit, which 0 switches off. Rates are limits always.
//   - doc: the sentence of the user guide.
type Config struct {
	ListenAddr     string   `env:"LISTEN_ADDR" default:"127.0.0.1:8899" rule:"address" doc:"Where the server listens."`
	MetricsAddr    string   `env:"METRICS_ADDR" rule:"address-or-off" derived:"off" doc:"Where Prometheus metrics are served, on a port of their own and without a credential; keep it private."`
	PublicURL      string   `env:"PUBLIC_URL" rule:"public-url" doc:"The server's address as its users see it. With https, session cookies are marked Secure."`
	AllowedOrigins []string `env:"CORS_ALLOWED_ORIGINS" rule:"origins" doc:"Other sites whose pages may call the API from a browser with a token. There is no wildcard."`
	DataDir        string   `env:"DATA_DIR" default:"./data" rule:"directory" doc:"Folder of the embedded database, files and the secret key. It is made with mode 0700."`
	DatabaseURL    Location `env:"DATABASE_URL" rule:"database" derived:"sqlite://DATA_DIR/stenometer.db" doc:"The database."`

	DatabaseMaxConnections int      `env:"DATABASE_MAX_CONNECTIONS" rule:"2..1000" derived:"20 (SQLite: 4)" doc:"Connections of the PostgreSQL pool; with SQLite, connections that read (one writes)."`
	FileStorageURL         Location `env:"FILE_STORAGE_URL" rule:"files" derived:"file://DATA_DIR/files" doc:"Where recordings are stored."`
	SecretKey              Secret   `env:"SECRET_KEY" rule:"secret-key" derived:"made in DATA_DIR/secret.key; required with PostgreSQL" doc:"Encrypts stored secrets. Keep it: what it has encrypted cannot be read without it."`

	RateLimitStorageURI  Location       `env:"RATELIMIT_STORAGE_URI" default:"memory://" rule:"limits" doc:"Where requests are counted. memory:// counts per process; several processes share a Redis or database://."`
	OnStorageError       OnStorageError `env:"RATELIMIT_ON_STORAGE_ERROR" default:"local,local,deny" doc:"What happens while that storage does not answer, for requests that read (local), write (local) and start paid work (deny): each process counts for itself, with the figures divided by the processes alive, or the request is refused (503). Signing in follows the second word, places for jobs the third."`
	StorageTimeout       time.Duration  `env:"RATELIMIT_STORAGE_TIMEOUT_MILLISECONDS" default:"100" rule:"10..5000" doc:"The longest that one request waits for that storage before RATELIMIT_ON_STORAGE_ERROR decides."`
	StorageProbe         time.Duration  `env:"RATELIMIT_STORAGE_PROBE_MILLISECONDS" default:"500" rule:"10..10000" doc:"While that storage does not answer: how often it is asked whether it does again. Requests do not wait for it meanwhile."`
	LimitsSweep          time.Duration  `env:"RATELIMIT_SWEEP_SECONDS" default:"30" rule:"0.1..3600" doc:"How often counters that count nothing any more are let go, and memory is given back when a busy time has ended."`
	LimitsLook           time.Duration  `env:"RATELIMIT_LOOK_SECONDS" default:"2" rule:"0.1..60" doc:"How often that storage is asked whether it has forgotten what was counted."`
	TrustedProxyCount    int            `env:"TRUSTED_PROXY_COUNT" alias:"TRUSTED_PROXY_HOPS" default:"0" rule:"0..16" doc:"How many reverse proxies of yours stand in front of the server; 0 believes no forwarding header."`
	TrustedProxyNetworks []netip.Prefix `env:"TRUSTED_PROXY_NETWORKS" default:"127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7" rule:"networks" doc:"Networks of those proxies. Forwarding headers from any other peer are not believed."`

	TokenRateRead    Rates `env:"API_TOKEN_RATE_LIMIT_READ" default:"120 per minute" doc:"Requests of one token that read."`
	TokenRateWrite   Rates `env:"API_TOKEN_RATE_LIMIT_WRITE" default:"30 per minute" doc:"Requests of one token that change something."`
	TokenRateProcess Rates `env:"API_TOKEN_RATE_LIMIT_PROCESS" default:"10 per minute" doc:"Requests of one token that start paid work."`
	UserRateRead     Rates `env:"API_USER_RATE_LIMIT_READ" derived:"twice API_TOKEN_RATE_LIMIT_READ: 240 per minute" doc:"Reading requests of one account over all its tokens. Where the token limit is off: twice that limit's default."`
	UserRateWrite    Rates `env:"API_USER_RATE_LIMIT_WRITE" derived:"twice API_TOKEN_RATE_LIMIT_WRITE: 60 per minute" doc:"Changing requests of one account over all its tokens. Where the token limit is off: twice that limit's default."`
	UserRateProcess  Rates `env:"API_USER_RATE_LIMIT_PROCESS" derived:"twice API_TOKEN_RATE_LIMIT_PROCESS: 20 per minute" doc:"Requests of one account, over all its tokens, that start paid work. Where the token limit is off: twice that limit's default."`
	StatusRate       Rates `env:"API_STATUS_RATE_LIMIT" default:"600 per minute" doc:"Status requests of one account; they count here instead of among the reading ones."`
	TokenCreateRate  Rates `env:"API_TOKEN_CREATE_RATE_LIMIT" default:"10 per hour" doc:"Tokens that one account creates over HTTP."`
	SearchRate       Rates `env:"API_SEARCH_RATE_LIMIT" default:"30 per minute" doc:"Searches of one account, besides its reading requests."`
	ImportRate       Rates `env:"IMPORT_RATE_LIMIT" default:"20 per hour" doc:"Requests of one account by which this server calls others. An import is one."`
	TokenChangeRate  Rates `env:"API_TOKEN_CHANGE_RATE_LIMIT" default:"20 per hour" doc:"Changes to its tokens that one account makes."`
	SessionRate      Rates `env:"SESSION_RATE_LIMIT" default:"1000 per hour;5000 per day" doc:"Requests from one address with a session cookie or no credential; requests with a token are not counted."`
	LoginRate        Rates `env:"LOGIN_RATE_LIMIT" default:"10 per minute" doc:"Sign-in attempts from one address, by password or OpenID Connect, and passwords that were forgotten or reset."`
	RegisterRate     Rates `env:"REGISTER_RATE_LIMIT" default:"5 per hour" doc:"Registrations from one address, accepted invites among them."`
	AuthFailureRate  Rates `env:"AUTH_FAILURE_RATE_LIMIT" default:"30 per minute" doc:"Answers 401 to one address; beyond it they become 429. A valid credential is never refused by it."`

	AIPerUserPerMinute int `env:"RATE_LIMIT_AI_PER_USER_PER_MINUTE" default:"20" rule:"0..1000000000" off:"0" doc:"Requests a minute that start paid work, of one account."`
	AIPerOrgPerMinute  int `env:"RATE_LIMIT_AI_PER_ORG_PER_MINUTE" default:"100" rule:"0..1000000000" off:"0" doc:"The same, of one organization."`
	AIPerIPPerMinute   int `env:"RATE_LIMIT_AI_PER_IP_PER_MINUTE" default:"200" rule:"0..1000000000" off:"0" doc:"The same, from one address."`
	MaxTokensPerUser   int `env:"API_MAX_TOKENS_PER_USER" default:"10" rule:"0..100000" off:"0" doc:"Active tokens of one account."`

	TokensManageByToken bool          `env:"API_TOKENS_MANAGE_BY_TOKEN" default:"false" doc:"Whether a token without scopes (a full one) may manage the account's tokens."`
	AllowQueryToken     bool          `env:"API_ALLOW_QUERY_TOKEN" default:"false" doc:"Whether a full token may be sent as ?token= on GET. Addresses end up in logs and histories."`
	Registration        string        `env:"REGISTRATION" default:"first" rule:"first|open|invite|closed" doc:"Who may register: the first account only, everybody, who was invited, or nobody. Whoever was invited may under each of the four."`
	SessionLifetime     time.Duration `env:"SESSION_LIFETIME_HOURS" default:"336" rule:"0.001..8760" doc:"Hours after which a session ends, used or not."`
	SessionIdle         time.Duration `env:"SESSION_IDLE_HOURS" default:"72" rule:"0.001..8760" doc:"Hours after which an unused session ends."`
	CredentialPoll      time.Duration `env:"CREDENTIAL_POLL_MILLISECONDS" default:"300" rule:"10..900" doc:"How often a process asks the database for revoked and changed credentials."`

	SMTPURL           Location      `env:"SMTP_URL" rule:"smtp" doc:"The server that takes mail: smtp://user:password@host:587 speaks STARTTLS and sends nothing without it, smtps://host:465 is TLS from the start. ?starttls=off is for a server next door, without a password."`
	MailFrom          string        `env:"MAIL_FROM" rule:"mail-address" doc:"The sender of that mail. Required with SMTP_URL."`
	MailTimeout       time.Duration `env:"SMTP_TIMEOUT_SECONDS" default:"20" rule:"0.1..300" doc:"The longest that sending one mail may take; it is tried again later."`
	PasswordResetLife time.Duration `env:"PASSWORD_RESET_HOURS" default:"1" rule:"0.0001..168" doc:"How long the link of a forgotten password can be used."`

	InviteMailEvery time.Duration `env:"INVITE_MAIL_SECONDS" default:"900" rule:"0.1..86400" doc:"The time within which an address is mailed one invite of an organization. Further ones are shown to who invites, and not mailed."`

	OIDCIssuer       string        `env:"OIDC_ISSUER" rule:"issuer" doc:"Issuer of OpenID Connect by which people may sign in, exactly as it calls itself. Needs PUBLIC_URL: the address to register there is PUBLIC_URL/api/auth/oidc/callback."`
	OIDCClientID     string        `env:"OIDC_CLIENT_ID" rule:"model" doc:"The server's name at the issuer. Required with OIDC_ISSUER."`
	OIDCClientSecret Secret        `env:"OIDC_CLIENT_SECRET" rule:"api-key" derived:"none: a public client" doc:"Its secret."`
	OIDCScopes       string        `env:"OIDC_SCOPES" default:"openid email profile" rule:"oidc-scopes" doc:"What the issuer is asked for."`
	OIDCRoleClaim    string        `env:"OIDC_ROLE_CLAIM" default:"groups" rule:"model" doc:"The claim, a text or a list of texts, by which roles are given."`
	OIDCRoleMap      RoleMap       `env:"OIDC_ROLE_MAP" doc:"Which value of that claim gives which role, as idp-admins=admin,staff=editor. With it the claim decides at each sign-in, the role with most verbs counts, and who has none of the values is a viewer. Without it roles are given here."`
	OIDCAutoRegister bool          `env:"OIDC_AUTO_REGISTER" default:"true" doc:"Whether who signs in by OpenID Connect for the first time gets an account, whatever REGISTRATION says."`
	OIDCStateLife    time.Duration `env:"OIDC_STATE_SECONDS" default:"600" rule:"0.1..3600" doc:"How long a sign-in at the issuer may take."`

	TranscriptionConnector string        `env:"TRANSCRIPTION_CONNECTOR" rule:"embedded|openai_whisper|openai_transcribe|asr_endpoint" derived:"by the other speech settings; embedded without any" doc:"The speech engine."`
	TranscriptionBaseURL   Location      `env:"TRANSCRIPTION_BASE_URL" rule:"http" derived:"https://api.openai.com/v1" doc:"Base address of an OpenAI-compatible speech server."`
	TranscriptionAPIKey    Secret        `env:"TRANSCRIPTION_API_KEY" rule:"api-key" derived:"none; required with OpenAI" doc:"Its key."`
	TranscriptionModel     string        `env:"TRANSCRIPTION_MODEL" rule:"model" derived:"the engine's" doc:"Its model; one named gpt-4o… chooses openai_transcribe."`
	TranscriptionTimeout   time.Duration `env:"TRANSCRIPTION_TIMEOUT_SECONDS" default:"1800" rule:"1..86400" doc:"The longest that one call to a speech engine may take."`
	ChunkLimit             ChunkLimit    `env:"CHUNK_LIMIT" derived:"the engine's" doc:"The most that one call to a speech engine may take; longer audio is sent in parts, cut where it is quiet. For models that refuse by minutes, give minutes."`
	ASRBaseURL             Location      `env:"ASR_BASE_URL" rule:"http" doc:"Base address of an ASR service (whisper-asr-webservice, WhisperX); chooses asr_endpoint."`
	ASRDiarize             bool          `env:"ASR_DIARIZE" default:"true" doc:"Whether the ASR service tells speakers apart unless a request says otherwise."`

	TextModelBaseURL  Location      `env:"TEXT_MODEL_BASE_URL" rule:"http" derived:"https://api.openai.com/v1 when a key or a name is set" doc:"Base address of an OpenAI-compatible server of text models."`
	TextModelAPIKey   Secret        `env:"TEXT_MODEL_API_KEY" rule:"api-key" derived:"none; required with OpenAI" doc:"Its key."`
	TextModelName     string        `env:"TEXT_MODEL_NAME" rule:"model" derived:"gpt-4o-mini; the embedded engine without any of the three" doc:"Its model."`
	TextModelTimeout  time.Duration `env:"TEXT_MODEL_TIMEOUT_SECONDS" default:"120" rule:"0.1..3600" doc:"The longest that one call to a text model may take. A request that waits for an answer may take HTTP_HANDLER_TIMEOUT_SECONDS longer."`
	TextModelAttempts int           `env:"TEXT_MODEL_ATTEMPTS" default:"3" rule:"1..10" doc:"Attempts at one call to a text model; each is a line of the ledger."`
	ProviderPause     time.Duration `env:"PROVIDER_PAUSE_SECONDS" default:"5" rule:"0.01..600" doc:"How long a speech or text service is left alone after it failed several times in a row; one that says itself how long it is busy is left alone as long."`
	MaxInputChars     int           `env:"AI_MAX_INPUT_CHARS" default:"200000" rule:"0..10000000" doc:"The most characters that a request may send to a text model: question, history and prompt together. Stored text does not count."`
	AutoSummaries     bool          `env:"AUTO_SUMMARIZATION" default:"true" doc:"Whether recordings are summarized by themselves when they have their transcript. Each account can turn that off for itself."`
	TextPartChars     int           `env:"TEXT_PART_CHARS" default:"60000" rule:"1000..10000000" doc:"The most characters of a transcript in one call to a text model; a longer one is worked through in parts."`
	TextMaxParts      int           `env:"TEXT_MAX_PARTS" default:"8" rule:"1..100" doc:"The most such parts. What is beyond is left out, and the result says so."`
	SummaryMaxTokens  int           `env:"SUMMARY_MAX_TOKENS" default:"8000" rule:"1..1000000" doc:"The most tokens that a text model may write for a summary, and for each part of a long one."`
	ChatMaxTokens     int           `env:"CHAT_MAX_TOKENS" default:"2000" rule:"1..1000000" doc:"The same for an answer."`
	TitleMaxTokens    int           `env:"TITLE_MAX_TOKENS" default:"200" rule:"1..1000000" doc:"The same for a title."`
	EventMaxTokens    int           `env:"EVENT_MAX_TOKENS" default:"3000" rule:"1..1000000" doc:"The same for appointments, and for the names of speakers."`

	StreamsPerOrg     int           `env:"AI_STREAM_MAX_CONCURRENT_PER_ORG" default:"3" rule:"0..100000" doc:"Streamed answers of one organization in flight at once, over all processes that share RATELIMIT_STORAGE_URI; 0 lets none begin."`
	StreamFirstByte   time.Duration `env:"AI_STREAM_FIRST_BYTE_TIMEOUT_SECONDS" default:"60" rule:"0.1..3600" doc:"How long a text model may take to begin a streamed answer."`
	StreamIdle        time.Duration `env:"AI_STREAM_IDLE_TIMEOUT_SECONDS" default:"60" rule:"0.1..3600" doc:"How long it may be silent then."`
	StreamTotal       time.Duration `env:"AI_STREAM_TOTAL_TIMEOUT_SECONDS" default:"600" rule:"0.1..86400" doc:"The longest that all of a streamed answer may take."`
	StreamClientStall time.Duration `env:"AI_STREAM_CLIENT_STALL_TIMEOUT_SECONDS" default:"30" rule:"0.1..3600" doc:"How long a client may take nothing of a streamed answer before it is cut off."`
	StreamLease       time.Duration `env:"AI_STREAM_LEASE_SECONDS" default:"30" rule:"0.3..600" doc:"How long a stream counts as in flight after its process died."`
	StreamHeartbeat   time.Duration `env:"AI_STREAM_HEARTBEAT_SECONDS" default:"15" rule:"0.1..300" doc:"The silence after which a stream sends a comment, so that proxies keep its connection."`

	InquireMode       bool          `env:"ENABLE_INQUIRE_MODE" default:"false" doc:"Whether questions may be asked about many recordings at once."`
	InquireAgent      bool          `env:"ENABLE_INQUIRE_AGENT" default:"false" doc:"Whether the text model may look things up for such a question, in several calls."`
	AgentSteps        int           `env:"INQUIRE_AGENT_MAX_STEPS" default:"8" rule:"0..100" doc:"The most calls to the text model for one such question, the closing answer included; with 0 none is made and the question refused."`
	AgentToolCalls    int           `env:"INQUIRE_AGENT_MAX_TOOL_CALLS" default:"16" rule:"0..1000" doc:"The most look-ups for one question; with 0 it is answered without any."`
	AgentTimeout      time.Duration `env:"INQUIRE_AGENT_TIMEOUT_SECONDS" default:"120" rule:"0.1..3600" doc:"When the model is asked for its closing answer at the latest. A request that waits for the answer may take TEXT_MODEL_TIMEOUT_SECONDS and HTTP_HANDLER_TIMEOUT_SECONDS longer."`
	AgentResultTokens int           `env:"INQUIRE_AGENT_TOOL_RESULT_TOKENS" default:"4000" rule:"500..100000" doc:"The most that the model is told of one look-up, by four characters a token."`
	AgentContext      int           `env:"INQUIRE_CONTEXT_BUDGET_TOKENS" default:"24000" rule:"4000..1000000" doc:"The most that one of these calls may send, by four characters a token; older look-ups are folded up to stay below."`
	AgentToolMode     string        `env:"INQUIRE_AGENT_TOOL_MODE" default:"auto" rule:"auto|native|prompt" doc:"How the model asks for a look-up: by the tools of its interface, in plain text, or by tools until its service refuses them."`
	AgentSummaries    bool          `env:"INQUIRE_DEFAULT_ALLOW_SUMMARIES" default:"true" doc:"Whether the model may look up summaries."`
	AgentNotes        bool          `env:"INQUIRE_DEFAULT_ALLOW_NOTES" default:"false" doc:"Whether it may look up the caller's own notes."`

	TextModelsAllowed []string      `env:"TEXT_MODELS_ALLOWED" rule:"models" derived:"TEXT_MODEL_NAME alone" doc:"Further models of the same service, separated by commas, that clients of /v1 may name."`
	SyncAudioMax      time.Duration `env:"SYNC_AUDIO_MAX_SECONDS" default:"600" rule:"0..86400" doc:"The longest recording that /v1/audio/transcriptions takes while its caller waits; 0 takes none."`

	MonthlyBudget Dollars       `env:"AI_MONTHLY_BUDGET_USD" doc:"What each organization without a budget of its own may spend on models in a month."`
	PricesFile    string        `env:"PRICES_FILE" rule:"file" doc:"A file of prices that count before those that are built in."`
	HoldLease     time.Duration `env:"BUDGET_HOLD_SECONDS" default:"30" rule:"0.3..600" doc:"How long money that was kept back for a call stays so after its process died. What was not sent is given back then, a call that was is charged in full."`

	MaxUploadMB             int           `env:"MAX_UPLOAD_MB" default:"500" rule:"0..1048576" doc:"Largest file of an upload, in MiB; 0 takes no uploads."`
	SpoolMB                 int           `env:"INBOUND_SPOOL_MB" default:"2048" rule:"0..1048576" doc:"MiB kept at once, of all senders together, of what is received before its sender is known: signed hooks, and recorders that send their secret behind the file. 0 takes none of these."`
	HookWindow              time.Duration `env:"INBOUND_HOOK_WINDOW_SECONDS" default:"300" rule:"1..3600" doc:"How far the timestamp of a signed hook may be from this server's clock, on either side."`
	ImportTimeout           time.Duration `env:"IMPORT_TIMEOUT_SECONDS" default:"1800" rule:"0.1..86400" doc:"The longest that one attempt to fetch a file from an address may take."`
	JobsMaxConcurrentPerOrg int           `env:"JOBS_MAX_CONCURRENT_PER_ORG" default:"3" rule:"0..1000" doc:"Recordings of one organization that are transcribed or summarized at once, and beside them as many imports by address; with 0 they wait until it is raised."`
	JobHeartbeat            time.Duration `env:"JOB_HEARTBEAT_SECONDS" default:"2" rule:"0.1..5" doc:"How often a process says that it is alive, and looks for jobs of processes that are not."`
	JobDeadAfter            time.Duration `env:"JOB_DEAD_AFTER_SECONDS" default:"10" rule:"0.5..15" doc:"Silence after which a process counts as dead and its jobs are taken over. At least three times JOB_HEARTBEAT_SECONDS."`
	JobMaxAttempts          int           `env:"JOB_MAX_ATTEMPTS" default:"4" rule:"1..25" doc:"Attempts at a job before it is given up."`
	JobRetryBase            time.Duration `env:"JOB_RETRY_SECONDS" default:"5" rule:"0.1..3600" doc:"Wait before a job's second attempt; each further wait is four times the last."`

	HeaderTimeout      time.Duration `env:"HTTP_HEADER_TIMEOUT_SECONDS" default:"10" rule:"0.1..300" doc:"How long a client may take to send a request's headers."`
	IdleTimeout        time.Duration `env:"HTTP_IDLE_TIMEOUT_SECONDS" default:"120" rule:"0.1..3600" doc:"How long an unused connection is kept."`
	KeyLife            time.Duration `env:"IDEMPOTENCY_KEY_HOURS" default:"24" rule:"0.001..8760" doc:"How long the answer to a request with an idempotency key is kept."`
	HandlerTimeout     time.Duration `env:"HTTP_HANDLER_TIMEOUT_SECONDS" default:"30" rule:"0.1..600" doc:"How long a JSON request may take."`
	UploadStallTimeout time.Duration `env:"UPLOAD_STALL_TIMEOUT_SECONDS" default:"30" rule:"0.1..3600" doc:"How long a request body may stand still before it is refused (408)."`
	UploadLeastRate    int           `env:"UPLOAD_MIN_BYTES_PER_SECOND" default:"1024" rule:"0..1048576" off:"0" doc:"How many bytes of a request body must arrive in a second, on average beyond UPLOAD_STALL_TIMEOUT_SECONDS; a slower one is refused (408). 0 takes any."`
	ShutdownTimeout    time.Duration `env:"SHUTDOWN_TIMEOUT_SECONDS" default:"20" rule:"0.1..600" doc:"How long requests and jobs at work may take to end when the server stops."`

	DiskReserveMB int           `env:"DISK_RESERVE_MB" default:"200" rule:"0..1048576" doc:"MiB kept free on the disk of DATA_DIR; an upload that would use them is refused (507). 0 keeps none."`
	SweepInterval time.Duration `env:"SWEEP_INTERVAL_SECONDS" default:"3600" rule:"0..604800" doc:"How often the server looks for leftover files; 0 never looks."`
	SweepAge      time.Duration `env:"SWEEP_AGE_HOURS" default:"24" rule:"0.001..8760" doc:"Age below which a file is never taken for a leftover. Longer than any upload takes."`
	SweepRemove   bool          `env:"SWEEP_REMOVE" default:"true" doc:"Whether leftovers are removed, or only reported."`
	ChangesSettle time.Duration `env:"RECORDING_CHANGES_SETTLE_MILLISECONDS" default:"2000" rule:"10..60000" doc:"How long a change of a recording waits before the feed of changes tells it. Longer than the clocks of two servers differ."`
	TombstoneLife time.Duration `env:"RECORDING_TOMBSTONE_DAYS" default:"90" rule:"0.001..3650" doc:"How long the feed of changes remembers that a recording was deleted; who last followed it before that must begin a full pass. What is older is forgotten every SWEEP_INTERVAL_SECONDS."`

	AuditLife time.Duration `env:"AUDIT_DAYS" default:"365" rule:"1..3650" doc:"How long the audit log is kept. What is older is removed, hourly; nothing else of it ever is."`

	InternalSharing bool `env:"ENABLE_INTERNAL_SHARING" default:"false" doc:"Whether recordings may be shared between accounts of one organization. Switched off, what was shared is its owner's alone."`
	ShowUsernames   bool `env:"SHOW_USERNAMES_IN_UI" default:"false" doc:"Whether lists name the owners of recordings that are shared with the caller."`

	Webhooks          bool          `env:"WEBHOOK_GLOBAL_ENABLED" default:"true" doc:"Whether webhooks are sent. While they are not, events are not kept for them."`
	WebhooksPerUser   int           `env:"WEBHOOK_MAX_PER_USER" default:"10" rule:"1..1000" doc:"Webhooks of one account."`
	WebhookTimeout    time.Duration `env:"WEBHOOK_DELIVERY_TIMEOUT_SECONDS" default:"10" rule:"0.1..60" doc:"The longest that one delivery may take, the answer included."`
	WebhookRetries    Schedule      `env:"WEBHOOK_RETRY_SCHEDULE" default:"0s,30s,2m,10m,1h,6h,18h" doc:"The wait before each attempt at a delivery; a tenth more or less, and never less than the receiver's Retry-After says."`
	WebhookAttempts   int           `env:"WEBHOOK_MAX_ATTEMPTS" rule:"1..20" derived:"as many as WEBHOOK_RETRY_SCHEDULE has" doc:"The most attempts at a delivery. It only cuts that schedule."`
	WebhookPauseAfter int           `env:"WEBHOOK_AUTOPAUSE_FAILURES" default:"10" rule:"1..1000" doc:"Deliveries given up in a row after which a webhook is paused."`
	WebhookTrial      time.Duration `env:"WEBHOOK_TRIAL_INTERVAL_SECONDS" default:"3600" rule:"0..604800" doc:"How often one delivery is tried of a webhook that is paused; 0 tries none until its owner enables it."`
	WebhookDispatch   time.Duration `env:"WEBHOOK_DISPATCHER_INTERVAL_SECONDS" default:"0.3" rule:"0.02..60" doc:"How often a worker looks for events to deliver, and for deliveries that are due."`
	WebhookGrace      time.Duration `env:"WEBHOOK_SECRET_GRACE_HOURS" default:"24" rule:"0..720" doc:"How long the old secret signs beside the new one after a rotation; 0 ends it at once."`
	WebhookIntranet   HostPattern   `env:"WEBHOOK_INTRANET_HOST_ALLOWLIST" doc:"A regular expression that matches the whole host, in lower case, of addresses that may be in a private network. Link-local addresses and the server's own stay refused."`
	WebhookPendingAge time.Duration `env:"WEBHOOK_PENDING_MAX_HOURS" default:"72" rule:"0.001..8760" doc:"How long a delivery may wait, for a webhook that is paused above all, until it is dropped; it can be replayed then."`
	WebhookPendingMax int           `env:"WEBHOOK_PENDING_MAX" default:"10000" rule:"1..1000000" doc:"The most deliveries of one webhook that may wait; the oldest are dropped."`
	WebhookDrain      int           `env:"WEBHOOK_DRAIN_PER_SECOND" default:"20" rule:"1..1000" doc:"How many of those that waited are sent a second when their webhook is back."`
	WebhookLogLife    time.Duration `env:"WEBHOOK_LOG_DAYS" default:"30" rule:"0.001..3650" doc:"How long deliveries that are over are listed, and can be replayed."`

	PublicSharing bool `env:"ENABLE_PUBLIC_SHARING" default:"true" doc:"Whether recordings may be shared by a public link, at PUBLIC_URL. Switched off, or without that address, links that were made lead nowhere."`
	AudioRedirect bool `env:"AUDIO_REDIRECT" default:"false" doc:"With files in S3: whether a request for audio is sent on to the storage, by an address that gives the file to anybody for a minute, rather than streamed through the server. The page of a public link streams always."`

	LogLevel slog.Level `env:"LOG_LEVEL" default:"info" rule:"debug|info|warn|error" doc:"The least important message that is logged."`

	// set are the variables that the operator gave a value.
	set map[string]bool
}
