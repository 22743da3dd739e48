package handlers

import (
	"time"

	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/webhooks"
)

// exampleSecret has the form of a secret and is none.
const exampleSecret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

const examplePayload = `{"id":"3f2b8c1e-5a4d-4e6f-8b7a-9c0d1e2f3a4b","type":"recording.deleted","timestamp":"2026-03-04T08:00:00Z","occurred_at":"2026-03-04T08:00:00Z","user_id":1,"sequence":4,"data":{"recording_id":7,"title":"Board meeting"}}`

func exampleNewWebhook() newWebhook {
	return newWebhook{
		Name: new("n8n"), URL: new("https://n8n.example.org/webhook/notes"),
		Events: routes.Given([]string{string(webhooks.TranscriptionCompleted), string(webhooks.RecordingDeleted)}),
	}
}

// exampleWebhook is the webhook of exampleNewWebhook; only the answers that make a secret show it.
func exampleWebhook(secret string) webhookForm {
	created := time.Date(2026, time.March, 4, 8, 0, 0, 0, time.UTC)
	return formOf(webhooks.Endpoint{
		ID: 2, UserID: 1, Scope: webhooks.ScopeUser, Name: "n8n", URL: "https://n8n.example.org/webhook/notes",
		Events: []webhooks.Type{webhooks.TranscriptionCompleted, webhooks.RecordingDeleted}, Content: true, Enabled: true,
		CreatedAt: created, UpdatedAt: created, LastDeliveryAt: &created,
	}, secret)
}

func exampleDelivery() deliveryForm {
	created := time.Date(2026, time.March, 4, 8, 0, 0, 0, time.UTC)
	delivered, status, took := created.Add(time.Second), 204, 84*time.Millisecond
	return deliveryFormOf(webhooks.Delivery{
		ID: 12, WebhookID: 2, EventID: "3f2b8c1e-5a4d-4e6f-8b7a-9c0d1e2f3a4b", EventType: string(webhooks.RecordingDeleted), Sequence: 4,
		Attempts: 1, Status: "success", ResponseStatus: &status, ResponseBody: new(""), Duration: &took,
		CreatedAt: created, DeliveredAt: &delivered, FinishedAt: &delivered,
	}, true)
}
