package models

import "time"

// InternalShare lets an account see a recording of another of its organization.
type InternalShare struct {
	ID          int64 `gorm:"primaryKey"`
	RecordingID int64
	UserID      int64 // who sees it; once a recording
	GrantedBy   int64
	CanEdit     bool
	CanReshare  bool
	Source      string // manual, group_tag, group_folder
	SourceID    *int64 // the tag or the folder; nil for manual
	CreatedAt   time.Time
}

// RecordingState is what an account keeps for itself of a recording that it does not own.
type RecordingState struct {
	RecordingID   int64 `gorm:"primaryKey"`
	UserID        int64 `gorm:"primaryKey;autoIncrement:false"`
	IsInbox       bool
	IsHighlighted bool
	IsArchived    bool
	Notes         *string
}
