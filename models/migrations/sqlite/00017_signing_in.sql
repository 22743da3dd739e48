-- +goose Up
-- Sessions can be listed and ended one by one. The table is made anew, for SQLite adds no column that numbers rows. The
-- columns that the version before does not write may be null: it may run beside this one.
CREATE TABLE numbered_sessions (
    id integer PRIMARY KEY AUTOINCREMENT,
    token_hash text NOT NULL,
    data blob NOT NULL,
    expires_at datetime NOT NULL,
    user_id integer REFERENCES users (id) ON DELETE CASCADE,
    epoch integer,
    created_at datetime,
    seen_at datetime,
    address text CHECK (length(address) <= 64),
    user_agent text CHECK (length(user_agent) <= 200)
);
INSERT INTO numbered_sessions (token_hash, data, expires_at) SELECT token_hash, data, expires_at FROM sessions;
DROP TABLE sessions;
ALTER TABLE numbered_sessions RENAME TO sessions;
CREATE UNIQUE INDEX sessions_hash ON sessions (token_hash);
CREATE INDEX sessions_expiry ON sessions (expires_at);
CREATE INDEX sessions_user ON sessions (user_id, id);

CREATE TABLE team_invites (
    id integer PRIMARY KEY AUTOINCREMENT,
    organization_id integer NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    email text NOT NULL CHECK (length(email) BETWEEN 1 AND 254),
    -- The assignable ones of auth.Roles, in its order; a test compares them.
    role text NOT NULL CONSTRAINT team_invites_role CHECK (role IN ('admin', 'editor', 'viewer')),
    -- An invite that was signed and whose row is gone, or was made anew, opens nothing.
    token_hash text NOT NULL CHECK (length(token_hash) = 64),
    -- Null where it was the operator, by a command.
    invited_by integer REFERENCES users (id) ON DELETE CASCADE,
    expires_at datetime NOT NULL,
    accepted_at datetime,
    created_at datetime NOT NULL
);
CREATE UNIQUE INDEX team_invites_hash ON team_invites (token_hash);
CREATE UNIQUE INDEX team_invites_open ON team_invites (organization_id, email) WHERE accepted_at IS NULL;
CREATE INDEX team_invites_organization ON team_invites (organization_id, id);
CREATE INDEX team_invites_inviter ON team_invites (invited_by);

CREATE TABLE password_resets (
    id integer PRIMARY KEY AUTOINCREMENT,
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    token_hash text NOT NULL CHECK (length(token_hash) = 64),
    expires_at datetime NOT NULL,
    used_at datetime,
    created_at datetime NOT NULL
);
CREATE UNIQUE INDEX password_resets_hash ON password_resets (token_hash);
CREATE INDEX password_resets_user ON password_resets (user_id, created_at);
CREATE INDEX password_resets_expiry ON password_resets (expires_at);

-- Who an account is at an issuer of OpenID Connect. The subject alone is nobody: each issuer has its own.
CREATE TABLE identities (
    id integer PRIMARY KEY AUTOINCREMENT,
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    issuer text NOT NULL CHECK (length(issuer) BETWEEN 1 AND 500),
    subject text NOT NULL CHECK (length(subject) BETWEEN 1 AND 255),
    created_at datetime NOT NULL
);
CREATE UNIQUE INDEX identities_subject ON identities (issuer, subject);
CREATE UNIQUE INDEX identities_user ON identities (user_id, issuer);

-- States of sign-ins by OpenID Connect that came back: none does twice.
CREATE TABLE used_states (
    state_hash text NOT NULL PRIMARY KEY CHECK (length(state_hash) = 64),
    expires_at datetime NOT NULL
);
CREATE INDEX used_states_expiry ON used_states (expires_at);
