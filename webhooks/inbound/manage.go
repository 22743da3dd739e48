package inbound

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/integrations"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// noun is how an integration stands in a path.
const noun = "integration"

// integrationForm is an integration on the wire.
type integrationForm struct {
	ID       int64  `json:"id"`
	PublicID string `json:"public_id"`
	// URL is where it posts; null where the server does not know its own address.
	URL       *string `json:"url"`
	Name      string  `json:"name"`
	Scope     string  `json:"scope"`
	UserID    int64   `json:"user_id"`
	Enabled   bool    `json:"enabled"`
	CreatedAt string  `json:"created_at"`
	// OldSecretUntil is when the secret before the last rotation stops counting.
	OldSecretUntil *string `json:"old_secret_until"`
	// Secret is in the one answer that shows it.
	Secret string `json:"secret,omitempty"`
}

func (h *Handlers) formOf(made integrations.Integration, secret string) integrationForm {
	form := integrationForm{
		ID: made.ID, PublicID: made.PublicID, Name: made.Name, Scope: made.Scope, UserID: made.UserID, Enabled: made.Enabled,
		CreatedAt: routes.Micro(made.CreatedAt), OldSecretUntil: routes.MicroOrNull(made.OldUntil), Secret: secret,
	}
	if h.publicURL != "" {
		form.URL = new(h.publicURL + "/hooks/" + made.PublicID)
	}
	return form
}

func exampleIntegration(secret string) integrationForm {
	made := integrations.Integration{
		ID: 5, PublicID: "x4m2q7k5c3j6t2a7w5n4r6y3ba", UserID: 1, Name: "Meeting room", Scope: integrations.ScopeMember, Enabled: true,
		CreatedAt: time.Date(2026, time.March, 4, 8, 0, 0, 0, time.UTC),
	}
	return (&Handlers{publicURL: "https://notes.example.org"}).formOf(made, secret)
}

const exampleKey = "stnhook_shown-once"

type integrationList struct {
	Integrations []integrationForm `json:"integrations"`
}

func listOperation() routes.Operation {
	return routes.Operation{
		Summary: "List integrations", Group: routes.GroupIntegrations,
		Notes:   "The account's own, and with the permission manage_integrations those of the organization.",
		Answers: routes.Answers{http.StatusOK: integrationList{[]integrationForm{exampleIntegration("")}}},
	}
}

func (h *Handlers) list(c echo.Context, p auth.Principal) error {
	list, err := h.integrations.List(c.Request().Context(), p)
	if err != nil {
		return err
	}
	answer := integrationList{make([]integrationForm, 0, len(list))}
	for _, made := range list {
		answer.Integrations = append(answer.Integrations, h.formOf(made, ""))
	}
	return c.JSON(http.StatusOK, answer)
}

type newIntegration struct {
	Name  string  `json:"name" required:"true" maxLength:"100"`
	Scope *string `json:"scope" enum:"member,organization" description:"organization is managed by whoever may manage_integrations, and takes that permission; its recordings are the account's that made it all the same."`
}

func createOperation() routes.Operation {
	return routes.Operation{
		Summary: "Create an integration", Group: routes.GroupIntegrations, Notes: "The secret is in this one answer.",
		Request: newIntegration{"Meeting room", new("member")}, Answers: routes.Answers{http.StatusCreated: exampleIntegration(exampleKey)},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.InsufficientPermission, problems.Conflict},
	}
}

func (h *Handlers) create(c echo.Context, p auth.Principal) error {
	var body newIntegration
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	made, secret, err := h.integrations.Create(c.Request().Context(), p, integrations.Wish{Name: body.Name, Scope: body.Scope})
	if err != nil {
		return err
	}
	h.note(c, "integration.create", made)
	return h.showOnce(c, made, secret)
}

// showOnce answers with a secret, which no cache keeps.
func (h *Handlers) showOnce(c echo.Context, made integrations.Integration, secret string) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(http.StatusCreated, h.formOf(made, secret))
}

type integrationUpdate struct {
	Name    *string `json:"name" maxLength:"100"`
	Enabled *bool   `json:"enabled" description:"Without it nothing is accepted."`
}

func alterOperation() routes.Operation {
	return routes.Operation{
		Summary: "Rename an integration, or switch it off and on", Group: routes.GroupIntegrations,
		Request: integrationUpdate{Enabled: new(true)}, Answers: routes.Answers{http.StatusOK: exampleIntegration("")},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (h *Handlers) alter(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, noun)
	if err != nil {
		return err
	}
	var body integrationUpdate
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	made, err := h.integrations.Alter(c.Request().Context(), p, id, integrations.Change{Name: body.Name, Enabled: body.Enabled})
	if err != nil {
		return err
	}
	h.note(c, "integration.alter", made)
	return c.JSON(http.StatusOK, h.formOf(made, ""))
}

type integrationRotation struct {
	OverlapHours *int64 `json:"overlap_hours" minimum:"0" maximum:"168" description:"How long the old secret still counts."`
}

func rotateOperation() routes.Operation {
	return routes.Operation{
		Summary: "Rotate the secret of an integration", Group: routes.GroupIntegrations, Notes: "The secret is in this one answer.",
		Request: integrationRotation{new(int64(24))}, Answers: routes.Answers{http.StatusCreated: exampleIntegration(exampleKey)},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (h *Handlers) rotate(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, noun)
	if err != nil {
		return err
	}
	var body integrationRotation
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	var overlap time.Duration
	if body.OverlapHours != nil {
		overlap = time.Duration(*body.OverlapHours) * time.Hour
	}
	made, secret, err := h.integrations.Rotate(c.Request().Context(), p, id, overlap)
	if err != nil {
		return err
	}
	h.note(c, "integration.rotate", made)
	return h.showOnce(c, made, secret)
}

const removedSentence = "The integration was deleted."

type integrationRemoval struct {
	Message string `json:"message"`
}

func removeOperation() routes.Operation {
	return routes.Operation{
		Summary: "Delete an integration", Group: routes.GroupIntegrations, Notes: "What it has delivered stays.",
		Answers: routes.Answers{http.StatusOK: integrationRemoval{removedSentence}},
	}
}

func (h *Handlers) remove(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, noun)
	if err != nil {
		return err
	}
	gone, err := h.integrations.Delete(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	h.note(c, "integration.delete", gone)
	return c.JSON(http.StatusOK, integrationRemoval{removedSentence})
}
