package models

import "time"

// SystemSetting is what the administrator of the instance set in place of a setting's default.
type SystemSetting struct {
	Name      string `gorm:"primaryKey"` // a row of settings.Table
	Value     string // JSON
	UpdatedAt time.Time
	UpdatedBy *int64 // the account, which may be gone
}
