package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/routes"
)

type userForm struct {
	ID               int64           `json:"id"`
	Username         string          `json:"username"`
	Email            string          `json:"email"`
	Name             *string         `json:"name"`
	JobTitle         *string         `json:"job_title"`
	Company          *string         `json:"company"`
	SSOProvider      *string         `json:"sso_provider"`
	IsAdmin          bool            `json:"is_admin"`
	EmailVerified    bool            `json:"email_verified"`
	CanSharePublicly bool            `json:"can_share_publicly"`
	Role             string          `json:"role"`
	OrganizationID   int64           `json:"organization_id"`
	Preferences      userPreferences `json:"preferences"`
	GroupMemberships []struct{}      `json:"group_memberships"`
}

// userPreferences are what this release does for the account.
type userPreferences struct {
	UILanguage                    *string `json:"ui_language"`
	TranscriptionLanguage         *string `json:"transcription_language"`
	OutputLanguage                *string `json:"output_language"`
	SummaryPrompt                 *string `json:"summary_prompt"`
	ExtractEvents                 bool    `json:"extract_events"`
	AutoSpeakerLabelling          bool    `json:"auto_speaker_labelling"`
	AutoSpeakerLabellingThreshold *string `json:"auto_speaker_labelling_threshold"`
	AutoSummarization             bool    `json:"auto_summarization"`
	NotifyEmailOnCompletion       bool    `json:"notify_email_on_completion"`
	ShowTimestampsSimpleView      bool    `json:"show_timestamps_simple_view"`
	EditorAutosave                bool    `json:"editor_autosave"`
	Diarize                       bool    `json:"diarize"`
}

func showUserOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show the caller's account", Group: routes.GroupAccount, Answers: routes.Answers{http.StatusOK: exampleUser()},
	}
}

func (a *API) showUser(c echo.Context, p auth.Principal) error {
	user, err := a.accounts.Find(c.Request().Context(), p.UserID())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, userForm{
		ID: user.ID, Username: user.Username, Email: user.Email, IsAdmin: user.InstanceAdmin,
		Role: user.Role, OrganizationID: user.OrganizationID,
		CanSharePublicly: a.recordings.PublicSharing && p.May(auth.Publish),
		Preferences: userPreferences{
			AutoSummarization: user.AutoSummarization, OutputLanguage: user.OutputLanguage, SummaryPrompt: user.SummaryPrompt,
			ExtractEvents: user.ExtractEvents, Diarize: a.engine.Capabilities.Diarization,
		},
		GroupMemberships: []struct{}{},
	})
}
