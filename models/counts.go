package models

import "time"

// RecordingCounts is how many recordings an account has, by status. Triggers of the database keep it: it is only read.
type RecordingCounts struct {
	UserID      int64 `gorm:"primaryKey"`
	Pending     int64
	Queued      int64
	Processing  int64
	Summarizing int64
	Completed   int64
	Failed      int64
	AudioBytes  int64 // file sizes of those whose audio is there
}

// RecordingTombstone tells those who follow the feed of changes that a recording is gone.
type RecordingTombstone struct {
	ID          int64 `gorm:"primaryKey"`
	UserID      int64 // who could see it
	RecordingID int64
	Reason      string // deleted, retention or access_revoked
	Shared      bool   // it was another's, shared with the account
	DeletedAt   time.Time
}

// FeedMark is a moment that holds for the whole feed of changes.
type FeedMark struct {
	Name string `gorm:"primaryKey"` // "started", "pruned"
	At   time.Time
}
