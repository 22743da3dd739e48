// Package handlers lets accounts manage webhooks over HTTP: the addresses that are told of events.
package handlers

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/webhooks"
)

// The nouns that stand in paths.
const (
	noun         = "webhook"
	deliveryNoun = "delivery"
)

// Handlers answers the routes of webhooks.
type Handlers struct {
	webhooks *webhooks.Webhooks
	audit    *audit.Log
}

// New makes the handlers. What is done to webhooks of an organization is in the audit log.
func New(store *webhooks.Webhooks, log *audit.Log) *Handlers { return &Handlers{store, log} }

// note writes what was done to a webhook into the audit log, where it is the organization's.
func (h *Handlers) note(c echo.Context, action string, e webhooks.Endpoint) {
	if e.Scope != webhooks.ScopeOrganization {
		return
	}
	entry := routes.Asks(c)
	entry.Action, entry.Object = action, audit.Object(noun, e.ID)
	h.audit.Write(c.Request().Context(), entry)
}

// Declare lists the routes.
func (h *Handlers) Declare(t *routes.Table) {
	t.Token("GET", "/api/v1/webhooks", auth.Webhooks, h.list, listOperation())
	t.Token("POST", "/api/v1/webhooks", auth.Webhooks, h.create, createOperation())
	t.Token("GET", "/api/v1/webhooks/:webhook", auth.Webhooks, h.show, showOperation())
	t.Token("PATCH", "/api/v1/webhooks/:webhook", auth.Webhooks, h.change, changeOperation())
	t.Token("DELETE", "/api/v1/webhooks/:webhook", auth.Webhooks, h.remove, removeOperation())
	t.Token("POST", "/api/v1/webhooks/:webhook/rotate-secret", auth.Webhooks, h.rotate, rotateOperation())
	t.Token("POST", "/api/v1/webhooks/:webhook/test", auth.Webhooks, h.test, testOperation())
	t.Token("GET", "/api/v1/webhooks/:webhook/deliveries", auth.Webhooks, h.deliveries, deliveriesOperation())
	t.Token("GET", "/api/v1/webhooks/:webhook/deliveries/:delivery", auth.Webhooks, h.delivery, deliveryOperation())
	t.Token("POST", "/api/v1/webhooks/:webhook/deliveries/:delivery/replay", auth.Webhooks, h.replay, replayOperation())
	t.Token("POST", "/api/v1/webhooks/:webhook/replay-failed", auth.Webhooks, h.replayFailed, replayFailedOperation())
}

// webhookForm is a webhook on the wire.
type webhookForm struct {
	ID                       int64    `json:"id"`
	UserID                   int64    `json:"user_id"`
	Scope                    string   `json:"scope" enum:"user,organization" description:"Whose events it is told: its owner's, or those of the whole organization."`
	Name                     string   `json:"name"`
	URL                      string   `json:"url"`
	AllowHTTP                bool     `json:"allow_http"`
	Events                   []string `json:"events"`
	IncludeShared            bool     `json:"include_shared"`
	IncludeContent           bool     `json:"include_content" description:"Whether titles, file names and external references are sent."`
	Enabled                  bool     `json:"enabled" description:"False while it is paused, too."`
	AutoPaused               bool     `json:"auto_paused"`
	ConsecutiveFailures      int      `json:"consecutive_failures" description:"Deliveries given up in a row."`
	NextTrialAt              *string  `json:"next_trial_at"`
	PreviousSecretValidUntil *string  `json:"previous_secret_valid_until"`
	CreatedAt                string   `json:"created_at"`
	UpdatedAt                string   `json:"updated_at"`
	LastDeliveryAt           *string  `json:"last_delivery_at"`
	// Secret is in the answers that make one, and in no other.
	Secret string `json:"secret,omitempty"`
}

func formOf(e webhooks.Endpoint, secret string) webhookForm {
	form := webhookForm{
		ID: e.ID, UserID: e.UserID, Scope: e.Scope, Name: e.Name, URL: e.URL, AllowHTTP: e.AllowHTTP, Events: []string{},
		IncludeShared: e.Shared, IncludeContent: e.Content, Enabled: e.Enabled, AutoPaused: e.AutoPaused, ConsecutiveFailures: e.ConsecutiveFailures,
		NextTrialAt: routes.MicroOrNull(e.TrialAt), PreviousSecretValidUntil: variedOrNull(e.PreviousSecretUntil),
		CreatedAt: routes.Naive(e.CreatedAt), UpdatedAt: routes.Naive(e.UpdatedAt), LastDeliveryAt: routes.NaiveOrNull(e.LastDeliveryAt), Secret: secret,
	}
	for _, event := range e.Events {
		form.Events = append(form.Events, string(event))
	}
	return form
}

type webhookList struct {
	Webhooks   []webhookForm `json:"webhooks"`
	EventTypes []string      `json:"event_types"`
	MaxPerUser int           `json:"max_per_user"`
}

func listOperation() routes.Operation {
	return routes.Operation{
		Summary: "List webhooks", Group: routes.GroupWebhooks, Notes: "Newest first: the account's own and, for roles with `manage_integrations`, the organization's.",
		Answers: routes.Answers{http.StatusOK: webhookList{[]webhookForm{exampleWebhook("")}, webhooks.Types(), 10}},
	}
}

