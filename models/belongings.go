package models

import "time"

// Folder holds recordings of its account; a recording is in one at most.
type Folder struct {
	ID int64 `gorm:"primaryKey"`
	// OrganizationID is nil for the account's own. Of what the organization shares, UserID stands for it.
	OrganizationID            *int64
	UserID                    int64
	Name                      string // unique within the account or, shared, the organization, 1-50 characters
	Color                     string // #RRGGBB
	CustomPrompt              *string
	DefaultLanguage           *string
	DefaultMinSpeakers        *int
	DefaultMaxSpeakers        *int
	DefaultHotwords           *string
	DefaultInitialPrompt      *string
	DefaultTranscriptionModel *string
	ProtectFromDeletion       bool
	RetentionDays             *int // -1 keeps for good
	AutoShareOnApply          bool // with every member; counts where the organization shares it
	ShareWithGroupLead        bool // with those who administer it; the same
	CreatedAt                 time.Time
}

// Tag marks recordings of its account.
type Tag struct {
	ID int64 `gorm:"primaryKey"`
	// OrganizationID is nil for the account's own. Of what the organization shares, UserID stands for it.
	OrganizationID      *int64
	UserID              int64
	Name                string // unique within the account or, shared, the organization, 1-50 characters
	Color               string // #RRGGBB
	CustomPrompt        *string
	DefaultLanguage     *string
	DefaultMinSpeakers  *int
	DefaultMaxSpeakers  *int
	ProtectFromDeletion bool
	AutoShareOnApply    bool // with every member; counts where the organization shares it
	ShareWithGroupLead  bool // with those who administer it; the same
	CreatedAt           time.Time
}

// RecordingTag is a tag on a recording.
type RecordingTag struct {
	RecordingID int64 `gorm:"primaryKey"`
	TagID       int64 `gorm:"primaryKey"`
	Position    int   // the order in which they were attached, with gaps
}

// VocabularyWord is a word that an organization spells so: proposed, and from AcceptedAt on accepted.
type VocabularyWord struct {
	ID             int64 `gorm:"primaryKey"`
	OrganizationID int64
	Word           string // one line, 1-100 characters
	Folded         string // unique within the organization: the word in no case
	ProposedBy     *int64
	ProposedAt     time.Time
	AcceptedBy     *int64
	AcceptedAt     *time.Time
}

// Speaker is a person whom an account knows, with the person's addresses.
type Speaker struct {
	ID         int64 `gorm:"primaryKey"`
	UserID     int64
	Name       string  // unique within the account, 1-100 characters
	Email      *string // lower case
	Aliases    string  // JSON array of strings
	UseCount   int64
	LastUsedAt *time.Time
	CreatedAt  time.Time
	UpdatedAt  time.Time
	DeletedAt  *time.Time // unseen from then on; the row stays until no transcript refers to it
}

// ExternalRef is what a recording is called in another system, as its account noted it.
type ExternalRef struct {
	ID          int64 `gorm:"primaryKey"`
	RecordingID int64
	UserID      int64
	System      string
	Kind        string
	Ref         string
	URL         *string
	Label       *string
	CreatedAt   time.Time
}

// PublicShare is a link under which anybody sees a recording.
type PublicShare struct {
	ID           int64 `gorm:"primaryKey"`
	RecordingID  int64
	UserID       int64
	PublicID     string // what stands in the link; a secret
	ShareSummary bool
	ShareNotes   bool
	ExpiresAt    *time.Time
	CreatedAt    time.Time
}

// RecordingEvent is an appointment that was spoken of.
type RecordingEvent struct {
	ID              int64 `gorm:"primaryKey"`
	RecordingID     int64
	Title           string
	Description     *string
	Starts          string  // wall clock without a zone: 2026-03-04T15:30:00
	Ends            *string // the same
	Location        *string
	Attendees       string // JSON array of objects with name and email
	ReminderMinutes *int
	CreatedAt       time.Time
}
