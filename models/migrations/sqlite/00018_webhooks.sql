-- +goose Up
-- Which event of its recording it is, from 1; 0 for events about no recording. Null until it was handed to the endpoints
-- that want it: what there is by now is older than they are.
ALTER TABLE outbox_events ADD COLUMN sequence integer;
UPDATE outbox_events SET sequence = 0;
CREATE INDEX outbox_events_waiting ON outbox_events (id) WHERE sequence IS NULL;
CREATE INDEX outbox_events_recording ON outbox_events (recording_id, sequence);

-- Addresses of users' choice that are told of events. The secrets are sealed.
CREATE TABLE webhooks (
    id integer PRIMARY KEY AUTOINCREMENT,
    organization_id integer NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    scope text NOT NULL CHECK (scope IN ('user', 'organization')),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    url text NOT NULL CHECK (length(url) BETWEEN 1 AND 500),
    allow_http boolean NOT NULL,
    secret text NOT NULL,
    previous_secret text,
    previous_secret_until datetime,
    events text NOT NULL,
    include_shared boolean NOT NULL,
    include_content boolean NOT NULL,
    enabled boolean NOT NULL,
    auto_paused boolean NOT NULL DEFAULT 0,
    consecutive_failures integer NOT NULL DEFAULT 0,
    trial_at datetime,
    last_success_at datetime,
    last_delivery_at datetime,
    job_id integer NOT NULL DEFAULT 0,
    busy_until datetime,
    created_at datetime NOT NULL,
    updated_at datetime NOT NULL,
    CONSTRAINT webhooks_paused CHECK (NOT (enabled AND auto_paused))
);
CREATE INDEX webhooks_user ON webhooks (user_id);
CREATE INDEX webhooks_organization ON webhooks (organization_id);

-- One event on its way to one endpoint, and afterwards what came of it. It is open while it is pending or failed.
CREATE TABLE webhook_deliveries (
    id integer PRIMARY KEY AUTOINCREMENT,
    webhook_id integer NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    event_id text NOT NULL CHECK (length(event_id) = 36),
    event_type text NOT NULL,
    recording_id integer,
    -- Whose thing the event is about; nothing where it is about none. No reference: see the erasure of accounts.
    owner_user_id integer,
    sequence integer NOT NULL,
    payload text NOT NULL,
    status text NOT NULL CHECK (status IN ('pending', 'failed', 'success', 'permanent_failure', 'dropped')),
    attempts integer NOT NULL DEFAULT 0,
    due_at datetime,
    waited boolean NOT NULL DEFAULT 0,
    reason text,
    response_status integer,
    response_body text,
    duration_ms integer,
    created_at datetime NOT NULL,
    delivered_at datetime,
    finished_at datetime,
    replayed_at datetime,
    CONSTRAINT webhook_deliveries_open CHECK ((status IN ('pending', 'failed')) = (finished_at IS NULL))
);
CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, id);
-- An event goes to an endpoint once, however often it is handed out.
CREATE UNIQUE INDEX webhook_deliveries_event ON webhook_deliveries (event_id, webhook_id);
CREATE INDEX webhook_deliveries_owner ON webhook_deliveries (owner_user_id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at) WHERE finished_at IS NULL;
CREATE INDEX webhook_deliveries_order ON webhook_deliveries (webhook_id, recording_id, sequence) WHERE finished_at IS NULL;
CREATE INDEX webhook_deliveries_finished ON webhook_deliveries (finished_at) WHERE finished_at IS NOT NULL;
