package recordings

import (
	"context"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

// Bounds of a page.
const (
	DefaultPerPage = 25
	MaxPerPage     = 100
)

// Filter says which recordings, in which order. The zero Filter lists all of the caller's own, newest first.
type Filter struct {
	// Page and PerPage are brought into 1.. and 1..MaxPerPage; 0 is 1 and DefaultPerPage.
	Page, PerPage int
	// None lists nothing: a filter on something that this account cannot have.
	None bool
	// Statuses are those to keep; empty keeps all.
	Statuses []string
	// Text must be in the title or the participants, in any case; it is taken letter by letter.
	Text string
	// Inbox, Starred and Archived keep only recordings so marked, or only the others.
	Inbox, Starred, Archived *bool
	// ByMeeting makes From and Until look at the date of the meeting instead of that of the upload.
	ByMeeting bool
	// From is the first moment, Until the last.
	From, Until *time.Time
	// UpdatedAfter keeps what was changed later than that.
	UpdatedAfter *time.Time
	// SortBy is a name of the contract; one that is not known is "created_at".
	SortBy    string
	Ascending bool
}

// Page is one page of a list.
type Page struct {
	Recordings    []Recording
	Page, PerPage int
	Total         int64
}

// List gives one page of the caller's own recordings. Equal ones are told apart by their id, so that no page
// repeats or skips any.
func (s *Recordings) List(ctx context.Context, p auth.Principal, filter Filter) (Page, error) {
	page := Page{Recordings: []Recording{}, Page: max(filter.Page, 1), PerPage: min(filter.PerPage, MaxPerPage)}
	if page.PerPage < 1 {
		page.PerPage = DefaultPerPage
	}
	if filter.None {
		return page, nil
	}
	db := s.db.Read.WithContext(ctx)
	query := filter.apply(db.Model(&models.Recording{}).Where("user_id = ?", p.UserID()))
	if err := query.Session(&gorm.Session{}).Count(&page.Total).Error; err != nil {
		return Page{}, unavailable("count the recordings", err)
	}
	skip := int64(page.Page-1) * int64(page.PerPage)
	if skip >= page.Total {
		return page, nil
	}
	var rows []models.Recording
	err := query.Order(filter.order()).Offset(int(skip)).Limit(page.PerPage).Find(&rows).Error
	if err != nil {
		return Page{}, unavailable("list the recordings", err)
	}
	transcribed, err := transcribed(db, rows)
	if err != nil {
		return Page{}, err
	}
	for _, row := range rows {
		shown := view(p, row)
		shown.HasTranscript = transcribed[row.ID]
		page.Recordings = append(page.Recordings, shown)
	}
	return page, attach(db, p, page.Recordings)
}

func (f Filter) apply(query *gorm.DB) *gorm.DB {
	if len(f.Statuses) > 0 {
		query = query.Where("status IN ?", f.Statuses)
	}
	if f.Text != "" {
		// The escape makes % and _ letters; LOWER on both sides because LIKE folds case on one database only.
		pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(f.Text) + "%"
		query = query.Where(`(LOWER(title) LIKE LOWER(?) ESCAPE '\' OR LOWER(participants) LIKE LOWER(?) ESCAPE '\')`, pattern, pattern)
	}
	for column, wanted := range map[string]*bool{"is_inbox": f.Inbox, "is_highlighted": f.Starred, "is_archived": f.Archived} {
		if wanted != nil {
			query = query.Where(column+" = ?", *wanted)
		}
	}
	date := "created_at"
	if f.ByMeeting {
		date = "meeting_date"
	}
	for _, bound := range []struct {
		condition string
		at        *time.Time
	}{
		{date + " >= ?", f.From}, {date + " <= ?", f.Until}, {"updated_at > ?", f.UpdatedAfter},
	} {
		if bound.at != nil {
			query = query.Where(bound.condition, bound.at.UTC())
		}
	}
	return query
}

// order is the ORDER BY of the filter. The two databases disagree on where no value stands: it is the least.
func (f Filter) order() string {
	column := map[string]string{
		"meeting_date": "meeting_date", "title": "title", "file_size": "file_size", "status": "status", "updated_at": "updated_at",
	}[f.SortBy]
	if column == "" {
		column = "created_at"
	}
	if f.Ascending {
		return column + " ASC NULLS FIRST, id ASC"
	}
	return column + " DESC NULLS LAST, id DESC"
}

// transcribed tells which of the recordings have words.
func transcribed(db *gorm.DB, rows []models.Recording) (map[int64]bool, error) {
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	var with []int64
	err := db.Model(&models.Transcript{}).
		Where("recording_id IN ? AND (text <> '' OR EXISTS (SELECT 1 FROM transcript_segments s WHERE s.recording_id = transcripts.recording_id))", ids).
		Pluck("recording_id", &with).Error
	if err != nil {
		return nil, unavailable("look for transcripts", err)
	}
	found := make(map[int64]bool, len(with))
	for _, id := range with {
		found[id] = true
	}
	return found, nil
}
