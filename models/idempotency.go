package models

import "time"

// IdempotencyKey is a request that must not be worked twice, by the key that its sender gave it.
type IdempotencyKey struct {
	ID             int64 `gorm:"primaryKey"`
	UserID         int64
	IdempotencyKey string // unique within the account
	Fingerprint    string // SHA-256 of what was asked, lower-case hex
	// Holder works on it until HeldUntil; empty once it is answered.
	Holder    string
	HeldUntil time.Time
	// Status is nil until it is answered.
	Status      *int
	ContentType string
	Answer      []byte
	RecordingID *int64 // the one that it is about, if it is about one
	ExpiresAt   time.Time
}

// IdempotencyEffect is what such a request has made.
type IdempotencyEffect struct {
	KeyID       int64 `gorm:"primaryKey"`
	RecordingID int64 `gorm:"primaryKey"`
	JobID       int64
}
