-- +goose Up
-- What people put recordings into, and what they say of them: folders, tags, speakers, references to other systems,
-- public links and calendar events. All of it belongs to one account.
CREATE TABLE folders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 50),
    color text NOT NULL CHECK (char_length(color) <= 7),
    custom_prompt text,
    default_language text,
    default_min_speakers integer CHECK (default_min_speakers >= 1),
    default_max_speakers integer CHECK (default_max_speakers >= 1),
    default_hotwords text,
    default_initial_prompt text,
    default_transcription_model text CHECK (char_length(default_transcription_model) <= 120),
    protect_from_deletion boolean NOT NULL,
    -- -1 keeps for good, NULL follows the server.
    retention_days integer CHECK (retention_days = -1 OR retention_days >= 1),
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX folders_name ON folders (user_id, name);

ALTER TABLE recordings ADD COLUMN folder_id bigint REFERENCES folders (id) ON DELETE SET NULL;
CREATE INDEX recordings_folder ON recordings (folder_id, created_at DESC, id DESC) WHERE folder_id IS NOT NULL;

CREATE TABLE tags (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 50),
    color text NOT NULL CHECK (char_length(color) <= 7),
    custom_prompt text,
    default_language text,
    default_min_speakers integer CHECK (default_min_speakers >= 1),
    default_max_speakers integer CHECK (default_max_speakers >= 1),
    protect_from_deletion boolean NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX tags_name ON tags (user_id, name);

-- Position is the order in which tags were attached; it has gaps where one was taken off.
CREATE TABLE recording_tags (
    recording_id bigint NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
    tag_id bigint NOT NULL REFERENCES tags (id) ON DELETE CASCADE,
    position integer NOT NULL CHECK (position >= 0),
    PRIMARY KEY (recording_id, tag_id)
);
CREATE INDEX recording_tags_tag ON recording_tags (tag_id, recording_id);

CREATE TABLE speakers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    -- Lower case; NULL without one.
    email text CHECK (char_length(email) BETWEEN 3 AND 320),
    -- A JSON array of strings.
    aliases text NOT NULL,
    use_count bigint NOT NULL CHECK (use_count >= 0),
    last_used_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX speakers_name ON speakers (user_id, name);
CREATE INDEX speakers_email ON speakers (user_id, email) WHERE email IS NOT NULL;

ALTER TABLE transcript_segments ADD COLUMN speaker_id bigint REFERENCES speakers (id) ON DELETE SET NULL;
CREATE INDEX transcript_segments_speaker ON transcript_segments (speaker_id) WHERE speaker_id IS NOT NULL;

CREATE TABLE external_refs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    recording_id bigint NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    system text NOT NULL CHECK (char_length(system) BETWEEN 1 AND 40),
    kind text NOT NULL CHECK (char_length(kind) BETWEEN 1 AND 40),
    ref text NOT NULL CHECK (char_length(ref) BETWEEN 1 AND 500),
    url text CHECK (char_length(url) <= 1000),
    label text CHECK (char_length(label) <= 200),
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX external_refs_of ON external_refs (recording_id, user_id, system, kind, ref);
CREATE INDEX external_refs_ref ON external_refs (user_id, system, ref);

CREATE TABLE public_shares (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    recording_id bigint NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- What stands in the link. Whoever knows it sees the recording, so that it reaches no log.
    public_id text NOT NULL CHECK (char_length(public_id) = 22),
    share_summary boolean NOT NULL,
    share_notes boolean NOT NULL,
    expires_at timestamptz,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX public_shares_link ON public_shares (public_id);
CREATE INDEX public_shares_recording ON public_shares (recording_id, id);
CREATE INDEX public_shares_user ON public_shares (user_id);

CREATE TABLE recording_events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    recording_id bigint NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
    title text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 200),
    description text,
    -- Wall-clock time as it was spoken, without a zone: 2026-03-04T15:30:00.
    starts text NOT NULL CHECK (char_length(starts) = 19),
    ends text CHECK (char_length(ends) = 19),
    location text CHECK (char_length(location) <= 500),
    -- A JSON array of objects with name and email.
    attendees text NOT NULL,
    reminder_minutes integer CHECK (reminder_minutes >= 0),
    created_at timestamptz NOT NULL
);
CREATE INDEX recording_events_recording ON recording_events (recording_id, id);

-- NULL is not chosen, which counts as yes.
ALTER TABLE users ADD COLUMN auto_summarization boolean;
