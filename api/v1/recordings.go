package v1

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

type recordingList struct {
	Recordings []recordingListItem `json:"recordings"`
	Pagination routes.Pagination   `json:"pagination"`
}

// listQuery is what a list can be narrowed to and sorted by. readFilter reads it.
type listQuery struct {
	Page           *int    `query:"page" description:"From 1; brought into bounds."`
	PerPage        *int    `query:"per_page" description:"1 to 100, 25 by itself; brought into bounds."`
	Status         *string `query:"status" description:"all, pending, queued, processing, completed or failed; other words keep all."`
	SortBy         *string `query:"sort_by" description:"created_at, updated_at, meeting_date, title, file_size or status; other words are created_at."`
	SortOrder      *string `query:"sort_order" description:"asc, or desc by itself."`
	Text           *string `query:"q" maxLength:"500" description:"Must stand in the title or the participants, in any case."`
	Inbox          *string `query:"inbox" description:"true keeps those in the inbox, anything else the others."`
	Starred        *string `query:"starred" description:"true keeps those that are starred, anything else the others."`
	Archived       *string `query:"archived" description:"true keeps those that are archived, anything else the others."`
	DateField      *string `query:"date_field" enum:"created_at,meeting_date" description:"What date_from and date_to look at."`
	DateFrom       *string `query:"date_from" description:"A date or date-time of ISO 8601."`
	DateTo         *string `query:"date_to" description:"A date, whose whole day counts, or a date-time of ISO 8601."`
	UpdatedSince   *string `query:"updated_since" description:"Keeps what was changed after that moment."`
	Scope          *string `query:"scope" enum:"own,shared,all"`
	OwnerID        *string `query:"owner_id"`
	TagID          *string `query:"tag_id"`
	FolderID       *string `query:"folder_id" description:"An id, or none for those in no folder."`
	ExternalSystem *string `query:"external_system" description:"Together with external_ref."`
	ExternalRef    *string `query:"external_ref"`
	ExternalKind   *string `query:"external_kind"`
}

func listRecordingsOperation() routes.Operation {
	return routes.Operation{
		Summary: "List recordings", Group: routes.GroupRecordings, Request: listQuery{},
		Notes:   "Filters narrow together. The three long texts are not in a list.",
		Answers: routes.Answers{http.StatusOK: exampleRecordingList()}, Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) listRecordings(c echo.Context, p auth.Principal) error {
	filter, err := readFilter(c)
	if err != nil {
		return err
	}
	page, err := a.recordings.List(c.Request().Context(), p, filter)
	if err != nil {
		return err
	}
	answer := recordingList{
		Recordings: []recordingListItem{},
		Pagination: routes.PaginationOf(page.Page, page.PerPage, page.Total),
	}
	for _, r := range page.Recordings {
		answer.Recordings = append(answer.Recordings, recordingListItemOf(r))
	}
	return c.JSON(http.StatusOK, answer)
}

type detailQuery struct {
	ifNoneMatch
	Include *string `query:"include" description:"A list of transcription, summary and notes, with commas; all of them by itself."`
	Format  *string `query:"format" description:"minimal leaves the three texts out."`
}

func showRecordingOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show a recording", Group: routes.GroupRecordings, Request: detailQuery{},
		Notes:   "`transcription`, `summary` and `notes` are absent where `include` or `format` leaves them out.",
		Answers: routes.Answers{http.StatusOK: exampleRecordingDetail(), http.StatusNotModified: routes.Nothing{}},
	}
}

func (a *API) showRecording(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	include := included(c)
	detail, err := a.recordings.Find(c.Request().Context(), p, id, include["transcription"])
	if err != nil {
		return err
	}
	return answerTagged(c, tagDetail, id, detail.Recording.UpdatedAt, recordingDetailOf(detail, include))
}

// included are the texts that a detail is asked to show: all of them unless ?include= names some or
// ?format=minimal none.
func included(c echo.Context) map[string]bool {
	query := c.QueryParams()
	names := "transcription,summary,notes"
	if query.Has("include") {
		names = query.Get("include")
	}
	include := map[string]bool{}
	if query.Get("format") != "minimal" {
		for name := range strings.SplitSeq(names, ",") {
			include[strings.TrimSpace(name)] = true
		}
	}
	return include
}

