package v1

import (
	"errors"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// maxQuery bounds the text of a search in characters.
const maxQuery = 500

// statuses are the words of ?status=; any other word keeps all.
var statuses = map[string][]string{
	"pending":    {recordings.StatusPending, recordings.StatusQueued},
	"queued":     {recordings.StatusQueued},
	"processing": {recordings.StatusProcessing, recordings.StatusSummarizing},
	"completed":  {recordings.StatusCompleted},
	"failed":     {recordings.StatusFailed},
}

// readFilter reads the query of a list.
func readFilter(c echo.Context, p auth.Principal) (recordings.Filter, error) {
	query := c.QueryParams()
	filter := recordings.Filter{
		Page:      number(query.Get("page"), 1, 1, math.MaxInt32),
		PerPage:   number(query.Get("per_page"), recordings.DefaultPerPage, 1, recordings.MaxPerPage),
		Statuses:  statuses[strings.ToLower(query.Get("status"))],
		Inbox:     flag(query, "inbox"),
		Starred:   flag(query, "starred"),
		Archived:  flag(query, "archived"),
		SortBy:    query.Get("sort_by"),
		Ascending: strings.EqualFold(query.Get("sort_order"), "asc"),
		Text:      strings.TrimSpace(query.Get("q")),
	}
	if !utf8.ValidString(filter.Text) || strings.ContainsRune(filter.Text, 0) || utf8.RuneCountInString(filter.Text) > maxQuery {
		return filter, problems.New(problems.InvalidParameter, "q must be at most %d characters of text.", maxQuery)
	}
	if err := readDates(query, &filter); err != nil {
		return filter, err
	}
	none, err := readBelonging(query, p)
	filter.None = none
	return filter, err
}

// readBelonging reads what a list may be narrowed to besides: sharing, tags, folders and references. This release
// has none of them, so that a list narrowed to one is empty.
func readBelonging(query url.Values, p auth.Principal) (none bool, err error) {
	switch query.Get("scope") {
	case "", "own", "all":
	case "shared":
		none = true
	default:
		return false, problems.New(problems.InvalidParameter, "scope must be own, shared or all.")
	}
	if query.Has("external_system") != query.Has("external_ref") || query.Has("external_kind") && !query.Has("external_ref") {
		return false, problems.New(problems.InvalidParameter, "external_system and external_ref must be given together.")
	}
	none = none || query.Has("external_ref")
	if owner, err := strconv.ParseInt(query.Get("owner_id"), 10, 64); err == nil && owner != p.UserID() {
		none = true
	}
	if tag, err := strconv.ParseInt(query.Get("tag_id"), 10, 64); err == nil && tag != 0 {
		none = true
	}
	if _, err := strconv.ParseInt(query.Get("folder_id"), 10, 64); err == nil {
		none = true
	}
	return none, nil
}

// readDates reads the bounds in time. A bound that is no date is refused: without it the list would show what was
// not asked for.
func readDates(query url.Values, filter *recordings.Filter) error {
	switch query.Get("date_field") {
	case "", "created_at":
	case "meeting_date":
		filter.ByMeeting = true
	default:
		return problems.New(problems.InvalidParameter, "date_field must be created_at or meeting_date.")
	}
	for _, bound := range []struct {
		name string
		set  func(at time.Time, dateOnly bool)
	}{
		{"date_from", func(at time.Time, _ bool) { filter.From = &at }},
		{"date_to", func(at time.Time, dateOnly bool) {
			if dateOnly {
				at = at.AddDate(0, 0, 1).Add(-time.Microsecond) // a bare date includes its whole day
			}
			filter.Until = &at
		}},
		{"updated_since", func(at time.Time, _ bool) { filter.UpdatedAfter = &at }},
	} {
		text := query.Get(bound.name)
		if text == "" {
			continue
		}
		at, dateOnly, ok := recordings.ParseTime(text)
		if !ok {
			return problems.New(problems.InvalidParameter, "%s must be a date or date-time of ISO 8601.", bound.name)
		}
		bound.set(at, dateOnly)
	}
	return nil
}

// number reads a number and brings it into its bounds; what is no number is the default.
func number(text string, otherwise, least, most int) int {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return otherwise
	}
	return int(min(max(value, int64(least)), int64(most)))
}

// flag reads a mark that may be asked for either way; nil when it isn't asked for.
func flag(query url.Values, name string) *bool {
	if !query.Has(name) {
		return nil
	}
	wanted := false
	switch strings.ToLower(query.Get(name)) {
	case "true", "1", "yes", "on":
		wanted = true
	}
	return &wanted
}
