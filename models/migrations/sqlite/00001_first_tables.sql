-- +goose Up
CREATE TABLE organizations (
    id integer PRIMARY KEY AUTOINCREMENT,
    slug text NOT NULL CHECK (length(slug) BETWEEN 1 AND 63),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    time_zone text NOT NULL CHECK (length(time_zone) BETWEEN 1 AND 64),
    created_at datetime NOT NULL
);
CREATE UNIQUE INDEX organizations_slug ON organizations (slug);

CREATE TABLE users (
    id integer PRIMARY KEY AUTOINCREMENT,
    organization_id integer NOT NULL REFERENCES organizations (id),
    email text NOT NULL CHECK (length(email) BETWEEN 1 AND 254),
    username text NOT NULL CHECK (length(username) BETWEEN 1 AND 100),
    password_hash text NOT NULL,
    -- auth.Roles, in its order; a test compares them.
    role text NOT NULL CONSTRAINT users_role CHECK (role IN ('admin', 'owner', 'manager', 'editor', 'contributor', 'viewer', 'approver')),
    instance_admin boolean NOT NULL,
    session_epoch integer NOT NULL,
    disabled_at datetime,
    created_at datetime NOT NULL
);
CREATE UNIQUE INDEX users_email ON users (email);
CREATE UNIQUE INDEX users_username ON users (username);
CREATE INDEX users_organization ON users (organization_id, id);

CREATE TABLE sessions (
    token_hash text NOT NULL PRIMARY KEY,
    data blob NOT NULL,
    expires_at datetime NOT NULL
);
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE api_tokens (
    id integer PRIMARY KEY AUTOINCREMENT,
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    token_hash text NOT NULL CHECK (length(token_hash) = 64),
    scopes text NOT NULL,
    expires_at datetime,
    revoked_at datetime,
    replaced_by integer REFERENCES api_tokens (id) ON DELETE SET NULL,
    last_used_at datetime,
    last_used_address text,
    created_at datetime NOT NULL
);
CREATE UNIQUE INDEX api_tokens_hash ON api_tokens (token_hash);
CREATE INDEX api_tokens_user ON api_tokens (user_id, id);
CREATE INDEX api_tokens_replaced_by ON api_tokens (replaced_by);

CREATE TABLE change_counters (
    name text NOT NULL PRIMARY KEY,
    value integer NOT NULL
);
INSERT INTO change_counters (name, value) VALUES ('credentials', 0);

CREATE TABLE recordings (
    id integer PRIMARY KEY AUTOINCREMENT,
    organization_id integer NOT NULL REFERENCES organizations (id),
    -- An account that has recordings cannot be deleted under them: their media must be erased first.
    user_id integer NOT NULL REFERENCES users (id),
    title text CHECK (length(title) <= 200),
    title_by_user boolean NOT NULL,
    participants text CHECK (length(participants) <= 500),
    notes text,
    summary text,
    status text NOT NULL CONSTRAINT recordings_status CHECK (status IN ('PENDING', 'QUEUED', 'PROCESSING', 'SUMMARIZING', 'COMPLETED', 'FAILED')),
    error_message text,
    error_code text,
    original_filename text CHECK (length(original_filename) <= 500),
    mime_type text CHECK (length(mime_type) <= 100),
    file_size integer NOT NULL CHECK (file_size >= 0),
    sha256 text NOT NULL CHECK (length(sha256) = 64),
    storage_key text NOT NULL,
    audio_deleted_at datetime,
    -- The upper bound keeps NaN and infinity out.
    audio_duration real CHECK (audio_duration >= 0 AND audio_duration < 1e9),
    meeting_date datetime,
    language text,
    min_speakers integer CHECK (min_speakers >= 1),
    max_speakers integer CHECK (max_speakers >= 1),
    hotwords text,
    initial_prompt text,
    model text,
    is_inbox boolean NOT NULL,
    is_highlighted boolean NOT NULL,
    is_archived boolean NOT NULL,
    -- No reference: finished jobs are removed while the recording stays.
    job_id integer NOT NULL,
    work_token text NOT NULL,
    ai_charged boolean NOT NULL,
    processing_seconds real CHECK (processing_seconds >= 0 AND processing_seconds < 1e9),
    transcription_duration_seconds integer CHECK (transcription_duration_seconds >= 0),
    completed_at datetime,
    created_at datetime NOT NULL,
    updated_at datetime NOT NULL
);
CREATE INDEX recordings_newest ON recordings (user_id, created_at DESC, id DESC);
CREATE INDEX recordings_copies ON recordings (user_id, sha256);
CREATE INDEX recordings_organization ON recordings (organization_id, id);
-- One stored object belongs to one recording; those whose media is gone have none.
CREATE UNIQUE INDEX recordings_storage_key ON recordings (storage_key) WHERE storage_key <> '';
-- What is at work or waits, for the sweeper and the queue; it stays small.
CREATE INDEX recordings_unfinished ON recordings (status, id) WHERE status NOT IN ('COMPLETED', 'FAILED');

CREATE TABLE transcripts (
    recording_id integer NOT NULL PRIMARY KEY REFERENCES recordings (id) ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('segments', 'plain')),
    text text NOT NULL,
    language text,
    engine text NOT NULL,
    model text,
    gaps text NOT NULL,
    created_at datetime NOT NULL
);

CREATE TABLE transcript_segments (
    recording_id integer NOT NULL REFERENCES transcripts (recording_id) ON DELETE CASCADE,
    position integer NOT NULL CHECK (position >= 0),
    start_seconds real CHECK (start_seconds >= 0 AND start_seconds < 1e9),
    end_seconds real CHECK (end_seconds >= start_seconds AND end_seconds < 1e9),
    speaker text,
    speaker_label text,
    text text NOT NULL,
    PRIMARY KEY (recording_id, position)
);

CREATE TABLE outbox_events (
    id integer PRIMARY KEY AUTOINCREMENT,
    event_id text NOT NULL CHECK (length(event_id) = 36),
    organization_id integer NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- No reference: recording.deleted is told after the recording is gone.
    recording_id integer,
    type text NOT NULL CHECK (length(type) BETWEEN 1 AND 80),
    data text NOT NULL,
    occurred_at datetime NOT NULL
);
CREATE UNIQUE INDEX outbox_events_event ON outbox_events (event_id);
CREATE INDEX outbox_events_organization ON outbox_events (organization_id);
CREATE INDEX outbox_events_user ON outbox_events (user_id);

CREATE TABLE processes (
    id text NOT NULL PRIMARY KEY,
    role text NOT NULL CHECK (role IN ('all', 'web', 'worker')),
    limits_storage text NOT NULL,
    version text NOT NULL,
    started_at datetime NOT NULL,
    seen_at datetime NOT NULL
);
