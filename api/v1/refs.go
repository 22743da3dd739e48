package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

type externalRefList struct {
	ExternalRefs []externalRefForm `json:"external_refs"`
}

func externalRefListOf(refs []recordings.ExternalRef) externalRefList {
	list := externalRefList{ExternalRefs: make([]externalRefForm, len(refs))}
	for i, ref := range refs {
		list.ExternalRefs[i] = externalRefFormOf(ref)
	}
	return list
}

func listRefsOperation() routes.Operation {
	return routes.Operation{
		Summary: "List the external references of a recording", Group: routes.GroupReferences, Answers: routes.Answers{http.StatusOK: exampleRefList()},
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
	return c.JSON(http.StatusOK, externalRefListOf(refs))
}

// externalRefFields are what a caller says of a reference. The story keeps the bounds, for uploads have them too.
type externalRefFields struct {
	Kind  string  `json:"kind" required:"true" minLength:"1" maxLength:"40" pattern:"^[a-z0-9_.-]{1,40}$" example:"issue"`
	Ref   string  `json:"ref" required:"true" minLength:"1" maxLength:"500" example:"PROJ-17"`
	URL   *string `json:"url" maxLength:"1000" example:"https://tracker.example.org/PROJ-17"`
	Label *string `json:"label" maxLength:"200"`
}

func (f externalRefFields) of(system string) recordings.ExternalRef {
	return recordings.ExternalRef{System: system, Kind: f.Kind, Ref: f.Ref, URL: f.URL, Label: f.Label}
}

type newExternalRef struct {
	System string `json:"system" required:"true" minLength:"1" maxLength:"40" pattern:"^[a-z0-9_.-]{1,40}$" example:"tracker"`
	externalRefFields
}

func addRefOperation() routes.Operation {
	return routes.Operation{
		Summary: "Add an external reference to a recording", Group: routes.GroupReferences, Request: newExternalRef{"tracker", exampleRefFields()},
		Notes:    "A reference of the same system, kind and ref that is there already stays as it is, and is the answer 200.",
		Answers:  routes.Answers{http.StatusCreated: externalRefFormOf(exampleRef()), http.StatusOK: externalRefFormOf(exampleRef())},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.Conflict, problems.InsufficientPermission},
	}
}

func (a *API) addRef(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	var body newExternalRef
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	ref, added, err := a.recordings.AddRef(c.Request().Context(), p, id, body.of(body.System))
	if err != nil {
		return err
	}
	if added {
		return c.JSON(http.StatusCreated, externalRefFormOf(ref))
	}
	return c.JSON(http.StatusOK, externalRefFormOf(ref))
}

// externalRefOfSystem may leave the system out: the query has it.
type externalRefOfSystem struct {
	System string `json:"system" maxLength:"40"`
	externalRefFields
}

type externalRefReplacement struct {
	onlyIfMatch
	System       string                `query:"system" json:"-" required:"true" pattern:"^[a-z0-9_.-]{1,40}$" description:"References of other systems stay."`
	ExternalRefs []externalRefOfSystem `json:"external_refs" required:"true" maxItems:"1000" description:"At most 50 with those of other systems; of one sent twice the last counts."`
}

func replaceRefsOperation() routes.Operation {
	return routes.Operation{
		Summary: "Replace the external references of a recording to one system", Group: routes.GroupReferences, Request: externalRefReplacement{ExternalRefs: []externalRefOfSystem{{"tracker", exampleRefFields()}}},
		Notes:    "References that stay get new ids too. The answer has those of all systems; without the scope read those that were sent.",
		Answers:  routes.Answers{http.StatusOK: exampleRefList()},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.Conflict, problems.PreconditionFailed, problems.InsufficientPermission},
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
	var body externalRefReplacement
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
	return c.JSON(http.StatusOK, externalRefListOf(all))
}

func removeRefOperation() routes.Operation {
	return routes.Operation{
		Summary: "Remove an external reference from a recording", Group: routes.GroupReferences,
		Answers:  routes.Answers{http.StatusNoContent: routes.Nothing{}},
		Refusals: []problems.Kind{problems.InsufficientPermission},
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
