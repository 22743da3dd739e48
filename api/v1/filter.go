package v1

import (
	"math"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
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
func readFilter(c echo.Context) (recordings.Filter, error) {
	query := c.QueryParams()
	filter := recordings.Filter{
		Page:      routes.Within(query.Get("page"), 1, math.MaxInt32),
		PerPage:   routes.Within(query.Get("per_page"), recordings.DefaultPerPage, recordings.MaxPerPage),
		Statuses:  statuses[strings.ToLower(query.Get("status"))],
		Inbox:     flag(query, "inbox"),
		Starred:   flag(query, "starred"),
		Archived:  flag(query, "archived"),
		SortBy:    query.Get("sort_by"),
		Ascending: strings.EqualFold(query.Get("sort_order"), "asc"),
		Text:      strings.TrimSpace(query.Get("q")),
	}
	if !isText(filter.Text, maxQuery) {
		return filter, problems.New(problems.InvalidParameter, "q must be at most %d characters of text.", maxQuery)
	}
	if err := readDates(query, &filter); err != nil {
		return filter, err
	}
	return filter, readBelonging(query, &filter)
}

// readBelonging reads what a list may be narrowed to besides: owner, sharing, tags, folders and references. What the caller
// cannot see is as if it did not exist: such a list is empty.
func readBelonging(query url.Values, filter *recordings.Filter) error {
	var err error
	if filter.Scope, err = readScope(query); err != nil {
		return err
	}
	if owner, ok := wholeNumber(query.Get("owner_id")); ok {
		filter.Owner = &owner
	}
	if tag, ok := wholeNumber(query.Get("tag_id")); ok && tag != 0 {
		filter.Tag = tag
	}
	if folder, ok := wholeNumber(query.Get("folder_id")); ok {
		filter.Folder, filter.None = folder, folder == 0
	}
	filter.NoFolder = strings.EqualFold(query.Get("folder_id"), "none")
	return readRef(query, filter)
}

// The bounds of a reference that is looked for, in characters.
const (
	maxRefWord = 40
	maxRef     = 500
)

func readRef(query url.Values, filter *recordings.Filter) error {
	system, ref, kind := query.Get("external_system"), query.Get("external_ref"), query.Get("external_kind")
	if (system == "") != (ref == "") || kind != "" && ref == "" {
		return problems.New(problems.InvalidParameter, "external_system and external_ref must be given together.")
	}
	for _, bound := range []struct {
		name, text string
		most       int
	}{{"external_system", system, maxRefWord}, {"external_ref", ref, maxRef}, {"external_kind", kind, maxRefWord}} {
		if !isText(bound.text, bound.most) {
			return problems.New(problems.InvalidParameter, "%s must be at most %d characters of text.", bound.name, bound.most)
		}
	}
	if ref != "" {
		filter.Ref = &recordings.RefFilter{System: system, Kind: kind, Ref: ref}
	}
	return nil
}

// readDates reads the bounds in time.
func readDates(query url.Values, filter *recordings.Filter) error {
	switch query.Get("date_field") {
	case "", "created_at":
	case "meeting_date":
		filter.ByMeeting = true
	default:
		return problems.New(problems.InvalidParameter, "date_field must be created_at or meeting_date.")
	}
	var err error
	if filter.From, err = moment(query, "date_from"); err != nil {
		return err
	}
	if filter.Until, err = lastMoment(query, "date_to"); err != nil {
		return err
	}
	filter.UpdatedAfter, err = moment(query, "updated_since")
	return err
}
