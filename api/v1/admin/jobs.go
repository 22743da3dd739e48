package admin

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// declareJobs adds what is asked of jobs that gave up.
func (a *API) declareJobs(t *routes.Table) {
	t.Token("GET", "/api/v1/admin/jobs", auth.Settings, a.listJobs, listJobsOperation(), administers("job.list"))
	t.Token("POST", "/api/v1/admin/jobs/:job/retry", auth.Settings, a.retryJob, retryJobOperation(), administers("job.retry"))
	t.Token("DELETE", "/api/v1/admin/jobs/:job", auth.Settings, a.discardJob, discardJobOperation(), administers("job.discard"))
}

// discarded is the one state of jobs that can be asked for: those that gave up.
const discarded = "discarded"

// jobForm is a job that gave up. What it failed with in the log's words stays there.
type jobForm struct {
	ID          int64   `json:"id"`
	Kind        string  `json:"kind"`
	State       string  `json:"state"`
	RecordingID *int64  `json:"recording_id"`
	UserID      *int64  `json:"user_id"`
	Attempts    int     `json:"attempts"`
	ErrorCode   *string `json:"error_code"`
	At          string  `json:"at"`
}

type jobList struct {
	Jobs       []jobForm         `json:"jobs"`
	Pagination routes.Pagination `json:"pagination"`
}

// jobMessage says what becomes of a job.
type jobMessage struct {
	Message string `json:"message"`
}

const (
	retrySentence   = "The job is tried again."
	discardSentence = "The job is gone."
)

type jobsQuery struct {
	State   *string `query:"state" enum:"discarded" description:"discarded, which are those that gave up."`
	Page    *int    `query:"page" minimum:"1"`
	PerPage *int    `query:"per_page" minimum:"1" maximum:"100" description:"25 by itself."`
}

func exampleJob() jobForm {
	return jobForm{
		ID: 981, Kind: "transcribe_recording", State: discarded, RecordingID: new(int64(42)), UserID: new(int64(7)), Attempts: 4,
		ErrorCode: new("unavailable"), At: "2026-03-04T15:30:00.000000Z",
	}
}

func listJobsOperation() routes.Operation {
	return routes.Operation{
		Summary: "List jobs that gave up", Group: routes.GroupAdministration, Request: jobsQuery{},
		Notes: "The newest first, for seven days. `error_code` is what the recording failed with, null where it goes on or the job has none. " +
			"An administrator of the instance sees all, those of an organization what its recordings and accounts need.",
		Answers: routes.Answers{http.StatusOK: jobList{[]jobForm{exampleJob()}, routes.PaginationOf(1, defaultPerPage, 1)}}, Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) listJobs(c echo.Context, p auth.Principal) error {
	query := c.QueryParams()
	if state := query.Get("state"); state != "" && state != discarded {
		return problems.New(problems.InvalidParameter, "state must be %s.", discarded).With("field", "state")
	}
	page, perPage, err := paging(query)
	if err != nil {
		return err
	}
	list, total, err := a.Jobs.ListGivenUp(c.Request().Context(), administered(p), perPage, (page-1)*perPage)
	if err != nil {
		return err
	}
	answer := jobList{Jobs: []jobForm{}, Pagination: routes.PaginationOf(page, perPage, total)}
	for _, job := range list {
		answer.Jobs = append(answer.Jobs, jobFormOf(job))
	}
	return c.JSON(http.StatusOK, answer)
}

func jobFormOf(job jobs.GivenUp) jobForm {
	form := jobForm{
		ID: job.ID, Kind: job.Kind, State: discarded, RecordingID: orNull(job.RecordingID), UserID: orNull(job.UserID),
		Attempts: job.Attempts, At: routes.Micro(job.At),
	}
	if job.Code != "" {
		form.ErrorCode = &job.Code
	}
	return form
}

func retryJobOperation() routes.Operation {
	return routes.Operation{
		Summary: "Retry a job that gave up", Group: routes.GroupAdministration,
		Notes: "A transcription or a summary begins anew, if its recording still is FAILED by it and its account is enabled; money is held again " +
			"for whoever asked for it. Other jobs get one more attempt.",
		Answers: routes.Answers{http.StatusAccepted: jobMessage{retrySentence}}, Refusals: []problems.Kind{problems.InvalidState},
	}
}

func (a *API) retryJob(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "job")
	if err != nil {
		return err
	}
	if err := a.Recordings.RetryJob(c.Request().Context(), administered(p), id); err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, jobMessage{retrySentence})
}

func discardJobOperation() routes.Operation {
	return routes.Operation{
		Summary: "Discard a job that gave up, for good", Group: routes.GroupAdministration,
		Notes:   "Its recording stays as it is and can be started again by its owner.",
		Answers: routes.Answers{http.StatusOK: jobMessage{discardSentence}},
	}
}

func (a *API) discardJob(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "job")
	if err != nil {
		return err
	}
	if err := a.Recordings.DiscardJob(c.Request().Context(), administered(p), id); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, jobMessage{discardSentence})
}
