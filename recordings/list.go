package recordings

import (
	"context"
	"reflect"
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
	Scope         Scope
	// None lists nothing: a filter on something that this account cannot have.
	None bool
	// Owner keeps the recordings of one account; nil is any.
	Owner *int64
	// Tag and Folder are ids, 0 for any; NoFolder keeps those in no folder.
	Tag, Folder int64
	NoFolder    bool
	// Ref keeps what the caller calls so in another system; nil for any, without a Kind of any kind.
	Ref *RefFilter
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

// RefFilter is a reference to another system that is looked for.
type RefFilter struct{ System, Kind, Ref string }

// Page is one page of a list.
type Page struct {
	Recordings    []Recording
	Page, PerPage int
	Total         int64
}

// List gives one page of the caller's own recordings, or of those shared with it, or of both. Equal ones are told apart by their id, so that no page
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
	ids, err := s.pageOf(db, p, filter, &page)
	if err != nil || len(ids) == 0 {
		return page, err
	}
	var rows []models.Recording
	if err := withoutTexts(db).Where("id IN ?", ids).Order(filter.order()).Find(&rows).Error; err != nil {
		return Page{}, unavailable("read the listed recordings", err)
	}
	page.Recordings, err = s.items(db, p, rows)
	return page, err
}

// pageOf counts what the filter keeps and gives the ids of the page. Ids first: a deep page then walks over the entries
// of an index instead of over the rows, which it would sort.
func (s *Recordings) pageOf(db *gorm.DB, p auth.Principal, filter Filter, page *Page) (ids []int64, err error) {
	var parts []*gorm.DB
	if s.own(filter.Scope) {
		own := s.kept(db.Model(&models.Recording{}).Where("user_id = ?", p.UserID()), p, filter)
		if page.Total, err = total(db, own, p, filter); err != nil {
			return nil, err
		}
		parts = append(parts, own)
	}
	if s.shared(filter.Scope) {
		theirs := s.keptOfOthers(sharedWith(db.Model(&models.Recording{}), p), p, filter)
		var more int64
		if err := theirs.Session(&gorm.Session{}).Count(&more).Error; err != nil {
			return nil, unavailable("count the shared recordings", err)
		}
		page.Total += more
		parts = append(parts, theirs)
	}
	skip := int64(page.Page-1) * int64(page.PerPage)
	if skip >= page.Total {
		return nil, nil
	}
	if len(parts) == 1 {
		err = parts[0].Order(filter.order()).Offset(int(skip)).Limit(page.PerPage).Pluck("id", &ids).Error
	} else {
		err = union(db, parts[0], parts[1], filter, int(skip), page.PerPage).Scan(&ids).Error
	}
	if err != nil {
		return nil, unavailable("list the recordings", err)
	}
	return ids, nil
}

// total is how many recordings the filter keeps: from the account's counts where they tell, else counted.
func total(db, query *gorm.DB, p auth.Principal, filter Filter) (total int64, err error) {
	if filter.Owner != nil && *filter.Owner != p.UserID() {
		return 0, nil
	}
	if filter.byStatusAlone() {
		counts, err := counted(db, p.UserID())
		if len(filter.Statuses) == 0 {
			return sum(counts, allStatuses()), err
		}
		return sum(counts, filter.Statuses), err
	}
	if err := query.Session(&gorm.Session{}).Count(&total).Error; err != nil {
		return 0, unavailable("count the recordings", err)
	}
	return total, nil
}

// byStatusAlone tells whether the filter keeps recordings by nothing but their status.
func (f Filter) byStatusAlone() bool {
	kept := Filter{
		Page: f.Page, PerPage: f.PerPage, Scope: f.Scope, Owner: f.Owner, Statuses: f.Statuses, SortBy: f.SortBy, Ascending: f.Ascending, ByMeeting: f.ByMeeting,
	}
	return reflect.DeepEqual(f, kept)
}

// withoutTexts leaves out what no list shows and may be megabytes a row.
func withoutTexts(query *gorm.DB) *gorm.DB {
	return query.Omit("notes", "summary", "hotwords", "initial_prompt")
}

