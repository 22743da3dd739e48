package v1

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/routes"
)

type userForm struct {
	ID               int64             `json:"id"`
	Username         string            `json:"username"`
	Email            string            `json:"email"`
	Name             *string           `json:"name"`
	JobTitle         *string           `json:"job_title"`
	Company          *string           `json:"company"`
	SSOProvider      *string           `json:"sso_provider"`
	IsAdmin          bool              `json:"is_admin"`
	EmailVerified    bool              `json:"email_verified"`
	CanSharePublicly bool              `json:"can_share_publicly"`
	Role             string            `json:"role"`
	OrganizationID   int64             `json:"organization_id"`
	Preferences      userPreferences   `json:"preferences"`
	GroupMemberships []groupMembership `json:"group_memberships"`
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

// groupMembership is the account's place in its organization, which is the one group of the contract that it is in.
type groupMembership struct {
	GroupID   int64   `json:"group_id"`
	GroupName string  `json:"group_name"`
	Role      string  `json:"role" enum:"admin,member"`
	JoinedAt  *string `json:"joined_at"`
}

// signsInBy is the host of the issuer by which the account signs in; nil without one.
func (a *API) signsInBy(c echo.Context, p auth.Principal) (*string, error) {
	issuer, err := a.accounts.SignsInBy(c.Request().Context(), p.UserID())
	if err != nil || issuer == "" {
		return nil, err
	}
	parsed, err := url.Parse(issuer)
	if err != nil || parsed.Host == "" {
		return &issuer, nil //nolint:nilerr // an issuer that is no address is shown as it is
	}
	return &parsed.Host, nil
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
	organization, err := a.organizations.Profile(c.Request().Context(), p.OrganizationID())
	if err != nil {
		return err
	}
	provider, err := a.signsInBy(c, p)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, userForm{
		SSOProvider: provider,
		ID:          user.ID, Username: user.Username, Email: user.Email, IsAdmin: user.InstanceAdmin,
		Role: user.Role, OrganizationID: user.OrganizationID,
		CanSharePublicly: a.recordings.PublicSharing && p.May(auth.Publish),
		Preferences: userPreferences{
			AutoSummarization: user.AutoSummarization, OutputLanguage: user.OutputLanguage, SummaryPrompt: user.SummaryPrompt,
			ExtractEvents: user.ExtractEvents, Diarize: a.engine.Capabilities.Diarization,
		},
		GroupMemberships: []groupMembership{{
			GroupID: organization.ID, GroupName: organization.Name, Role: groupRole(p.May(auth.AdministerMembers)),
			JoinedAt: new(routes.Naive(user.CreatedAt)),
		}},
	})
}
