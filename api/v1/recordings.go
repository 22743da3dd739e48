package v1

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

type pagination struct {
	Page       int   `json:"page"`
	PerPage    int   `json:"per_page"`
	Total      int64 `json:"total"`
	TotalPages int64 `json:"total_pages"`
	HasNext    bool  `json:"has_next"`
	HasPrev    bool  `json:"has_prev"`
}

type recordingList struct {
	Recordings []listed   `json:"recordings"`
	Pagination pagination `json:"pagination"`
}

func (a *API) listRecordings(c echo.Context, p auth.Principal) error {
	filter, err := readFilter(c, p)
	if err != nil {
		return err
	}
	page, err := a.recordings.List(c.Request().Context(), p, filter)
	if err != nil {
		return err
	}
	answer := recordingList{
		Recordings: []listed{},
		Pagination: pagination{Page: page.Page, PerPage: page.PerPage, Total: page.Total, HasPrev: page.Page > 1},
	}
	answer.Pagination.TotalPages = (page.Total + int64(page.PerPage) - 1) / int64(page.PerPage)
	answer.Pagination.HasNext = int64(page.Page) < answer.Pagination.TotalPages
	for _, r := range page.Recordings {
		answer.Recordings = append(answer.Recordings, listedOf(r))
	}
	return c.JSON(http.StatusOK, answer)
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
	return c.JSON(http.StatusOK, detailedOf(detail, include))
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

type statusForm struct {
	ID            int64   `json:"id"`
	Status        string  `json:"status"`
	QueuePosition *int    `json:"queue_position"`
	ErrorMessage  *string `json:"error_message"`
	ErrorCode     *string `json:"error_code"`
	CompletedAt   *string `json:"completed_at"`
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
	return c.JSON(http.StatusOK, statusForm{
		ID: progress.ID, Status: progress.Status, QueuePosition: progress.QueuePosition,
		ErrorMessage: progress.ErrorMessage, ErrorCode: progress.ErrorCode, CompletedAt: routes.NaiveOrNull(progress.CompletedAt),
	})
}

type done struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
}

func (a *API) deleteRecording(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	if err := a.recordings.Delete(c.Request().Context(), p, id); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, done{true, "The recording was deleted."})
}

type hintsForm struct {
	Language           *string `json:"language"`
	MinSpeakers        *int    `json:"min_speakers"`
	MaxSpeakers        *int    `json:"max_speakers"`
	Hotwords           *string `json:"hotwords"`
	InitialPrompt      *string `json:"initial_prompt"`
	TranscriptionModel *string `json:"transcription_model"`
}

type queued struct {
	Success bool   `json:"success"`
	JobID   int64  `json:"job_id"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

func (a *API) transcribeRecording(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	var body hintsForm
	if err := routes.DecodeOptionalJSON(c, &body); err != nil {
		return err
	}
	job, err := a.recordings.Transcribe(c.Request().Context(), p, id, recordings.Hints{
		Language: body.Language, MinSpeakers: body.MinSpeakers, MaxSpeakers: body.MaxSpeakers,
		Hotwords: body.Hotwords, InitialPrompt: body.InitialPrompt, Model: body.TranscriptionModel,
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, queued{true, job, recordings.StatusQueued, "The transcription was queued."})
}
