package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// recordingBatch names the recordings of a batch. The most that it may name is no bound of the list: what is named twice
// counts once.
type recordingBatch struct {
	RecordingIDs []int64 `json:"recording_ids" required:"true" minItems:"1" description:"At most 1,000 different ids."`
}

// ForceRequestBody tells the document that DELETE has this body too, as in the contract.
func (recordingBatch) ForceRequestBody() {}

// batchResult is what became of one recording of a batch.
type batchResult struct {
	ID      int64  `json:"id"`
	Success bool   `json:"success"`
	Error   string `json:"error,omitempty"`
	JobID   int64  `json:"job_id,omitempty"`
}

// batchResultsOf tells each outcome and counts them.
func batchResultsOf(found []recordings.Outcome) (told []batchResult, succeeded, failed int) {
	told = make([]batchResult, len(found))
	for i, o := range found {
		told[i] = batchResult{ID: o.ID, Success: o.Err == nil, JobID: o.JobID}
		if o.Err != nil {
			told[i].Error = o.Err.Message
			failed++
		}
	}
	return told, len(found) - failed, failed
}

const batchNotes = "Each recording is changed by itself, so that some may succeed where others fail; the status is 200 all the same. " +
	"A recording of another account fails as one that does not exist."

// batchUpdates is what each recording of a batch is changed to.
type batchUpdates struct {
	IsInbox       routes.Optional[bool]  `json:"is_inbox" description:"null is false."`
	IsHighlighted routes.Optional[bool]  `json:"is_highlighted" description:"null is false."`
	IsArchived    routes.Optional[bool]  `json:"is_archived" nullable:"false"`
	FolderID      routes.Optional[int64] `json:"folder_id" description:"A folder of the account; null takes the recordings out of theirs."`
	AddTagIDs     []int64                `json:"add_tag_ids" nullable:"true" maxItems:"100" description:"Ids that are no tags of the account are passed over."`
	RemoveTagIDs  []int64                `json:"remove_tag_ids" nullable:"true" maxItems:"100"`
}

type batchUpdate struct {
	recordingBatch
	Updates routes.Optional[batchUpdates] `json:"updates" nullable:"false"`
}

type batchUpdateResult struct {
	Success bool          `json:"success"`
	Updated int           `json:"updated"`
	Failed  int           `json:"failed"`
	Results []batchResult `json:"results"`
}

func patchBatchOperation() routes.Operation {
	return routes.Operation{
		Summary: "Change many recordings", Group: routes.GroupRecordings, Request: exampleBatchUpdate(), Notes: batchNotes,
		Answers:  routes.Answers{http.StatusOK: batchUpdateResult{true, 1, 1, exampleBatchResults(0)}},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.NotFound},
	}
}

func (a *API) patchBatch(c echo.Context, p auth.Principal) error {
	var body batchUpdate
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	if body.Updates.Null {
		return problems.New(problems.InvalidParameter, "updates must be an object.")
	}
	updates := body.Updates.Value
	archived, err := readArchived(updates.IsArchived, "updates.is_archived")
	if err != nil {
		return err
	}
	found, err := a.recordings.PatchBatch(c.Request().Context(), p, body.RecordingIDs, recordings.BatchPatch{
		IsInbox: readFlag(updates.IsInbox), IsHighlighted: readFlag(updates.IsHighlighted), IsArchived: archived,
		FolderID: edit(updates.FolderID), AddTags: updates.AddTagIDs, RemoveTags: updates.RemoveTagIDs,
	})
	if err != nil {
		return err
	}
	results, updated, failed := batchResultsOf(found)
	return c.JSON(http.StatusOK, batchUpdateResult{true, updated, failed, results})
}

type batchDeletionResult struct {
	Success bool          `json:"success"`
	Deleted int           `json:"deleted"`
	Failed  int           `json:"failed"`
	Results []batchResult `json:"results"`
}

func deleteBatchOperation() routes.Operation {
	return routes.Operation{
		Summary: "Delete many recordings and their media", Group: routes.GroupRecordings, Request: exampleBatch(), Notes: batchNotes,
		Answers:  routes.Answers{http.StatusOK: batchDeletionResult{true, 1, 1, exampleBatchResults(0)}},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) deleteBatch(c echo.Context, p auth.Principal) error {
	var body recordingBatch
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	found, err := a.recordings.DeleteBatch(c.Request().Context(), p, body.RecordingIDs)
	if err != nil {
		return err
	}
	results, deleted, failed := batchResultsOf(found)
	return c.JSON(http.StatusOK, batchDeletionResult{true, deleted, failed, results})
}

type batchTranscriptionResult struct {
	Success bool          `json:"success"`
	Queued  int           `json:"queued"`
	Failed  int           `json:"failed"`
	Results []batchResult `json:"results"`
}

func transcribeBatchOperation() routes.Operation {
	return routes.Operation{
		Summary: "Transcribe many recordings again", Group: routes.GroupProcessing, Request: exampleBatch(), Notes: batchNotes,
		Answers:  routes.Answers{http.StatusOK: batchTranscriptionResult{true, 1, 1, exampleBatchResults(118)}},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) transcribeBatch(c echo.Context, p auth.Principal, purse budgets.Purse) error {
	var body recordingBatch
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	found, err := a.recordings.TranscribeBatch(c.Request().Context(), p, purse, body.RecordingIDs)
	if err != nil {
		return err
	}
	results, queued, failed := batchResultsOf(found)
	return c.JSON(http.StatusOK, batchTranscriptionResult{true, queued, failed, results})
}
