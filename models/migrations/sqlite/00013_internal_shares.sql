-- +goose Up
-- Who sees a recording besides its owner: one row a person, so that there is one answer to what that person may do.
CREATE TABLE internal_shares (
    id integer PRIMARY KEY AUTOINCREMENT,
    recording_id integer NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    granted_by integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    can_edit boolean NOT NULL,
    can_reshare boolean NOT NULL,
    source text NOT NULL CHECK (source IN ('manual', 'group_tag', 'group_folder')),
    -- The tag or folder that shares; nothing where a person did.
    source_id integer CHECK ((source_id IS NULL) = (source = 'manual')),
    created_at datetime NOT NULL
);
CREATE UNIQUE INDEX internal_shares_recording ON internal_shares (recording_id, user_id);
CREATE INDEX internal_shares_user ON internal_shares (user_id, recording_id);
CREATE INDEX internal_shares_granted ON internal_shares (granted_by);

-- What somebody who does not own a recording keeps of it for themselves. No row is in the inbox, without notes.
CREATE TABLE recording_states (
    recording_id integer NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    is_inbox boolean NOT NULL,
    is_highlighted boolean NOT NULL,
    is_archived boolean NOT NULL,
    notes text,
    PRIMARY KEY (recording_id, user_id)
);
CREATE INDEX recording_states_user ON recording_states (user_id);

-- Whether it was another's that its account saw: who follows what is their own is not told of it, and the other way round.
ALTER TABLE recording_tombstones ADD COLUMN shared boolean NOT NULL DEFAULT false;
