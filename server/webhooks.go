package server

import (
	"context"
	"time"

	"github.com/stenometer/stenometer/webhooks"
)

// webhookSweep is how often deliveries are looked through for what is too old.
const webhookSweep = time.Minute

// joinWebhooks makes what tells others of events. It needs what joinInbound has made.
func (s *Server) joinWebhooks() {
	s.webhooks = webhooks.New(s.db, webhooks.Options{
		Keys: s.imports.Sealed, Queue: s.jobs, Strangers: s.imports.Strangers, Enabled: s.config.Webhooks, MaxPerUser: s.config.WebhooksPerUser,
		Timeout: s.config.WebhookTimeout, Schedule: s.config.WebhookRetries, Attempts: s.config.WebhookAttempts,
		PauseAfter: s.config.WebhookPauseAfter, Trial: s.config.WebhookTrial, Grace: s.config.WebhookGrace,
		PendingAge: s.config.WebhookPendingAge, PendingMax: s.config.WebhookPendingMax, LogLife: s.config.WebhookLogLife,
		DrainPerSecond: s.config.WebhookDrain, DispatchEvery: s.config.WebhookDispatch, SweepEvery: webhookSweep,
		InternalSharing: s.config.InternalSharing, Metrics: s.metrics, Now: s.now, Logger: s.program.Logger,
	})
	webhooks.RegisterWorkers(s.jobs, s.webhooks)
}

// startWebhooks is for processes that work jobs: the others only write events down.
func (s *Server) startWebhooks(ctx context.Context) error {
	if s.program.Role != RoleWeb {
		s.webhooks.Start(ctx)
	}
	return nil
}
