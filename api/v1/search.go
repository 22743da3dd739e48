package v1

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

const (
	minSearch  = 2   // characters of q
	maxSpeaker = 100 // characters of speaker
	// keyword is the one mode that this release has.
	keyword = "keyword"
)

// searchQuery is what is searched for. readSearch reads it.
type searchQuery struct {
	Text         string  `query:"q" required:"true" minLength:"2" maxLength:"500" example:"budget" description:"Words and \"phrases\", which must all be in a recording, in any case. At most 32."`
	Mode         *string `query:"mode" enum:"keyword,semantic,auto" description:"keyword by itself; auto is keyword as long as there is no semantic search."`
	Fields       *string `query:"fields" example:"title,notes" description:"A list of title, participants, notes, summary and transcript, with commas; all of them by itself."`
	Scope        *string `query:"scope" enum:"own,shared,all"`
	RecordingIDs *string `query:"recording_ids" description:"A list of ids with commas, 1,000 at most: the only recordings to search."`
	TagID        *string `query:"tag_id"`
	FolderID     *string `query:"folder_id" description:"An id, or none for those in no folder."`
	Speaker      *string `query:"speaker" maxLength:"100" description:"Only what this person says, named in full and in any case."`
	DateField    *string `query:"date_field" enum:"meeting_date,created_at" description:"What date_from, date_to and the order look at: meeting_date by itself, which is the date of the upload where there is none."`
	DateFrom     *string `query:"date_from" description:"A date or date-time of ISO 8601."`
	DateTo       *string `query:"date_to" description:"A date, whose whole day counts, or a date-time of ISO 8601."`
	Limit        *int    `query:"limit" minimum:"1" maximum:"50" description:"20 by itself."`
	Page         *int    `query:"page" minimum:"1" description:"1 by itself."`
}

type searchAnswer struct {
	Query    string    `json:"query"`
	ModeUsed string    `json:"mode_used"`
	Page     int       `json:"page"`
	HasMore  bool      `json:"has_more"`
	Results  []hitForm `json:"results"`
}

// hitForm is a unit of a recording that has a term. Spans are pairs of code points of text, the end exclusive.
type hitForm struct {
	RecordingID  int64    `json:"recording_id"`
	Title        *string  `json:"title"`
	MeetingDate  *string  `json:"meeting_date"`
	Field        string   `json:"field"`
	SegmentIndex *int     `json:"segment_index"`
	StartTime    *float64 `json:"start_time"`
	EndTime      *float64 `json:"end_time"`
	Speaker      *string  `json:"speaker"`
	Text         string   `json:"text"`
	MatchSpans   [][2]int `json:"match_spans"`
	Score        float64  `json:"score"`
}

func searchOperation() routes.Operation {
	return routes.Operation{
		Summary: "Search in titles, notes and transcripts", Group: routes.GroupSearch, Request: searchQuery{},
		Answers:  routes.Answers{http.StatusOK: searchAnswer{}},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.SemanticUnavailable},
	}
}

func (a *API) search(c echo.Context, p auth.Principal) error {
	query, err := readSearch(c.QueryParams())
	if err != nil {
		return err
	}
	found, err := a.recordings.Search(c.Request().Context(), p, query)
	if err != nil {
		return err
	}
	answer := searchAnswer{Query: query.Text, ModeUsed: keyword, Page: found.Page, HasMore: found.More, Results: []hitForm{}}
	for _, hit := range found.Hits {
		form := hitForm{
			RecordingID: hit.RecordingID, Title: hit.Title, Field: string(hit.Field), SegmentIndex: hit.SegmentIndex,
			StartTime: hit.Start, EndTime: hit.End, Speaker: hit.Speaker, Text: hit.Text, MatchSpans: hit.Spans, Score: hit.Score,
		}
		if hit.MeetingDate != nil {
			date := hit.MeetingDate.UTC().Format(time.RFC3339)
			form.MeetingDate = &date
		}
		answer.Results = append(answer.Results, form)
	}
	return c.JSON(http.StatusOK, answer)
}

