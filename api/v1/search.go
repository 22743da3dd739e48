package v1

import (
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

type searchResults struct {
	Query    string      `json:"query"`
	ModeUsed string      `json:"mode_used"`
	Page     int         `json:"page"`
	HasMore  bool        `json:"has_more"`
	Results  []searchHit `json:"results"`
}

// searchHit is a unit of a recording that has a term. Spans are pairs of code points of text, the end exclusive.
type searchHit struct {
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
		Summary: "Search recordings by keyword", Group: routes.GroupSearch, Request: searchQuery{},
		Notes: "A result is a title, a text or a segment that has one of the terms, of a recording that has all of them. Every " +
			"character counts as itself. `match_spans` are places in `text`, in code points, the end exclusive. Terms of one or " +
			"two characters are looked for in the newest 1,000 recordings, and hits are shown of the newest 200 that match.",
		Answers:  routes.Answers{http.StatusOK: exampleSearchResults()},
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
	answer := searchResults{Query: query.Text, ModeUsed: keyword, Page: found.Page, HasMore: found.More, Results: []searchHit{}}
	for _, hit := range found.Hits {
		form := searchHit{
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
	if !isText(q.Text, maxQuery) || utf8.RuneCountInString(q.Text) < minSearch {
		return q, problems.New(problems.InvalidParameter, "q must be text of %d to %d characters.", minSearch, maxQuery)
	}
	var err error
	if q.Scope, err = readScope(values); err != nil {
		return q, err
	}
	if err := checkMode(values.Get("mode")); err != nil {
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

// checkMode refuses ways of searching that this server has not.
func checkMode(mode string) error {
	switch mode {
	case "", keyword, "auto":
		return nil
	case "semantic":
		return problems.New(problems.SemanticUnavailable, "This server has no search by meaning; use mode=keyword.")
	}
	return problems.New(problems.InvalidParameter, "mode must be keyword, semantic or auto.")
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
	if !isText(q.Speaker, maxSpeaker) {
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
	var err error
	if q.From, err = moment(values, "date_from"); err != nil {
		return err
	}
	q.Until, err = lastMoment(values, "date_to")
	return err
}
