package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

type audioDeletionResult struct {
	Success        bool   `json:"success"`
	AudioDeletedAt string `json:"audio_deleted_at"`
}

func deleteAudioOperation() routes.Operation {
	return routes.Operation{
		Summary: "Delete the audio of a recording", Group: routes.GroupRecordings,
		Notes:    "The transcript and everything else stay. A recording that is being processed is a conflict, like one whose audio is gone.",
		Answers:  routes.Answers{http.StatusOK: audioDeletionResult{true, routes.Naive(exampleTime(10, 2, 0))}},
		Refusals: []problems.Kind{problems.Conflict, problems.InsufficientPermission},
	}
}

func (a *API) deleteAudio(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	at, err := a.recordings.DeleteAudio(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, audioDeletionResult{true, routes.Naive(at)})
}
