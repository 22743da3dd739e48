package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// speakerForm is a person whom the account knows. Nothing is known of voices in this release.
type speakerForm struct {
	ID              int64    `json:"id"`
	Name            *string  `json:"name"`
	UseCount        int64    `json:"use_count"`
	LastUsed        *string  `json:"last_used"`
	ConfidenceScore *float64 `json:"confidence_score"`
	HasVoiceProfile bool     `json:"has_voice_profile"`
	Email           *string  `json:"email"`
	Aliases         []string `json:"aliases"`
	UpdatedAt       *string  `json:"updated_at"`
}

func speakerFormOf(s recordings.Speaker) speakerForm {
	updated := routes.Micro(s.UpdatedAt)
	return speakerForm{
		ID: s.ID, Name: &s.Name, UseCount: s.UseCount, LastUsed: routes.NaiveOrNull(s.LastUsedAt),
		Email: s.Email, Aliases: s.Aliases, UpdatedAt: &updated,
	}
}

type speakerList struct {
	Speakers []speakerForm `json:"speakers"`
}

type speakersQuery struct {
	Email *string `query:"email" description:"Keeps who has this address, in any case."`
}

func listSpeakersOperation() routes.Operation {
	return routes.Operation{
		Summary: "List speakers", Group: routes.GroupSpeakers, Request: speakersQuery{},
		Notes:   "Those who are named most come first. An account has at most 10,000.",
		Answers: routes.Answers{http.StatusOK: speakerList{[]speakerForm{speakerFormOf(exampleSpeaker())}}},
	}
}

func (a *API) listSpeakers(c echo.Context, p auth.Principal) error {
	speakers, err := a.recordings.Speakers(c.Request().Context(), p, c.QueryParam("email"))
	if err != nil {
		return err
	}
	list := speakerList{Speakers: make([]speakerForm, len(speakers))}
	for i, speaker := range speakers {
		list.Speakers[i] = speakerFormOf(speaker)
	}
	return c.JSON(http.StatusOK, list)
}

type newSpeaker struct {
	Name    string                    `json:"name" required:"true" description:"1 to 100 characters without the white space around them; unique within the account." example:"Ada"`
	Email   *string                   `json:"email" description:"At most 320 characters; stored in lower case." example:"ada@example.org"`
	Aliases routes.Optional[[]string] `json:"aliases" maxItems:"100" description:"At most 20 of 100 characters that differ in more than case."`
}

type createdSpeaker struct {
	speakerForm
	CreatedAt string `json:"created_at"`
}

func createdSpeakerOf(s recordings.Speaker) createdSpeaker {
	return createdSpeaker{speakerFormOf(s), routes.Naive(s.CreatedAt)}
}

func createSpeakerOperation() routes.Operation {
	return routes.Operation{
		Summary: "Create a speaker", Group: routes.GroupSpeakers, Request: exampleNewSpeaker(),
		Answers:  routes.Answers{http.StatusCreated: createdSpeakerOf(exampleSpeaker())},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.Conflict},
	}
}

func (a *API) createSpeaker(c echo.Context, p auth.Principal) error {
	var body newSpeaker
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	speaker, err := a.recordings.AddSpeaker(c.Request().Context(), p, recordings.SpeakerChange{
		Name: &body.Name, Email: body.Email, Aliases: &body.Aliases.Value,
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, createdSpeakerOf(speaker))
}

type speakerUpdate struct {
	Name    routes.Optional[string]   `json:"name" description:"1 to 100 characters without the white space around them; unique within the account."`
	Email   routes.Optional[string]   `json:"email" description:"At most 320 characters; null or blank for none."`
	Aliases routes.Optional[[]string] `json:"aliases" maxItems:"100" description:"At most 20 of 100 characters; null or none of them clears."`
}

// change tells null, which clears, from what is not there, which stays.
func (b speakerUpdate) change() (recordings.SpeakerChange, error) {
	if !b.Name.Set && !b.Email.Set && !b.Aliases.Set {
		return recordings.SpeakerChange{}, problems.New(problems.InvalidParameter, "One of name, email and aliases must be given.")
	}
	var change recordings.SpeakerChange
	if b.Name.Set {
		change.Name = &b.Name.Value
	}
	if b.Email.Set {
		change.Email = &b.Email.Value
	}
	if b.Aliases.Set {
		change.Aliases = &b.Aliases.Value
	}
	return change, nil
}

type speakerUpdateResult struct {
	Success bool        `json:"success"`
	Speaker speakerForm `json:"speaker"`
}

func changeSpeakerOperation() routes.Operation {
	return routes.Operation{
		Summary: "Change a speaker", Group: routes.GroupSpeakers, Request: exampleSpeakerUpdate(),
		Notes: "A new name reaches every recording that the speaker is in: transcripts show it at once; updated_at of more " +
			"than 50 recordings follows within moments. Without the scope read the answer has no name, email or aliases.",
		Answers:  routes.Answers{http.StatusOK: speakerUpdateResult{true, speakerFormOf(exampleSpeaker())}},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.Conflict},
	}
}

func (a *API) changeSpeaker(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "speaker")
	if err != nil {
		return err
	}
	var body speakerUpdate
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	change, err := body.change()
	if err != nil {
		return err
	}
	speaker, err := a.recordings.ChangeSpeaker(c.Request().Context(), p, id, change)
	if err != nil {
		return err
	}
	form := speakerFormOf(speaker)
	if !p.MayRead() {
		form.Name, form.Email, form.Aliases = nil, nil, []string{}
	}
	return c.JSON(http.StatusOK, speakerUpdateResult{true, form})
}

func deleteSpeakerOperation() routes.Operation {
	return routes.Operation{
		Summary: "Delete a speaker", Group: routes.GroupSpeakers, Notes: "Transcripts keep the name.",
		Answers: routes.Answers{http.StatusOK: confirmation{true, speakerDeleted}},
	}
}

func (a *API) deleteSpeaker(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "speaker")
	if err != nil {
		return err
	}
	if err := a.recordings.RemoveSpeaker(c.Request().Context(), p, id); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, confirmation{true, speakerDeleted})
}
