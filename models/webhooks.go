package models

import "time"

// Webhook is an endpoint: an address of a user's choice that is told of events.
type Webhook struct {
	ID             int64 `gorm:"primaryKey"`
	OrganizationID int64
	UserID         int64
	Scope          string // "user" or "organization": whose events
	Name           string
	URL            string
	AllowHTTP      bool    `gorm:"column:allow_http"`
	Secret         string  // sealed
	PreviousSecret *string // sealed; signs too until PreviousSecretUntil
	// PreviousSecretUntil ends the overlap of a rotation.
	PreviousSecretUntil *time.Time
	Events              string // JSON array of types
	IncludeShared       bool
	IncludeContent      bool // titles and references may be sent
	// Enabled is false when it was switched off, by its owner, by a 410, or with AutoPaused by too many failures.
	Enabled             bool
	AutoPaused          bool
	ConsecutiveFailures int
	// TrialAt is when one delivery is tried of an endpoint that is paused; nil for never.
	TrialAt        *time.Time
	LastSuccessAt  *time.Time
	LastDeliveryAt *time.Time
	// JobID is the job that delivers to it, believed to live until BusyUntil.
	JobID     int64
	BusyUntil *time.Time
	CreatedAt time.Time
	UpdatedAt time.Time
}

// WebhookDelivery is one event on its way to one endpoint, and afterwards what came of it.
type WebhookDelivery struct {
	ID          int64 `gorm:"primaryKey"`
	WebhookID   int64
	EventID     string
	EventType   string
	RecordingID *int64 // nil where no order is kept
	OwnerUserID *int64 // whose thing the event is about; nil for none
	Sequence    int64
	Payload     string // the bytes that are sent, each time the same
	Status      string // pending, failed (will be tried again), success, permanent_failure, dropped
	Attempts    int
	// DueAt is when it may be tried next; nil when it is over.
	DueAt *time.Time
	// Waited is true of what waited for an endpoint that was paused: such are sent at a bounded rate.
	Waited         bool
	Reason         *string // of the last failure, or of its being dropped
	ResponseStatus *int
	ResponseBody   *string // its beginning
	DurationMS     *int64  `gorm:"column:duration_ms"`
	CreatedAt      time.Time
	DeliveredAt    *time.Time
	FinishedAt     *time.Time
	ReplayedAt     *time.Time
}
