package recordings

import (
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

// Recording is what a caller may see of one. Titles and texts are nil for a caller that may not read.
type Recording struct {
	ID, UserID           int64
	Status               string
	Title                *string
	Participants         *string
	Notes                *string
	Summary              *string
	SummaryApprovedAt    *time.Time
	SummaryApprovedBy    *int64
	OriginalFilename     *string
	Hotwords             *string
	InitialPrompt        *string
	PromptVariables      map[string]string
	ErrorMessage         *string
	ErrorCode            *string
	MimeType             *string
	FileSize             int64
	AudioAvailable       bool
	AudioDeletedAt       *time.Time
	AudioDuration        *float64
	MeetingDate          *time.Time
	IsInbox              bool
	IsHighlighted        bool
	IsArchived           bool
	FolderID             *int64
	Folder               *FolderMark
	Tags                 []TagMark
	ExternalRefs         []ExternalRef
	ProcessingSeconds    *float64
	TranscriptionSeconds *int64
	SummarizationSeconds *int64
	HasTranscript        bool // in lists
	HasSummary           bool // in lists, which do not load the summary
	CompletedAt          *time.Time
	CreatedAt            time.Time
	UpdatedAt            time.Time
	// Owner and Share are of another's recording, in lists.
	Owner *Owner
	Share *SharedWithCaller
}

// view shows a row to p.
func view(p auth.Principal, row models.Recording) Recording {
	shown := Recording{
		ID: row.ID, UserID: row.UserID, Status: row.Status,
		ErrorCode: row.ErrorCode, MimeType: row.MimeType, FileSize: row.FileSize,
		AudioAvailable: row.AudioDeletedAt == nil && !unfetched(row), AudioDeletedAt: row.AudioDeletedAt, AudioDuration: row.AudioDuration,
		MeetingDate: row.MeetingDate, IsInbox: row.IsInbox, IsHighlighted: row.IsHighlighted, IsArchived: row.IsArchived,
		FolderID:          row.FolderID,
		SummaryApprovedAt: row.SummaryApprovedAt, SummaryApprovedBy: row.SummaryApprovedBy,
		ProcessingSeconds: row.ProcessingSeconds, TranscriptionSeconds: row.TranscriptionDurationSeconds,
		SummarizationSeconds: row.SummarizationDurationSeconds,
		CompletedAt:          row.CompletedAt, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
	if !shown.AudioAvailable {
		shown.AudioDuration = nil
	}
	if p.MayRead() {
		shown.Title, shown.Participants, shown.Notes, shown.Summary = row.Title, row.Participants, row.Notes, row.Summary
		shown.OriginalFilename = row.OriginalFilename
		shown.Hotwords, shown.InitialPrompt = row.Hotwords, row.InitialPrompt
		shown.PromptVariables = variablesOf(row)
		if row.Status == StatusFailed {
			shown.ErrorMessage = row.ErrorMessage
		}
	}
	return shown
}

// Copy is one of several recordings of the same bytes. Title is nil for a caller that may not read.
type Copy struct {
	ID        int64
	Title     *string
	CreatedAt time.Time
	IsSelf    bool
}

// maxCopies bounds the copies that an answer lists.
const maxCopies = 100

// copies lists the account's recordings of the same bytes, the oldest first; none when there is only the one, and none of
// another's recording.
func copies(db *gorm.DB, p auth.Principal, row models.Recording) ([]Copy, error) {
	if row.UserID != p.UserID() {
		return nil, nil
	}
	var rows []models.Recording
	err := db.Select("id", "title", "created_at").
		Where("user_id = ? AND sha256 = ?", row.UserID, row.SHA256).Order("id").Limit(maxCopies).Find(&rows).Error
	if err != nil {
		return nil, unavailable("find copies of the recording", err)
	}
	if len(rows) < 2 {
		return nil, nil
	}
	found := make([]Copy, len(rows))
	for i, other := range rows {
		found[i] = Copy{ID: other.ID, CreatedAt: other.CreatedAt, IsSelf: other.ID == row.ID}
		if p.MayRead() {
			found[i].Title = other.Title
		}
	}
	return found, nil
}
