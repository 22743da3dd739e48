package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

type refList struct {
	ExternalRefs []refForm `json:"external_refs"`
}

func refListOf(refs []recordings.ExternalRef) refList {
	list := refList{ExternalRefs: make([]refForm, len(refs))}
	for i, ref := range refs {
		list.ExternalRefs[i] = refFormOf(ref)
	}
	return list
}

func listRefsOperation() routes.Operation {
	return routes.Operation{
		Summary: "List the references of a recording", Group: routes.GroupReferences, Answers: routes.Answers{http.StatusOK: refList{}},
	}
}

func (a *API) listRefs(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	refs, err := a.recordings.Refs(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, refListOf(refs))
}

// refFields are what a caller says of a reference. The story keeps the bounds, for uploads have them too.
type refFields struct {
	Kind  string  `json:"kind" required:"true" minLength:"1" maxLength:"40" pattern:"^[a-z0-9_.-]{1,40}$" example:"issue"`
	Ref   string  `json:"ref" required:"true" minLength:"1" maxLength:"500" example:"PROJ-17"`
	URL   *string `json:"url" maxLength:"1000" example:"https://tracker.example.org/PROJ-17"`
	Label *string `json:"label" maxLength:"200"`
}

func (f refFields) of(system string) recordings.ExternalRef {
	return recordings.ExternalRef{System: system, Kind: f.Kind, Ref: f.Ref, URL: f.URL, Label: f.Label}
}

type newRef struct {
	System string `json:"system" required:"true" minLength:"1" maxLength:"40" pattern:"^[a-z0-9_.-]{1,40}$" example:"tracker"`
	refFields
}

func addRefOperation() routes.Operation {
	return routes.Operation{
		Summary: "Add a reference to a recording", Group: routes.GroupReferences, Request: newRef{},
		Notes:    "A reference of the same system, kind and ref that is there already stays as it is, and is the answer 200.",
		Answers:  routes.Answers{http.StatusCreated: refForm{}, http.StatusOK: refForm{}},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.Conflict},
	}
}

func (a *API) addRef(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	var body newRef
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	ref, added, err := a.recordings.AddRef(c.Request().Context(), p, id, body.of(body.System))
	if err != nil {
		return err
	}
	if added {
		return c.JSON(http.StatusCreated, refFormOf(ref))
	}
	return c.JSON(http.StatusOK, refFormOf(ref))
}

// refOfSystem may leave the system out: the query has it.
type refOfSystem struct {
	System string `json:"system" maxLength:"40"`
	refFields
}

type replaceRefsBody struct {
	onlyIfMatch
	System       string        `query:"system" json:"-" required:"true" pattern:"^[a-z0-9_.-]{1,40}$" description:"References of other systems stay."`
	ExternalRefs []refOfSystem `json:"external_refs" required:"true" maxItems:"1000" description:"At most 50 with those of other systems; of one sent twice the last counts."`
}

func replaceRefsOperation() routes.Operation {
	return routes.Operation{
		Summary: "Replace the references of a recording to one system", Group: routes.GroupReferences, Request: replaceRefsBody{},
		Notes:    "References that stay get new ids too. The answer has those of all systems; without the scope read those that were sent.",
		Answers:  routes.Answers{http.StatusOK: refList{}},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.Conflict, problems.PreconditionFailed},
	}
}

func (a *API) replaceRefs(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	match, err := ifMatch(c, id)
	if err != nil {
		return err
	}
	var body replaceRefsBody
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	refs := make([]recordings.ExternalRef, len(body.ExternalRefs))
	for i, ref := range body.ExternalRefs {
		refs[i] = ref.of(ref.System)
	}
	all, err := a.recordings.ReplaceRefs(c.Request().Context(), p, id, match, c.QueryParam("system"), refs)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, refListOf(all))
}

func removeRefOperation() routes.Operation {
	return routes.Operation{
		Summary: "Take a reference off a recording", Group: routes.GroupReferences,
		Answers: routes.Answers{http.StatusNoContent: routes.Nothing{}},
	}
}

func (a *API) removeRef(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	ref, err := routes.IDParam(c, "ref")
	if err != nil {
		return err
	}
	if err := a.recordings.RemoveRef(c.Request().Context(), p, id, ref); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
