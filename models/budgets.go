package models

import "time"

// Budget is what an organization or an account may use in a month. Exactly one of the two is set. What is nil is not
// bounded; an organization without a row, or without Micros, has the server's default.
type Budget struct {
	ID             int64 `gorm:"primaryKey"`
	OrganizationID *int64
	UserID         *int64
	Micros         *int64 // micro-dollars
	Tokens         *int64 // of text models
	Seconds        *int64 // of audio
}

// BudgetMonth is what was spent and is held in one month of the organization's time zone.
type BudgetMonth struct {
	OrganizationID int64  `gorm:"primaryKey;autoIncrement:false"`
	UserID         int64  `gorm:"primaryKey;autoIncrement:false"` // 0 in the organization's own row
	Month          string `gorm:"primaryKey"`                     // "2026-03"
	Spent          Amount `gorm:"embedded;embeddedPrefix:spent_"`
	Held           Amount `gorm:"embedded;embeddedPrefix:held_"`
	Alerted        int    // the highest alert that was given, in percent
}

// BudgetHold is money kept back for work at a provider that has not ended.
type BudgetHold struct {
	ID             int64 `gorm:"primaryKey"`
	OrganizationID int64
	UserID         int64
	TokenID        *int64
	RecordingID    *int64
	Operation      string
	Provider       string
	Model          string
	Price          string // as it is told: "0.006 USD per minute"
	Month          string
	Day            string // "2026-03-31", where the organization is
	Left           Amount `gorm:"embedded"`
	// Sent is true while a call is out of which nobody knows yet what it costs; Call is the most that it can.
	Sent      bool
	Call      Amount `gorm:"embedded;embeddedPrefix:call_"`
	Calls     int    // that have ended
	HeldUntil time.Time
	CreatedAt time.Time
}

// LedgerEntry is a call that a provider was sent, as it ended.
type LedgerEntry struct {
	ID             int64 `gorm:"primaryKey"`
	HoldID         int64
	Call           int // within the hold, from 1
	OrganizationID int64
	UserID         int64
	TokenID        *int64
	RecordingID    *int64
	Operation      string
	Provider       string
	Model          string
	Price          string
	Month          string
	Day            string
	InputTokens    int64
	OutputTokens   int64
	AudioSeconds   float64
	HeldMicros     int64
	ChargedMicros  int64
	Source         string
	Outcome        string
	OccurredAt     time.Time
}
