package models

import "time"

// SettingsCounter is raised by whoever changes a row of system_settings.
const SettingsCounter = "settings"

// SystemSetting is what the administrator of the instance set in place of a setting's default.
type SystemSetting struct {
	Name      string `gorm:"primaryKey"` // a row of settings.Table
	Value     string // JSON
	UpdatedAt time.Time
	UpdatedBy *int64 // the account, which may be gone
}
