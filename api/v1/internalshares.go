package v1

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// The bounds of how people are named, in characters.
const (
	minPersonQuery = 2
	maxPersonName  = 320
)

// internalShareForm is somebody who sees a recording.
type internalShareForm struct {
	ID         int64   `json:"id" description:"0 for the owner, who needs no share."`
	UserID     int64   `json:"user_id"`
	Username   *string `json:"username"`
	Email      *string `json:"email"`
	IsOwner    bool    `json:"is_owner"`
	CanEdit    bool    `json:"can_edit"`
	CanReshare bool    `json:"can_reshare"`
	Source     *string `json:"source" description:"manual, group_tag or group_folder; null for the owner."`
	GrantedBy  int64   `json:"granted_by"`
	SharedAt   string  `json:"shared_at"`
}

func internalShareFormOf(s recordings.InternalShare) internalShareForm {
	form := internalShareForm{
		ID: s.ID, UserID: s.Person.ID, Username: nameOrNull(s.Person.Username), Email: nameOrNull(s.Person.Email),
		IsOwner: s.IsOwner, CanEdit: s.CanEdit, CanReshare: s.CanReshare, GrantedBy: s.GrantedBy, SharedAt: routes.Micro(s.CreatedAt),
	}
	form.Source = nameOrNull(s.Source)
	return form
}

// nameOrNull is a text that is there; nobody is called nothing.
func nameOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

type newInternalShare struct {
	UserID     *int64  `json:"user_id" description:"Who it is for; or username, or email."`
	Username   *string `json:"username" maxLength:"320"`
	Email      *string `json:"email" maxLength:"320"`
	CanEdit    bool    `json:"can_edit" description:"Whether they may change the recording."`
	CanReshare bool    `json:"can_reshare" description:"Whether they may share it on, with no more than they have."`
}

type internalShareResult struct {
	Success bool              `json:"success"`
	Share   internalShareForm `json:"share"`
}

func shareInternallyOperation() routes.Operation {
	return routes.Operation{
		Summary: "Share a recording with somebody of the organization", Group: routes.GroupSharing, Request: exampleNewInternalShare(),
		Notes: "For the owner, and for who may share it on. Somebody of another organization does not exist (404). A second share with " +
			"the same person is 409. A recording is shared with at most 1,000 people.",
		Answers: routes.Answers{http.StatusCreated: internalShareResult{true, exampleInternalShare()}},
		Refusals: []problems.Kind{
			problems.FeatureDisabled, problems.InsufficientPermission, problems.InvalidParameter, problems.Conflict,
		},
	}
}

