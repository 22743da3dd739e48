package handlers

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/webhooks"
)

// deliveryForm is a delivery on the wire.
type deliveryForm struct {
	ID                  int64    `json:"id"`
	WebhookID           int64    `json:"webhook_id"`
	EventID             string   `json:"event_id"`
	EventType           string   `json:"event_type"`
	Sequence            int64    `json:"sequence"`
	AttemptCount        int      `json:"attempt_count"`
	Status              string   `json:"status" enum:"pending,failed,success,permanent_failure,dropped" description:"failed will be tried again; dropped was never delivered and can be replayed."`
	Reason              *string  `json:"reason" description:"Of the last failure, or of its being dropped: one of the table in the user guide."`
	ResponseStatus      *int     `json:"response_status"`
	ResponseBodyPreview *string  `json:"response_body_preview" description:"At most 2000 characters, without signatures and credentials. Without the scope read: null."`
	ErrorMessage        *string  `json:"error_message" description:"The reason as a sentence."`
	DurationSeconds     *float64 `json:"duration_seconds" description:"Of the last attempt."`
	NextRetryAt         *string  `json:"next_retry_at"`
	CreatedAt           string   `json:"created_at"`
	DeliveredAt         *string  `json:"delivered_at"`
	FinishedAt          *string  `json:"finished_at"`
	ReplayedAt          *string  `json:"replayed_at"`
}

// deliveryFormOf shows an answer to who may read titles only: receivers send back what they were sent.
func deliveryFormOf(d webhooks.Delivery, mayRead bool) deliveryForm {
	form := deliveryForm{
		ID: d.ID, WebhookID: d.WebhookID, EventID: d.EventID, EventType: d.EventType, Sequence: d.Sequence, AttemptCount: d.Attempts, Status: d.Status,
		ResponseStatus: d.ResponseStatus, NextRetryAt: routes.NaiveOrNull(d.NextRetryAt),
		CreatedAt: routes.Naive(d.CreatedAt), DeliveredAt: routes.NaiveOrNull(d.DeliveredAt), FinishedAt: routes.NaiveOrNull(d.FinishedAt),
		ReplayedAt: routes.NaiveOrNull(d.ReplayedAt),
	}
	if mayRead {
		form.ResponseBodyPreview = d.ResponseBody
	}
	if d.Reason != "" {
		form.Reason, form.ErrorMessage = new(string(d.Reason)), new(d.Reason.Meaning())
	}
	if d.Duration != nil {
		form.DurationSeconds = new(d.Duration.Seconds())
	}
	return form
}

// deliveryDetail is one with its body.
type deliveryDetail struct {
	deliveryForm

	Payload string `json:"payload" description:"The body, exactly as it is sent. Without the scope read: titles in it are null."`
}

type deliveryList struct {
	Deliveries []deliveryForm `json:"deliveries"`
	Limit      int            `json:"limit"`
}

type deliveryQuery struct {
	Limit  *string `query:"limit" description:"1 to 200, 50 by itself, which words that are no number are read as."`
	Before *int64  `query:"before" minimum:"1" description:"Only deliveries with a smaller id: the last one of the page before."`
}

func deliveriesOperation() routes.Operation {
	return routes.Operation{
		Summary: "List the deliveries of a webhook", Group: routes.GroupWebhooks, Notes: "Newest first.",
		Request: deliveryQuery{}, Answers: routes.Answers{http.StatusOK: deliveryList{[]deliveryForm{exampleDelivery()}, webhooks.DefaultDeliveries}},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.InsufficientPermission},
	}
}