type recordingStatus struct {
	ID            int64   `json:"id"`
	Status        string  `json:"status"`
	QueuePosition *int    `json:"queue_position"`
	ErrorMessage  *string `json:"error_message"`
	ErrorCode     *string `json:"error_code"`
	CompletedAt   *string `json:"completed_at"`
	// Import is absent of a recording that waits for no file.
	Import *importProgress `json:"import,omitempty"`
}

// importProgress is how much of a file is here, and of how much where that was said.
type importProgress struct {
	ReceivedBytes int64  `json:"received_bytes"`
	TotalBytes    *int64 `json:"total_bytes"`
}

func showStatusOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show the processing status of a recording", Group: routes.GroupRecordings,
		Notes:   "Made to be polled: it counts as `status`, apart from other reading.",
		Answers: routes.Answers{http.StatusOK: exampleRecordingStatus()},
	}
}

func (a *API) showStatus(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	progress, err := a.recordings.Status(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	form := recordingStatus{
		ID: progress.ID, Status: progress.Status, QueuePosition: progress.QueuePosition,
		ErrorMessage: progress.ErrorMessage, ErrorCode: progress.ErrorCode, CompletedAt: routes.NaiveOrNull(progress.CompletedAt),
	}
	if progress.Import != nil {
		form.Import = &importProgress{progress.Import.Received, progress.Import.Total}
	}
	return c.JSON(http.StatusOK, form)
}

// What answers say for people.
const (
	recordingDeleted    = "The recording was deleted."
	transcriptionQueued = "The transcription was queued."
	speakersAssigned    = "The speakers were assigned."
	speakerDeleted      = "The speaker was deleted; transcripts keep the name."
	tagDeleted          = "The tag was deleted."
	tagRemoved          = "The tag was taken off the recording."
)

// confirmation says that it was done.
type confirmation struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
}

func deleteRecordingOperation() routes.Operation {
	return routes.Operation{
		Summary: "Delete a recording and its media", Group: routes.GroupRecordings,
		Notes:    "For good: the transcript, texts, references and public links go with it.",
		Answers:  routes.Answers{http.StatusOK: confirmation{true, recordingDeleted}},
		Refusals: []problems.Kind{problems.InsufficientPermission},
	}
}

func (a *API) deleteRecording(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	if err := a.recordings.Delete(c.Request().Context(), p, id); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, confirmation{true, recordingDeleted})
}

type transcriptionHints struct {
	Language           *string `json:"language" maxLength:"35" example:"en"`
	MinSpeakers        *int    `json:"min_speakers" maximum:"100"`
	MaxSpeakers        *int    `json:"max_speakers" maximum:"100"`
	Hotwords           *string `json:"hotwords" maxLength:"10000"`
	InitialPrompt      *string `json:"initial_prompt" maxLength:"10000"`
	TranscriptionModel *string `json:"transcription_model" maxLength:"120"`
}

type queuedTranscription struct {
	Success bool   `json:"success"`
	JobID   int64  `json:"job_id"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

func transcribeRecordingOperation() routes.Operation {
	return routes.Operation{
		Summary: "Transcribe a recording again", Group: routes.GroupProcessing, Request: exampleHints(),
		Notes:    "The present transcript is dropped at once. Every member of the body, and the body itself, may be left out.",
		Answers:  routes.Answers{http.StatusOK: queuedTranscription{true, 118, recordings.StatusQueued, transcriptionQueued}},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.InvalidState, problems.InsufficientPermission},
	}
}

func (a *API) transcribeRecording(c echo.Context, p auth.Principal, purse budgets.Purse) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	var body transcriptionHints
	if err := routes.DecodeOptionalJSON(c, &body); err != nil {
		return err
	}
	job, err := a.recordings.Transcribe(c.Request().Context(), p, purse, id, recordings.Hints{
		Language: body.Language, MinSpeakers: body.MinSpeakers, MaxSpeakers: body.MaxSpeakers,
		Hotwords: body.Hotwords, InitialPrompt: body.InitialPrompt, Model: body.TranscriptionModel,
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, queuedTranscription{true, job, recordings.StatusQueued, transcriptionQueued})
}
