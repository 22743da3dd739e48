package models

import "time"

// TeamInvite is an account that somebody may make for an address. The token is not kept.
type TeamInvite struct {
	ID             int64 `gorm:"primaryKey"`
	OrganizationID int64
	Email          string // lower case; one open invite for each in an organization
	Role           string // an assignable one of auth.Roles, kept by a CHECK
	TokenHash      string // SHA-256, lower-case hex, unique
	InvitedBy      *int64 // nil for the operator
	ExpiresAt      time.Time
	AcceptedAt     *time.Time
	CreatedAt      time.Time
}

// PasswordReset lets who has its token set a new password once.
type PasswordReset struct {
	ID        int64 `gorm:"primaryKey"`
	UserID    int64
	TokenHash string // SHA-256, lower-case hex, unique
	ExpiresAt time.Time
	UsedAt    *time.Time
	CreatedAt time.Time
}

// Identity is who an account is at an issuer of OpenID Connect.
type Identity struct {
	ID        int64 `gorm:"primaryKey"`
	UserID    int64
	Issuer    string
	Subject   string // unique with its issuer
	CreatedAt time.Time
}

// UsedState is a state of OpenID Connect that came back, so that it comes back once.
type UsedState struct {
	StateHash string `gorm:"primaryKey"` // SHA-256, lower-case hex
	ExpiresAt time.Time
}
