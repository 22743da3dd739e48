package v1

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// recordingUpdate is what a recording may be changed to.
type recordingUpdate struct {
	onlyIfMatch
	Title         routes.Optional[string] `json:"title" maxLength:"200"`
	Participants  routes.Optional[string] `json:"participants" maxLength:"500"`
	Notes         routes.Optional[string] `json:"notes" description:"At most 1,048,576 bytes of UTF-8."`
	Summary       routes.Optional[string] `json:"summary" description:"At most 1,048,576 bytes of UTF-8."`
	MeetingDate   routes.Optional[string] `json:"meeting_date" description:"A date or date-time of ISO 8601; null or nothing clears it." example:"2026-03-05T09:00:00Z"`
	IsInbox       routes.Optional[bool]   `json:"is_inbox" description:"null is false."`
	IsHighlighted routes.Optional[bool]   `json:"is_highlighted" description:"null is false."`
	IsArchived    routes.Optional[bool]   `json:"is_archived" nullable:"false"`
	FolderID      routes.Optional[int64]  `json:"folder_id" description:"A folder of the account; null takes the recording out of its folder."`
}

// sentPatch is a recordingUpdate as it came.
type sentPatch struct {
	recordingUpdate
	empty         bool
	keepAudioOnly bool
}

// UnmarshalJSON also notes what the form itself cannot tell: that nothing was sent, or what must not be.
func (s *sentPatch) UnmarshalJSON(raw []byte) error {
	var fixed struct {
		KeepAudioOnly json.RawMessage `json:"keep_audio_only"`
	}
	if err := json.Unmarshal(raw, &fixed); err != nil {
		return err //nolint:wrapcheck // the decoder looks for its own errors
	}
	s.keepAudioOnly = fixed.KeepAudioOnly != nil
	s.empty = len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
	return json.Unmarshal(raw, &s.recordingUpdate) //nolint:wrapcheck // as above
}

type updatedRecording struct {
	ID            int64   `json:"id"`
	Title         *string `json:"title"`
	Participants  *string `json:"participants"`
	Notes         *string `json:"notes"`
	Summary       *string `json:"summary"`
	MeetingDate   *string `json:"meeting_date"`
	IsInbox       bool    `json:"is_inbox"`
	IsHighlighted bool    `json:"is_highlighted"`
	IsArchived    bool    `json:"is_archived"`
	FolderID      *int64  `json:"folder_id"`
	UpdatedAt     string  `json:"updated_at"`
}

func updatedRecordingOf(r recordings.Recording) updatedRecording {
	return updatedRecording{
		ID: r.ID, Title: r.Title, Participants: r.Participants, Notes: r.Notes, Summary: r.Summary,
		MeetingDate: routes.NaiveOrNull(r.MeetingDate), IsInbox: r.IsInbox, IsHighlighted: r.IsHighlighted,
		IsArchived: r.IsArchived, FolderID: r.FolderID, UpdatedAt: routes.Micro(r.UpdatedAt),
	}
}

type recordingUpdateResult struct {
	Success   bool             `json:"success"`
	Recording updatedRecording `json:"recording"`
}

func patchRecordingOperation() routes.Operation {
	return routes.Operation{
		Summary: "Change a recording", Group: routes.GroupRecordings, Request: exampleRecordingUpdate(),
		Notes: "All that is asked is done, or nothing. What is not named stays; other members are ignored, " +
			"but for `keep_audio_only`, which cannot be changed. A folder of another account is 404.",
		Answers:  routes.Answers{http.StatusOK: exampleRecordingUpdateResult()},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.PreconditionFailed, problems.InsufficientPermission},
	}
}

func (a *API) patchRecording(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	var body sentPatch
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	patch, err := body.patch()
	if err != nil {
		return err
	}
	match, err := ifMatch(c, id)
	if err != nil {
		return err
	}
	r, err := a.recordings.Patch(c.Request().Context(), p, id, match, patch)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, recordingUpdateResult{true, updatedRecordingOf(r)})
}

func (s *sentPatch) patch() (recordings.Patch, error) {
	if s.empty {
		return recordings.Patch{}, problems.New(problems.InvalidParameter, "The body names nothing to change.")
	}
	date, err := readMeetingDate(s.MeetingDate)
	if err != nil {
		return recordings.Patch{}, err
	}
	archived, err := readArchived(s.IsArchived, "is_archived")
	if err != nil {
		return recordings.Patch{}, err
	}
	if s.keepAudioOnly {
		return recordings.Patch{}, problems.New(problems.InvalidParameter, "keep_audio_only cannot be changed.")
	}
	return recordings.Patch{
		Title: edit(s.Title), Participants: edit(s.Participants), Notes: edit(s.Notes), Summary: edit(s.Summary),
		MeetingDate: date, IsInbox: readFlag(s.IsInbox), IsHighlighted: readFlag(s.IsHighlighted), IsArchived: archived,
		FolderID: edit(s.FolderID),
	}, nil
}

func edit[T any](sent routes.Optional[T]) recordings.Edit[T] {
	return recordings.Edit[T]{Given: sent.Set, Value: sent.Pointer()}
}

// readFlag takes null for false, as clients of the contract send it. Words and numbers are refused by the decoder:
// "false" would have to be true.
func readFlag(sent routes.Optional[bool]) *bool {
	if !sent.Set {
		return nil
	}
	return &sent.Value
}

func readArchived(sent routes.Optional[bool], name string) (*bool, error) {
	if sent.Null {
		return nil, problems.New(problems.InvalidParameter, "%s must be true or false.", name)
	}
	return sent.Pointer(), nil
}

func readMeetingDate(sent routes.Optional[string]) (recordings.Edit[time.Time], error) {
	if !sent.Set || sent.Null || strings.TrimSpace(sent.Value) == "" {
		return recordings.Edit[time.Time]{Given: sent.Set}, nil
	}
	at, _, ok := recordings.ParseTime(sent.Value)
	if !ok {
		return recordings.Edit[time.Time]{}, problems.New(problems.InvalidParameter, "meeting_date must be a date or date-time of ISO 8601.")
	}
	return recordings.Edit[time.Time]{Given: true, Value: &at}, nil
}
