package models

// SearchText is what search reads of a recording: a part of one field, whole units with their case folded, one a line.
// Rows are inserted and deleted, never updated: SQLite's index follows only these two.
type SearchText struct {
	ID          int64 `gorm:"primaryKey"`
	RecordingID int64
	UserID      int64
	Field       string // title participants notes summary transcript speaker
	First       int    // number of the first unit: its line, or the position of its segment
	Folded      string
}

// SearchMark tells that the SearchTexts of a recording are behind. Triggers make it.
type SearchMark struct {
	RecordingID int64 `gorm:"primaryKey"`
	UserID      int64
}
