// Package inbound takes what other systems sign and post, and lets an account manage who may.
package inbound

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/integrations"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// Handlers answers the routes.
type Handlers struct {
	integrations *integrations.Integrations
	recordings   *recordings.Recordings
	audit        *audit.Log
	publicURL    string
}

// New makes the handlers. What is done to integrations of an organization is in the audit log. publicURL is the server's
// address as its users see it, "" where that is not known.
func New(store *integrations.Integrations, stories *recordings.Recordings, log *audit.Log, publicURL string) *Handlers {
	return &Handlers{store, stories, log, publicURL}
}

// note writes what was done to an integration into the audit log, where it is the organization's.
func (h *Handlers) note(c echo.Context, action string, made integrations.Integration) {
	if made.Scope != integrations.ScopeOrganization {
		return
	}
	entry := routes.Asks(c)
	entry.Action, entry.Object = action, audit.Object(noun, made.ID)
	h.audit.Write(c.Request().Context(), entry)
}

// Declare lists the routes.
func (h *Handlers) Declare(t *routes.Table) {
	t.Signed("POST", "/hooks/:integration", auth.Upload, routes.MaxUpload, budgets.Later(budgets.Transcription), h.deliver, deliverOperation())
	t.Token("GET", "/api/v1/integrations", auth.Webhooks, h.list, listOperation())
	t.Token("POST", "/api/v1/integrations", auth.Webhooks, h.create, createOperation())
	t.Token("PATCH", "/api/v1/integrations/:integration", auth.Webhooks, h.alter, alterOperation())
	t.Token("DELETE", "/api/v1/integrations/:integration", auth.Webhooks, h.remove, removeOperation())
	t.Token("POST", "/api/v1/integrations/:integration/rotate", auth.Webhooks, h.rotate, rotateOperation())
}

// deliveryHeaders are the path and the headers of a delivery; its body is the file.
type deliveryHeaders struct {
	Integration string `path:"integration" maxLength:"64" description:"The integration's public_id."`
	Delivery    string `header:"X-Delivery-Id" required:"true" maxLength:"100" description:"Your id of the delivery: the same id is the same delivery. Visible ASCII characters without a dot."`
	Timestamp   string `header:"X-Timestamp" required:"true" description:"When it is sent, in seconds since 1970."`
	Signature   string `header:"X-Signature-256" required:"true" description:"sha256= and the lower-case hex of the HMAC-SHA256, by the integration's secret, over the id, a dot, the timestamp, a dot, and the body as it is sent."`
}

// deliveryAnswer tells what became of a delivery.
type deliveryAnswer struct {
	Status string `json:"status"`
	// AlreadyAccepted is true of a delivery that was accepted before: nothing was made again.
	AlreadyAccepted bool  `json:"already_accepted"`
	RecordingID     int64 `json:"recording_id"`
}

func deliverOperation() routes.Operation {
	return routes.Operation{
		Summary: "Deliver a signed recording", Group: routes.GroupIntegrations, Request: deliveryHeaders{},
		Notes: "The body is the file, audio or video found by its content, and nothing of it is read as anything before its signature " +
			"holds. A delivery whose id was accepted makes nothing again, and is answered 200 with the same recording.",
		Answers:  routes.Answers{http.StatusAccepted: deliveryAnswer{"accepted", false, 42}, http.StatusOK: deliveryAnswer{"accepted", true, 42}},
		Refusals: []problems.Kind{problems.InvalidMedia, problems.StorageFull, problems.StorageUnavailable},
	}
}

func (h *Handlers) deliver(c echo.Context, p auth.Principal, verified routes.Verified) error {
	made, err := h.recordings.Deliver(c.Request().Context(), p, recordings.Delivery{
		IntegrationID: verified.IntegrationID, Name: verified.Integration, ID: verified.DeliveryID, Until: verified.Until,
		Body: verified.Body.Reader(),
	})
	if err != nil {
		return err
	}
	status := http.StatusAccepted
	if made.Already {
		status = http.StatusOK
	}
	return c.JSON(status, deliveryAnswer{"accepted", made.Already, made.RecordingID})
}