// items shows rows as a list does.
func (s *Recordings) items(db *gorm.DB, p auth.Principal, rows []models.Recording) ([]Recording, error) {
	if err := asSeen(db, p, rows); err != nil {
		return nil, unavailable("read what the caller keeps of recordings", err)
	}
	shown := make([]Recording, len(rows))
	ids := make([]int64, len(rows))
	for i, row := range rows {
		shown[i], ids[i] = view(p, row), row.ID
	}
	if len(rows) == 0 {
		return shown, nil
	}
	transcribed, err := transcribed(db, ids)
	if err != nil {
		return nil, err
	}
	summarized, err := summarized(db, ids)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		shown[i].HasTranscript, shown[i].HasSummary = transcribed[id], summarized[id]
	}
	if err := s.attachShares(db, p, shown); err != nil {
		return nil, unavailable("read how recordings are shared", err)
	}
	return shown, attach(db, p, shown)
}

// kept are the recordings of the query that the filter keeps.
func (s *Recordings) kept(query *gorm.DB, p auth.Principal, f Filter) *gorm.DB {
	if len(f.Statuses) > 0 {
		query = query.Where("status IN ?", f.Statuses)
	}
	if f.Text != "" {
		query = s.havingName(query, p, f.Text)
	}
	for column, wanted := range f.flags() {
		query = query.Where(column+" = ?", wanted)
	}
	return f.applyBelongings(f.applyDates(query), p)
}

// flags are the columns of the marks that are asked for.
func (f Filter) flags() map[string]bool {
	asked := map[string]bool{}
	for column, wanted := range map[string]*bool{"is_inbox": f.Inbox, "is_highlighted": f.Starred, "is_archived": f.Archived} {
		if wanted != nil {
			asked[column] = *wanted
		}
	}
	return asked
}

func (f Filter) applyDates(query *gorm.DB) *gorm.DB {
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
	if f.Owner != nil {
		query = query.Where("user_id = ?", *f.Owner)
	}
	return query
}

// applyBelongings keeps what hangs on the recordings asked for. Ids of things that the caller does not see find nothing.
func (f Filter) applyBelongings(query *gorm.DB, p auth.Principal) *gorm.DB {
	if f.Tag != 0 {
		query = tagged(query, p, f.Tag)
	}
	if f.Folder != 0 {
		query = query.Where("folder_id = ?", f.Folder)
	}
	if f.NoFolder {
		query = query.Where("folder_id IS NULL")
	}
	if f.Ref != nil {
		condition := "id IN (SELECT recording_id FROM external_refs WHERE user_id = ? AND system = ? AND ref = ?"
		bound := []any{p.UserID(), f.Ref.System, f.Ref.Ref}
		if f.Ref.Kind != "" {
			condition, bound = condition+" AND kind = ?", append(bound, f.Ref.Kind)
		}
		query = query.Where(condition+")", bound...)
	}
	return query
}

// order is the ORDER BY of the filter; each has its index. The two databases disagree on where no value stands: it is
// the least. Only what can have no value says so, lest PostgreSQL think that the index has another order.
func (f Filter) order() string {
	columns := map[string][]string{
		"meeting_date": {"meeting_date", "id"}, "title": {"title", "id"}, "file_size": {"file_size", "id"},
		"status": {"status", "created_at", "id"}, "updated_at": {"updated_at", "id"},
	}[f.SortBy]
	if columns == nil {
		columns = []string{"created_at", "id"}
	}
	direction, nulls := " DESC", " NULLS LAST"
	if f.Ascending {
		direction, nulls = " ASC", " NULLS FIRST"
	}
	terms := make([]string, len(columns))
	for i, column := range columns {
		terms[i] = column + direction
		if column == "meeting_date" || column == "title" {
			terms[i] += nulls
		}
	}
	return strings.Join(terms, ", ")
}

// transcribed tells which of the recordings have words.
func transcribed(db *gorm.DB, ids []int64) (map[int64]bool, error) {
	var with []int64
	err := db.Model(&models.Transcript{}).
		Where("recording_id IN ? AND (text <> '' OR EXISTS (SELECT 1 FROM transcript_segments s WHERE s.recording_id = transcripts.recording_id))", ids).
		Pluck("recording_id", &with).Error
	if err != nil {
		return nil, unavailable("look for transcripts", err)
	}
	return set(with), nil
}

// summarized tells which of the recordings have a summary.
func summarized(db *gorm.DB, ids []int64) (map[int64]bool, error) {
	var with []int64
	err := db.Model(&models.Recording{}).Where("id IN ? AND summary <> ''", ids).Pluck("id", &with).Error
	if err != nil {
		return nil, unavailable("look for summaries", err)
	}
	return set(with), nil
}

func set(ids []int64) map[int64]bool {
	has := make(map[int64]bool, len(ids))
	for _, id := range ids {
		has[id] = true
	}
	return has
}
