-- +goose Up
-- What brought a recording in where that was no upload.
ALTER TABLE recordings ADD COLUMN source text CHECK (source IN ('asr_voice_recorder', 'hook', 'import'));

-- Senders that sign what they post.
CREATE TABLE integrations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    public_id text NOT NULL CHECK (char_length(public_id) BETWEEN 16 AND 64),
    organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    scope text NOT NULL CHECK (scope IN ('member', 'organization')),
    -- Encrypted; the one before, if there is one, counts until previous_until.
    secret text NOT NULL,
    previous_secret text,
    previous_until timestamptz,
    enabled boolean NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX integrations_public_id ON integrations (public_id);
CREATE INDEX integrations_user ON integrations (user_id, id);
CREATE INDEX integrations_organization ON integrations (organization_id, id);

-- Deliveries that were accepted, for as long as they could be sent again.
CREATE TABLE hook_deliveries (
    integration_id bigint NOT NULL REFERENCES integrations (id) ON DELETE CASCADE,
    -- SHA-256 of the sender's id, lower-case hex.
    delivery_hash text NOT NULL CHECK (char_length(delivery_hash) = 64),
    -- No reference: a delivery is not accepted again because its recording was deleted.
    recording_id bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (integration_id, delivery_hash)
);
CREATE INDEX hook_deliveries_expiry ON hook_deliveries (expires_at);

-- Recordings whose file is still to be fetched.
CREATE TABLE recording_imports (
    recording_id bigint NOT NULL PRIMARY KEY REFERENCES recordings (id) ON DELETE CASCADE,
    -- Encrypted: what stands in an address may be a secret.
    address text NOT NULL,
    received_bytes bigint NOT NULL CHECK (received_bytes >= 0),
    -- NULL while the other side has not said it.
    total_bytes bigint CHECK (total_bytes >= 0)
);
