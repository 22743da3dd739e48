-- +goose Up
-- Requests that must not be worked twice, by the key that their sender gave them.
CREATE TABLE idempotency_keys (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    idempotency_key text NOT NULL CHECK (char_length(idempotency_key) BETWEEN 1 AND 100),
    -- SHA-256 of what was asked, lower-case hex.
    fingerprint text NOT NULL CHECK (char_length(fingerprint) = 64),
    -- Who works on it, and until when that is believed. Empty once it is answered.
    holder text NOT NULL,
    held_until timestamptz NOT NULL,
    -- NULL until it is answered.
    status integer CHECK (status BETWEEN 200 AND 499),
    content_type text NOT NULL,
    answer bytea NOT NULL,
    -- The one recording that it is about: the key dies with it.
    recording_id bigint REFERENCES recordings (id) ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX idempotency_keys_key ON idempotency_keys (user_id, idempotency_key);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);
CREATE INDEX idempotency_keys_recording ON idempotency_keys (recording_id) WHERE recording_id IS NOT NULL;

-- What such a request has made so far, written with the thing itself.
CREATE TABLE idempotency_effects (
    key_id bigint NOT NULL REFERENCES idempotency_keys (id) ON DELETE CASCADE,
    recording_id bigint NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
    job_id bigint NOT NULL,
    PRIMARY KEY (key_id, recording_id)
);
CREATE INDEX idempotency_effects_recording ON idempotency_effects (recording_id);
