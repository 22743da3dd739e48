-- +goose Up
-- What administrators did, and tried to do. Nothing refers to the rows that it tells of: it outlives them.
CREATE TABLE audit_entries (
    id integer PRIMARY KEY AUTOINCREMENT,
    at datetime NOT NULL,
    -- 0 where no account did it: a command, or a caller that nobody knows.
    actor_id integer NOT NULL,
    token_id integer NOT NULL,
    organization_id integer NOT NULL,
    address text NOT NULL CHECK (length(address) <= 100),
    action text NOT NULL CHECK (length(action) BETWEEN 1 AND 60),
    object text NOT NULL CHECK (length(object) <= 200),
    -- Empty while it is being done, and for ever where the process died of it.
    outcome text NOT NULL CHECK (length(outcome) <= 100),
    request_id text NOT NULL CHECK (length(request_id) <= 100)
);
CREATE INDEX audit_entries_organization ON audit_entries (organization_id, id);
CREATE INDEX audit_entries_actor ON audit_entries (actor_id, id);
CREATE INDEX audit_entries_at ON audit_entries (at);

-- Up to when the sweep that is under way removes; NULL outside of one, and then nothing can be removed.
CREATE TABLE audit_sweeps (
    id integer PRIMARY KEY AUTOINCREMENT CHECK (id = 1),
    removes_before datetime
);
INSERT INTO audit_sweeps (id) VALUES (1);

-- Entries are added and never changed: an outcome is filled in once, and only the sweep removes.
-- +goose StatementBegin
CREATE TRIGGER audit_entries_stand BEFORE UPDATE ON audit_entries
WHEN NOT (
    OLD.outcome = '' AND NEW.outcome <> '' AND NEW.id = OLD.id AND NEW.at = OLD.at AND NEW.actor_id = OLD.actor_id
    AND NEW.token_id = OLD.token_id AND NEW.organization_id = OLD.organization_id AND NEW.address = OLD.address
    AND NEW.action = OLD.action AND NEW.object = OLD.object AND NEW.request_id = OLD.request_id
)
BEGIN
    SELECT raise(ABORT, 'audit entries are not changed');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_entries_stay BEFORE DELETE ON audit_entries
WHEN NOT coalesce(OLD.at < (SELECT removes_before FROM audit_sweeps), 0)
BEGIN
    SELECT raise(ABORT, 'audit entries are removed by their sweep alone');
END;
-- +goose StatementEnd
-- INSERT OR REPLACE would remove a row without asking the trigger above.
-- +goose StatementBegin
CREATE TRIGGER audit_entries_replaced BEFORE INSERT ON audit_entries
WHEN EXISTS (SELECT 1 FROM audit_entries WHERE id = NEW.id)
BEGIN
    SELECT raise(ABORT, 'audit entries are not changed');
END;
-- +goose StatementEnd

-- What else changes what a credential may do, besides what 00004 counts.
-- +goose StatementBegin
CREATE TRIGGER users_rank_changed AFTER UPDATE OF instance_admin ON users
BEGIN
    UPDATE change_counters SET value = value + 1 WHERE name = 'credentials';
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER api_tokens_mark_changed AFTER UPDATE OF administration ON api_tokens
BEGIN
    UPDATE change_counters SET value = value + 1 WHERE name = 'credentials';
END;
-- +goose StatementEnd