func (h *Handlers) deliveries(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, noun)
	if err != nil {
		return err
	}
	limit := limitOf(c.QueryParam("limit"))
	var before int64
	if text := c.QueryParam("before"); text != "" {
		if before, err = strconv.ParseInt(text, 10, 64); err != nil || before < 1 {
			return problems.New(problems.InvalidParameter, "before must be the id of a delivery: a whole number from 1.")
		}
	}
	found, err := h.webhooks.Deliveries(c.Request().Context(), p, id, limit, before)
	if err != nil {
		return err
	}
	answer := deliveryList{Deliveries: []deliveryForm{}, Limit: limit}
	for _, d := range found {
		answer.Deliveries = append(answer.Deliveries, deliveryFormOf(d, p.MayRead()))
	}
	return c.JSON(http.StatusOK, answer)
}

// limitOf reads a limit as the contract does: what is no number is the default, a number is kept within the bounds.
func limitOf(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return webhooks.DefaultDeliveries
	}
	return min(max(n, 1), webhooks.MaxDeliveries)
}

func deliveryOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show a delivery with its body", Group: routes.GroupWebhooks,
		Answers:  routes.Answers{http.StatusOK: deliveryDetail{exampleDelivery(), examplePayload}},
		Refusals: []problems.Kind{problems.InsufficientPermission},
	}
}

func (h *Handlers) delivery(c echo.Context, p auth.Principal) error {
	id, delivery, err := both(c)
	if err != nil {
		return err
	}
	d, err := h.webhooks.Delivery(c.Request().Context(), p, id, delivery)
	if err != nil {
		return err
	}
	payload := d.Payload
	if !p.MayRead() {
		payload = d.WithoutContent()
	}
	return c.JSON(http.StatusOK, deliveryDetail{deliveryFormOf(d, p.MayRead()), payload})
}

func both(c echo.Context) (webhook, delivery int64, err error) {
	if webhook, err = routes.IDParam(c, noun); err != nil {
		return 0, 0, err
	}
	delivery, err = routes.IDParam(c, deliveryNoun)
	return webhook, delivery, err
}

func testOperation() routes.Operation {
	return routes.Operation{
		Summary: "Send a test event", Group: routes.GroupWebhooks, Notes: "It is sent whatever the webhook subscribes to. Its deliveries tell what came of it.",
		Answers: routes.Answers{http.StatusAccepted: exampleDelivery()}, Refusals: []problems.Kind{problems.Conflict, problems.InvalidParameter, problems.InsufficientPermission},
	}
}

func (h *Handlers) test(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, noun)
	if err != nil {
		return err
	}
	d, err := h.webhooks.Test(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, deliveryFormOf(d, p.MayRead()))
}

func replayOperation() routes.Operation {
	return routes.Operation{
		Summary: "Replay a delivery", Group: routes.GroupWebhooks, Notes: "It is sent as an event of its own, whose `replayed_from` is the old one's id.",
		Answers: routes.Answers{http.StatusAccepted: exampleDelivery()}, Refusals: []problems.Kind{problems.Conflict, problems.InvalidParameter, problems.InsufficientPermission},
	}
}

func (h *Handlers) replay(c echo.Context, p auth.Principal) error {
	id, delivery, err := both(c)
	if err != nil {
		return err
	}
	d, err := h.webhooks.Replay(c.Request().Context(), p, id, delivery)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, deliveryFormOf(d, p.MayRead()))
}

type replayResult struct {
	Replayed int `json:"replayed"`
	Left     int `json:"left" description:"How many there are still: at most 1000 are replayed at once."`
}

func replayFailedOperation() routes.Operation {
	return routes.Operation{
		Summary: "Replay all that was not delivered", Group: routes.GroupWebhooks,
		Notes:   "Deliveries that were given up or dropped, and were not replayed since, oldest first.",
		Answers: routes.Answers{http.StatusAccepted: replayResult{3, 0}}, Refusals: []problems.Kind{problems.Conflict, problems.InvalidParameter, problems.InsufficientPermission},
	}
}

func (h *Handlers) replayFailed(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, noun)
	if err != nil {
		return err
	}
	queued, left, err := h.webhooks.ReplayFailed(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, replayResult{queued, left})
}
