package models

import "time"

// Integration is a sender that signs what it posts, in the name of an account.
type Integration struct {
	ID             int64  `gorm:"primaryKey"`
	PublicID       string // what stands in its address, unique
	OrganizationID int64
	UserID         int64
	Name           string
	Scope          string // member, or organization for what its administrators manage together
	Secret         string // encrypted
	PreviousSecret *string
	PreviousUntil  *time.Time
	Enabled        bool
	CreatedAt      time.Time
}

// HookDelivery is a signed delivery that was accepted.
type HookDelivery struct {
	IntegrationID int64  `gorm:"primaryKey"`
	DeliveryHash  string `gorm:"primaryKey"` // SHA-256 of the sender's id, lower-case hex
	RecordingID   int64
	ExpiresAt     time.Time
}

// RecordingImport is a recording whose file is still to be fetched.
type RecordingImport struct {
	RecordingID   int64  `gorm:"primaryKey"`
	Address       string // encrypted
	ReceivedBytes int64
	TotalBytes    *int64 // nil while the other side has not said it
}