func (h *Handlers) list(c echo.Context, p auth.Principal) error {
	endpoints, err := h.webhooks.List(c.Request().Context(), p)
	if err != nil {
		return err
	}
	answer := webhookList{Webhooks: []webhookForm{}, EventTypes: webhooks.Types(), MaxPerUser: h.webhooks.MaxPerUser}
	for _, e := range endpoints {
		answer.Webhooks = append(answer.Webhooks, formOf(e, ""))
	}
	return c.JSON(http.StatusOK, answer)
}

type newWebhook struct {
	Name           *string                   `json:"name" maxLength:"1000" description:"Cut to 100 characters."`
	URL            *string                   `json:"url" maxLength:"500"`
	Events         routes.Optional[[]string] `json:"events" maxItems:"100" nullable:"false"`
	Scope          *string                   `json:"scope" enum:"user,organization" description:"organization needs the permission manage_integrations."`
	AllowHTTP      *bool                     `json:"allow_http" description:"Whether url may begin with http://; false by itself."`
	Enabled        *bool                     `json:"enabled" description:"True by itself."`
	IncludeShared  *bool                     `json:"include_shared"`
	IncludeContent *bool                     `json:"include_content" description:"By itself whether the credential has the scope read, which true needs."`
}

func (w newWebhook) wish() webhooks.Wish {
	wish := webhooks.Wish{
		Name: w.Name, URL: w.URL, Scope: w.Scope, AllowHTTP: w.AllowHTTP, Enabled: w.Enabled, Shared: w.IncludeShared, Content: w.IncludeContent,
	}
	if w.Events.Set {
		wish.Events = append([]string{}, w.Events.Value...) // null is none, which is refused as an empty list is
	}
	return wish
}

func createOperation() routes.Operation {
	return routes.Operation{
		Summary: "Create a webhook", Group: routes.GroupWebhooks, Notes: "The secret is in this one answer.",
		Request: exampleNewWebhook(), Answers: routes.Answers{http.StatusCreated: exampleWebhook(exampleSecret)},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.InsufficientPermission, problems.WebhookLimitReached},
	}
}

func (h *Handlers) create(c echo.Context, p auth.Principal) error {
	var body newWebhook
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	e, secret, err := h.webhooks.Create(c.Request().Context(), p, body.wish())
	if err != nil {
		return err
	}
	h.note(c, "webhook.create", e)
	return showOnce(c, http.StatusCreated, e, secret)
}

// showOnce answers with a secret, which nothing on the way may keep.
func showOnce(c echo.Context, status int, e webhooks.Endpoint, secret string) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(status, formOf(e, secret))
}

func showOperation() routes.Operation {
	return routes.Operation{Summary: "Show a webhook", Group: routes.GroupWebhooks, Answers: routes.Answers{http.StatusOK: exampleWebhook("")}}
}

func (h *Handlers) show(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, noun)
	if err != nil {
		return err
	}
	e, err := h.webhooks.Find(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, formOf(e, ""))
}

func changeOperation() routes.Operation {
	return routes.Operation{
		Summary: "Change a webhook", Group: routes.GroupWebhooks,
		Notes:   "`enabled: true` also ends a pause, and what waited is sent; `false` drops what waits.",
		Request: exampleNewWebhook(), Answers: routes.Answers{http.StatusOK: exampleWebhook("")},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.InsufficientPermission, problems.Conflict},
	}
}

func (h *Handlers) change(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, noun)
	if err != nil {
		return err
	}
	var body newWebhook
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	e, err := h.webhooks.Change(c.Request().Context(), p, id, body.wish())
	if err != nil {
		return err
	}
	h.note(c, "webhook.alter", e)
	return c.JSON(http.StatusOK, formOf(e, ""))
}

func removeOperation() routes.Operation {
	return routes.Operation{
		Summary: "Delete a webhook", Group: routes.GroupWebhooks, Notes: "Its deliveries go with it.",
		Answers: routes.Answers{http.StatusNoContent: routes.Nothing{}}, Refusals: []problems.Kind{problems.InsufficientPermission},
	}
}

func (h *Handlers) remove(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, noun)
	if err != nil {
		return err
	}
	e, err := h.webhooks.Delete(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	h.note(c, "webhook.delete", e)
	return c.NoContent(http.StatusNoContent)
}

func rotateOperation() routes.Operation {
	return routes.Operation{
		Summary: "Rotate the secret of a webhook", Group: routes.GroupWebhooks,
		Notes:   "Both secrets sign until `previous_secret_valid_until`. The new one is in this one answer.",
		Answers: routes.Answers{http.StatusOK: exampleWebhook(exampleSecret)}, Refusals: []problems.Kind{problems.InsufficientPermission},
	}
}

func (h *Handlers) rotate(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, noun)
	if err != nil {
		return err
	}
	e, secret, err := h.webhooks.Rotate(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	h.note(c, "webhook.rotate", e)
	return showOnce(c, http.StatusOK, e, secret)
}

// variedOrNull is the one form of times that only webhooks have.
func variedOrNull(t *time.Time) *string {
	if t == nil {
		return nil
	}
	return new(webhooks.Varied(*t))
}
