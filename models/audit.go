package models

import "time"

// AuditEntry is something that was done by somebody who administers. The databases let its empty outcome be filled in
// once; nothing else of it is ever changed.
type AuditEntry struct {
	ID             int64 `gorm:"primaryKey"`
	At             time.Time
	ActorID        int64 // 0 where no account did it
	TokenID        int64 // 0 where no token was used
	OrganizationID int64 // whose it is
	Address        string
	Action         string // "user.disable"
	Object         string // "user 7"
	Outcome        string // "200", "403 insufficient_permission"
	RequestID      string
}

// AuditSweep is the one row by which the sweep of the audit log says what it removes.
type AuditSweep struct {
	ID            int64 `gorm:"primaryKey"`
	RemovesBefore *time.Time
}
