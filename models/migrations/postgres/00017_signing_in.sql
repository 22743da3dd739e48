-- +goose Up
-- Sessions can be listed and ended one by one. The columns that the version before does not write may be null: it may run
-- beside this one.
ALTER TABLE sessions DROP CONSTRAINT sessions_pkey;
ALTER TABLE sessions ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY;
ALTER TABLE sessions ADD COLUMN user_id bigint REFERENCES users (id) ON DELETE CASCADE;
ALTER TABLE sessions ADD COLUMN epoch bigint;
ALTER TABLE sessions ADD COLUMN created_at timestamptz;
ALTER TABLE sessions ADD COLUMN seen_at timestamptz;
ALTER TABLE sessions ADD COLUMN address text CHECK (char_length(address) <= 64);
ALTER TABLE sessions ADD COLUMN user_agent text CHECK (char_length(user_agent) <= 200);
CREATE UNIQUE INDEX sessions_hash ON sessions (token_hash);
CREATE INDEX sessions_user ON sessions (user_id, id);

CREATE TABLE team_invites (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    email text NOT NULL CHECK (char_length(email) BETWEEN 1 AND 254),
    -- The assignable ones of auth.Roles, in its order; a test compares them.
    role text NOT NULL CONSTRAINT team_invites_role CHECK (role IN ('admin', 'editor', 'viewer')),
    -- An invite that was signed and whose row is gone, or was made anew, opens nothing.
    token_hash text NOT NULL CHECK (char_length(token_hash) = 64),
    -- Null where it was the operator, by a command.
    invited_by bigint REFERENCES users (id) ON DELETE CASCADE,
    expires_at timestamptz NOT NULL,
    accepted_at timestamptz,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX team_invites_hash ON team_invites (token_hash);
CREATE UNIQUE INDEX team_invites_open ON team_invites (organization_id, email) WHERE accepted_at IS NULL;
CREATE INDEX team_invites_organization ON team_invites (organization_id, id);
CREATE INDEX team_invites_inviter ON team_invites (invited_by);

CREATE TABLE password_resets (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    token_hash text NOT NULL CHECK (char_length(token_hash) = 64),
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX password_resets_hash ON password_resets (token_hash);
CREATE INDEX password_resets_user ON password_resets (user_id, created_at);
CREATE INDEX password_resets_expiry ON password_resets (expires_at);

-- Who an account is at an issuer of OpenID Connect. The subject alone is nobody: each issuer has its own.
CREATE TABLE identities (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    issuer text NOT NULL CHECK (char_length(issuer) BETWEEN 1 AND 500),
    subject text NOT NULL CHECK (char_length(subject) BETWEEN 1 AND 255),
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX identities_subject ON identities (issuer, subject);
CREATE UNIQUE INDEX identities_user ON identities (user_id, issuer);

-- States of sign-ins by OpenID Connect that came back: none does twice.
CREATE TABLE used_states (
    state_hash text NOT NULL PRIMARY KEY CHECK (char_length(state_hash) = 64),
    expires_at timestamptz NOT NULL
);
CREATE INDEX used_states_expiry ON used_states (expires_at);
