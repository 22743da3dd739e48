package recordings

import (
	"context"
	"path"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

// linkLength is that of 16 bytes in base64.
const linkLength = 22

// Shared is what a stranger with a public link sees of a recording.
type Shared struct {
	Title *string
	// Date is that of the meeting, or of the recording's arrival where none is known.
	Date time.Time
	// Segments are what was said, or else Text is; neither before there is a transcript.
	Segments []Segment
	Text     string
	// Summary and Notes are nil where the link does not show them or there are none.
	Summary, Notes *string
	HasAudio       bool
}

// Shared gives what a public link shows. A link that is unknown, revoked or past its end, whose owner is disabled or
// lost the verb publish, or of a server that has sharing switched off, is not_found, all in the same words.
func (s *Recordings) Shared(ctx context.Context, link string) (Shared, error) {
	db := s.db.Read.WithContext(ctx)
	share, row, err := s.behind(db, link)
	if err != nil {
		return Shared{}, err
	}
	shown := Shared{Title: row.Title, Date: row.CreatedAt, HasAudio: hasAudio(row)}
	if row.MeetingDate != nil {
		shown.Date = *row.MeetingDate
	}
	if share.ShareSummary {
		shown.Summary = row.Summary
	}
	if share.ShareNotes {
		shown.Notes = row.Notes
	}
	transcript, found, err := loadTranscript(db, row)
	if err != nil {
		return Shared{}, err
	}
	if found {
		shown.Segments, shown.Text = transcript.Segments, transcript.Raw
	}
	return shown, nil
}

// OpenShared opens the audio behind a public link, which the caller closes. Its label is the title: the name of the
// owner's file is nobody else's.
func (s *Recordings) OpenShared(ctx context.Context, link string) (*Audio, error) {
	_, row, err := s.behind(s.db.Read.WithContext(ctx), link)
	if err != nil {
		return nil, err
	}
	name := "recording"
	if title := strings.TrimSpace(given(row.Title)); title != "" {
		name = title
	}
	name += plainExtension(given(row.OriginalFilename))
	row.OriginalFilename = &name
	return s.openAudio(ctx, row)
}

// behind finds the recording that a link leads to.
func (s *Recordings) behind(db *gorm.DB, link string) (models.PublicShare, models.Recording, error) {
	if !s.PublicSharing || !isLink(link) {
		return models.PublicShare{}, models.Recording{}, noLink()
	}
	var found []struct {
		models.PublicShare `gorm:"embedded"`

		Role       string
		DisabledAt *time.Time
	}
	err := db.Table("public_shares").Joins("JOIN users ON users.id = public_shares.user_id").
		Select(models.Columns(s.db.Read, &models.PublicShare{})+", users.role, users.disabled_at").
		Where("public_shares.public_id = ?", link).Limit(1).Scan(&found).Error
	if err != nil {
		return models.PublicShare{}, models.Recording{}, unavailable("look a public link up", err)
	}
	if len(found) == 0 || found[0].DisabledAt != nil || !auth.RoleMay(found[0].Role, auth.Publish) {
		return models.PublicShare{}, models.Recording{}, noLink()
	}
	share := found[0].PublicShare
	if share.ExpiresAt != nil && !s.moment().Before(*share.ExpiresAt) {
		return models.PublicShare{}, models.Recording{}, noLink()
	}
	var rows []models.Recording
	err = db.Where("id = ? AND user_id = ?", share.RecordingID, share.UserID).Limit(1).Find(&rows).Error
	if err != nil {
		return models.PublicShare{}, models.Recording{}, unavailable("find the recording behind a public link", err)
	}
	if len(rows) == 0 {
		return models.PublicShare{}, models.Recording{}, noLink()
	}
	return share, rows[0], nil
}

// plainExtension is how a file's name ends, when that is the kind of a file and not words after a dot.
func plainExtension(name string) string {
	extension := path.Ext(name)
	const longest = len(".webm")
	if len(extension) > longest || strings.IndexFunc(strings.TrimPrefix(extension, "."), notAlphanumeric) >= 0 {
		return ""
	}
	return extension
}

func notAlphanumeric(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// isLink keeps what cannot be a link from the database.
func isLink(text string) bool {
	return len(text) == linkLength && strings.IndexFunc(text, func(r rune) bool {
		return r != '-' && r != '_' && notAlphanumeric(r)
	}) < 0
}
