package models

import "time"

// The rows. Each struct is one table; the SQL under migrations/ makes the tables, a test compares the two.
// Times are UTC. Ids are never used twice (AUTOINCREMENT, identity columns), also after a row is gone.

// Organization pays for and bounds the work of its accounts.
type Organization struct {
	ID       int64  `gorm:"primaryKey"`
	Slug     string // unique, 1-63 of a-z 0-9 -
	Name     string
	TimeZone string // IANA name; months are counted in it
	// What stands for members that say nothing themselves: of summaries, and for the speech engine.
	SummaryPrompt *string
	InitialPrompt *string
	CreatedAt     time.Time
}

// User is an account. It belongs to one organization for its whole life.
type User struct {
	ID             int64 `gorm:"primaryKey"`
	OrganizationID int64
	Email          string // unique, lower case
	Username       string // unique
	PasswordHash   string // argon2id in PHC form
	Role           string // one of auth.Roles, kept by a CHECK
	InstanceAdmin  bool   // the first account
	SessionEpoch   int64  // sessions of an older epoch are dead: raised by a change of password or role
	DisabledAt     *time.Time
	ErasingAt      *time.Time // since when it is being erased; it is disabled then, for good
	// AutoSummarization is nil while nothing was chosen, which counts as yes.
	AutoSummarization *bool
	SummaryPrompt     *string
	OutputLanguage    *string
	ExtractEvents     bool
	CreatedAt         time.Time
}

// Session is a signed-in browser. The hash is all that is kept of its cookie, which cannot be read back from it. What is
// null was not written by the version before this one.
type Session struct {
	ID        int64  `gorm:"primaryKey"`
	TokenHash string // unique
	Data      []byte
	ExpiresAt time.Time
	UserID    *int64
	Epoch     *int64 // the account's when it began; a session of another is over
	CreatedAt *time.Time
	SeenAt    *time.Time
	Address   *string
	UserAgent *string
}

// APIToken is a credential of an account. The plaintext is not kept.
type APIToken struct {
	ID        int64 `gorm:"primaryKey"`
	UserID    int64
	Name      string
	TokenHash string // SHA-256, lower-case hex, unique
	Scopes    string // sorted, separated by spaces; "full" for all
	ExpiresAt *time.Time
	RevokedAt *time.Time
	// ReplacedBy is the token that a rotation made of this one: while both live the pair counts once.
	ReplacedBy      *int64
	LastUsedAt      *time.Time
	LastUsedAddress *string
	// Administration is the mark without which a token administers nothing, whatever its scopes.
	Administration bool
	// RateLimits is a JSON object of what the owner wants less for it, by category: {"read":"10 per minute"}.
	RateLimits *string
	CreatedAt  time.Time
}

// TableName keeps the wire's plural apart from gorm's guess.
func (APIToken) TableName() string { return "api_tokens" }

// ChangeCounter counts changes that every process must hear of; processes poll it.
type ChangeCounter struct {
	Name  string `gorm:"primaryKey"` // "credentials", "figures", "settings"
	Value int64
}

// LimitFigure is what an administrator gave one organization, account or token in place of a limit's configured
// figure. Exactly one of the three is set.
type LimitFigure struct {
	ID             int64 `gorm:"primaryKey"`
	OrganizationID *int64
	UserID         *int64
	TokenID        *int64
	Plan           string // name of a row of limits.Plans
	Figures        string // as config.ParseRates reads it
}

// Recording is an accepted audio or video file and what is known of it. The transcript is in tables of its own.
type Recording struct {
	ID               int64 `gorm:"primaryKey"`
	OrganizationID   int64
	UserID           int64
	Title            *string
	TitleByUser      bool // typed by a person: automatic titles leave it
	Participants     *string
	Notes            *string
	Summary          *string
	Status           string  // PENDING QUEUED PROCESSING SUMMARIZING COMPLETED FAILED
	ErrorMessage     *string // our words, for the owner; set when FAILED
	ErrorCode        *string // stable, set when FAILED
	OriginalFilename *string // a label only
	MimeType         *string // found by content
	FileSize         int64
	SHA256           string // lower-case hex of the stored bytes
	StorageKey       string // made by the server; empty once the media is gone
	AudioDeletedAt   *time.Time
	AudioDuration    *float64 // seconds, measured by decoding
	MeetingDate      *time.Time
	Language         *string
	MinSpeakers      *int
	MaxSpeakers      *int
	Hotwords         *string
	InitialPrompt    *string
	Model            *string // transcription_model of the request
	PromptVariables  *string // JSON object of texts
	Source           *string // what brought it in where that was no upload: asr_voice_recorder, hook, import
	IsInbox          bool
	IsHighlighted    bool
	IsArchived       bool
	FolderID         *int64
	// JobID is the River job that is to transcribe it; 0 when none is.
	JobID int64
	// WorkToken fences the work: only the worker that wrote it may finish. Empty when nobody works.
	WorkToken string
	// AICharged is true once one unit of the AI limits was charged for the present transcription,
	// by the request or by the job: a retry charges nothing more.
	AICharged                    bool
	ProcessingSeconds            *float64
	TranscriptionDurationSeconds *int64
	SummarizationDurationSeconds *int64
	// SummaryApprovedAt is when a person approved the present summary, SummaryApprovedBy their account's id.
	SummaryApprovedAt *time.Time
	SummaryApprovedBy *int64
	CompletedAt       *time.Time
	CreatedAt         time.Time
	UpdatedAt         time.Time
}

// Transcript is the result of one transcription; a new one replaces it whole.
type Transcript struct {
	RecordingID int64 `gorm:"primaryKey"`
	// Kind is "segments" or "plain". Plain transcripts have text and no times.
	Kind     string
	Text     string // the plain text; empty for segments
	Language *string
	Engine   string
	Model    *string
	// Gaps is a JSON array of {start_time, end_time, reason}: parts that an engine could not transcribe.
	Gaps      string
	CreatedAt time.Time
}

// TranscriptSegment is one timed utterance. Times are finite, ordered, and lie within the decoded length.
type TranscriptSegment struct {
	RecordingID  int64 `gorm:"primaryKey"`
	Position     int   `gorm:"primaryKey"` // from 0
	StartSeconds *float64
	EndSeconds   *float64
	Speaker      *string
	SpeakerLabel *string // as the engine said it, kept when the speaker is renamed
	SpeakerID    *int64  // the account's Speaker that the label was given to
	Text         string
}

// OutboxEvent is something that happened, written in the transaction in which it happened: the record of what there
// was to say, kept whether or not anybody was told.
type OutboxEvent struct {
	ID             int64  `gorm:"primaryKey"`
	EventID        string // UUID, unique
	OrganizationID int64
	UserID         int64 // owner of the thing it is about
	RecordingID    *int64
	Type           string // a row of webhooks.Events
	Data           string // JSON object
	OccurredAt     time.Time
	// Sequence is which event of its recording it is, 0 for those about none; nil until it was handed to the endpoints.
	Sequence *int64
}

// Process is a running server; it renews SeenAt while it lives.
type Process struct {
	ID            string `gorm:"primaryKey"`
	Role          string // all, web, worker
	LimitsStorage string // scheme of RATELIMIT_STORAGE_URI: "memory" means that its counts are its own
	Version       string
	StartedAt     time.Time
	SeenAt        time.Time
}