func (a *API) shareInternally(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	if err := a.recordings.MayShareInternally(); err != nil {
		return err
	}
	var body newInternalShare
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	with, err := body.person()
	if err != nil {
		return err
	}
	made, err := a.recordings.ShareInternally(c.Request().Context(), p, id, recordings.InternalShareWish{
		With: with, CanEdit: body.CanEdit, CanReshare: body.CanReshare,
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, internalShareResult{true, internalShareFormOf(made)})
}

// person is who is named, in one of the three ways.
func (body newInternalShare) person() (recordings.Person, error) {
	named := 0
	for _, given := range []bool{body.UserID != nil, body.Username != nil, body.Email != nil} {
		if given {
			named++
		}
	}
	who := recordings.Person{Username: strings.TrimSpace(given(body.Username)), Email: strings.TrimSpace(given(body.Email))}
	if body.UserID != nil {
		who.ID = *body.UserID
	}
	if named != 1 || who == (recordings.Person{}) {
		return who, problems.New(problems.InvalidParameter, "Give one of user_id, username and email.")
	}
	if !isText(who.Username, maxPersonName) || !isText(who.Email, maxPersonName) {
		return who, problems.New(problems.InvalidParameter, "username and email must be text of at most %d characters.", maxPersonName)
	}
	return who, nil
}

type internalShareList struct {
	Shares []internalShareForm `json:"shares"`
}

func listInternalSharesOperation() routes.Operation {
	return routes.Operation{
		Summary: "List who sees a recording", Group: routes.GroupSharing,
		Notes:    "The owner first. For the owner, and for who may share it on.",
		Answers:  routes.Answers{http.StatusOK: internalShareList{[]internalShareForm{exampleInternalShare()}}},
		Refusals: []problems.Kind{problems.FeatureDisabled, problems.InsufficientPermission},
	}
}

func (a *API) listInternalShares(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	shares, err := a.recordings.InternalShares(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	answer := internalShareList{make([]internalShareForm, len(shares))}
	for i, share := range shares {
		answer.Shares[i] = internalShareFormOf(share)
	}
	return c.JSON(http.StatusOK, answer)
}

// internalShareEnd says what has ended. Cascaded tells that more ended than the one that was named.
type internalShareEnd struct {
	Success      bool `json:"success"`
	RevokedCount int  `json:"revoked_count"`
	Cascaded     bool `json:"cascaded"`
}

const endingNotes = "For the owner and for who gave the share. Those that its person gave on end with it: `revoked_count` counts them too. " +
	"What a tag or a folder of the organization shares ends when that is taken off (409)."

func endInternalShareOperation() routes.Operation {
	return routes.Operation{
		Summary: "End an internal share", Group: routes.GroupSharing, Notes: endingNotes,
		Answers:  routes.Answers{http.StatusOK: internalShareEnd{true, 1, false}},
		Refusals: []problems.Kind{problems.FeatureDisabled, problems.Conflict},
	}
}

func (a *API) endInternalShare(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	share, err := routes.IDParam(c, "share")
	if err != nil {
		return err
	}
	ended, err := a.recordings.EndInternalShare(c.Request().Context(), p, id, share)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, internalShareEnd{true, ended.Count, ended.Count > 1})
}

type internalShareWith struct {
	UserID *int64 `json:"user_id" required:"true"`
}

func endInternalShareWithOperation() routes.Operation {
	return routes.Operation{
		Summary: "End the internal share of a person", Group: routes.GroupSharing, Notes: endingNotes, Request: exampleInternalShareWith(),
		Answers:  routes.Answers{http.StatusOK: internalShareEnd{true, 2, true}},
		Refusals: []problems.Kind{problems.FeatureDisabled, problems.InvalidParameter, problems.Conflict},
	}
}

func (a *API) endInternalShareWith(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	if err := a.recordings.MayShareInternally(); err != nil {
		return err
	}
	var body internalShareWith
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	if body.UserID == nil {
		return problems.New(problems.InvalidParameter, "user_id must be given.")
	}
	ended, err := a.recordings.EndInternalShareWith(c.Request().Context(), p, id, *body.UserID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, internalShareEnd{true, ended.Count, ended.Count > 1})
}

type personQuery struct {
	Text string `query:"q" required:"true" minLength:"2" maxLength:"320" example:"ada" description:"Must stand in the username or the address, in any case."`
}

type personForm struct {
	ID       int64   `json:"id"`
	Username string  `json:"username"`
	Email    *string `json:"email"`
}

func searchUsersOperation() routes.Operation {
	return routes.Operation{
		Summary: "Find people to share with", Group: routes.GroupSharing, Request: personQuery{},
		Notes:    "Of the caller's organization only, 20 at most, by username; without the caller and those who are disabled.",
		Answers:  routes.Answers{http.StatusOK: []personForm{examplePerson()}},
		Refusals: []problems.Kind{problems.FeatureDisabled, problems.InvalidParameter},
	}
}

func (a *API) searchUsers(c echo.Context, p auth.Principal) error {
	if err := a.recordings.MayShareInternally(); err != nil {
		return err
	}
	text := strings.TrimSpace(c.QueryParam("q"))
	if !isText(text, maxPersonName) || utf8.RuneCountInString(text) < minPersonQuery {
		return problems.New(problems.InvalidParameter, "q must be text of %d to %d characters.", minPersonQuery, maxPersonName)
	}
	people, err := a.recordings.Colleagues(c.Request().Context(), p, text)
	if err != nil {
		return err
	}
	answer := make([]personForm, len(people))
	for i, person := range people {
		answer[i] = personForm{person.ID, person.Username, nameOrNull(person.Email)}
	}
	return c.JSON(http.StatusOK, answer)
}
