-- +goose Up
-- Which event of its recording it is, from 1; 0 for events about no recording. Null until it was handed to the endpoints
-- that want it: what there is by now is older than they are.
ALTER TABLE outbox_events ADD COLUMN sequence bigint;
UPDATE outbox_events SET sequence = 0;
CREATE INDEX outbox_events_waiting ON outbox_events (id) WHERE sequence IS NULL;
CREATE INDEX outbox_events_recording ON outbox_events (recording_id, sequence);

-- Addresses of users' choice that are told of events. The secrets are sealed.
CREATE TABLE webhooks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    scope text NOT NULL CHECK (scope IN ('user', 'organization')),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    url text NOT NULL CHECK (char_length(url) BETWEEN 1 AND 500),
    allow_http boolean NOT NULL,
    secret text NOT NULL,
    previous_secret text,
    previous_secret_until timestamptz,
    events text NOT NULL,
    include_shared boolean NOT NULL,
    include_content boolean NOT NULL,
    enabled boolean NOT NULL,
    auto_paused boolean NOT NULL DEFAULT false,
    consecutive_failures bigint NOT NULL DEFAULT 0,
    trial_at timestamptz,
    last_success_at timestamptz,
    last_delivery_at timestamptz,
    job_id bigint NOT NULL DEFAULT 0,
    busy_until timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT webhooks_paused CHECK (NOT (enabled AND auto_paused))
);
CREATE INDEX webhooks_user ON webhooks (user_id);
CREATE INDEX webhooks_organization ON webhooks (organization_id);

-- One event on its way to one endpoint, and afterwards what came of it. It is open while it is pending or failed.
CREATE TABLE webhook_deliveries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook_id bigint NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    event_id text NOT NULL CHECK (char_length(event_id) = 36),
    event_type text NOT NULL,
    recording_id bigint,
    -- Whose thing the event is about; nothing where it is about none. No reference: see the erasure of accounts.
    owner_user_id bigint,
    sequence bigint NOT NULL,
    payload text NOT NULL,
    status text NOT NULL CHECK (status IN ('pending', 'failed', 'success', 'permanent_failure', 'dropped')),
    attempts bigint NOT NULL DEFAULT 0,
    due_at timestamptz,
    waited boolean NOT NULL DEFAULT false,
    reason text,
    response_status bigint,
    response_body text,
    duration_ms bigint,
    created_at timestamptz NOT NULL,
    delivered_at timestamptz,
    finished_at timestamptz,
    replayed_at timestamptz,
    CONSTRAINT webhook_deliveries_open CHECK ((status IN ('pending', 'failed')) = (finished_at IS NULL))
);
CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, id);
-- An event goes to an endpoint once, however often it is handed out.
CREATE UNIQUE INDEX webhook_deliveries_event ON webhook_deliveries (event_id, webhook_id);
CREATE INDEX webhook_deliveries_owner ON webhook_deliveries (owner_user_id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at) WHERE finished_at IS NULL;
CREATE INDEX webhook_deliveries_order ON webhook_deliveries (webhook_id, recording_id, sequence) WHERE finished_at IS NULL;
CREATE INDEX webhook_deliveries_finished ON webhook_deliveries (finished_at) WHERE finished_at IS NOT NULL;