// readSearch reads the query of a search. Unlike a list it refuses what it cannot read, but for what is no number
// where one is wanted.
func readSearch(values url.Values) (recordings.Query, error) {
	q := recordings.Query{Text: strings.TrimSpace(values.Get("q"))}
	if length := utf8.RuneCountInString(q.Text); !readable(q.Text) || length < minSearch || length > maxQuery {
		return q, problems.New(problems.InvalidParameter, "q must be text of %d to %d characters.", minSearch, maxQuery)
	}
	var err error
	if q.None, err = readMode(values); err != nil {
		return q, err
	}
	if err := readNarrowing(values, &q); err != nil {
		return q, err
	}
	if err := readPeriod(values, &q); err != nil {
		return q, err
	}
	if q.Limit, err = within(values, "limit", recordings.DefaultHits, recordings.MaxHits); err != nil {
		return q, err
	}
	q.Page, err = within(values, "page", 1, math.MaxInt32)
	return q, err
}

// readable reports whether text can be in a database at all.
func readable(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

// readMode reads how and among what to search; none tells that nothing is shared with anybody.
func readMode(values url.Values) (none bool, err error) {
	switch values.Get("scope") {
	case "", "own", "all":
	case "shared":
		none = true
	default:
		return false, problems.New(problems.InvalidParameter, "scope must be own, shared or all.")
	}
	switch values.Get("mode") {
	case "", keyword, "auto":
	case "semantic":
		return false, problems.New(problems.SemanticUnavailable, "This server has no search by meaning; use mode=keyword.")
	default:
		return false, problems.New(problems.InvalidParameter, "mode must be keyword, semantic or auto.")
	}
	return none, nil
}

func readNarrowing(values url.Values, q *recordings.Query) error {
	if values.Has("fields") {
		for name := range strings.SplitSeq(values.Get("fields"), ",") {
			field := recordings.Field(strings.TrimSpace(name))
			if !slices.Contains(recordings.SearchFields(), field) {
				return problems.New(problems.InvalidParameter, "fields must be a list of title, participants, notes, summary and transcript.")
			}
			q.Fields = append(q.Fields, field)
		}
	}
	if values.Has("recording_ids") {
		list := strings.Split(values.Get("recording_ids"), ",")
		if len(list) > recordings.MaxSearchIDs {
			return problems.New(problems.InvalidParameter, "recording_ids must have at most %d ids.", recordings.MaxSearchIDs)
		}
		for _, text := range list {
			id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil {
				return problems.New(problems.InvalidParameter, "recording_ids must be a list of whole numbers with commas.")
			}
			q.RecordingIDs = append(q.RecordingIDs, id)
		}
	}
	if id, err := strconv.ParseInt(values.Get("tag_id"), 10, 64); err == nil {
		q.TagID = &id
	}
	switch text := values.Get("folder_id"); text {
	case "":
	case "none":
		q.NoFolder = true
	default:
		id, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return problems.New(problems.InvalidParameter, "folder_id must be an id or none.")
		}
		folder := int64(id)
		q.FolderID = &folder
	}
	q.Speaker = strings.TrimSpace(values.Get("speaker"))
	if !readable(q.Speaker) || utf8.RuneCountInString(q.Speaker) > maxSpeaker {
		return problems.New(problems.InvalidParameter, "speaker must be at most %d characters of text.", maxSpeaker)
	}
	return nil
}

func readPeriod(values url.Values, q *recordings.Query) error {
	switch values.Get("date_field") {
	case "", "meeting_date":
	case "created_at":
		q.ByCreation = true
	default:
		return problems.New(problems.InvalidParameter, "date_field must be meeting_date or created_at.")
	}
	bounds := map[string]**time.Time{"date_from": &q.From, "date_to": &q.Until}
	for _, name := range []string{"date_from", "date_to"} {
		text := values.Get(name)
		if text == "" {
			continue
		}
		at, dateOnly, ok := recordings.ParseTime(text)
		if !ok {
			return problems.New(problems.InvalidParameter, "%s must be a date or date-time of ISO 8601.", name)
		}
		if dateOnly && name == "date_to" {
			at = at.AddDate(0, 0, 1).Add(-time.Microsecond) // a bare date includes its whole day
		}
		*bounds[name] = &at
	}
	return nil
}

// within reads a number from 1 to most; what is no number is the default.
func within(values url.Values, name string, otherwise, most int) (int, error) {
	value, err := strconv.ParseInt(values.Get(name), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return otherwise, nil
	}
	if value < 1 || value > int64(most) {
		return 0, problems.New(problems.InvalidParameter, "%s must be a whole number from 1 to %d.", name, most)
	}
	return int(value), nil
}
