-- +goose Up
-- What administrators did, and tried to do. Nothing refers to the rows that it tells of: it outlives them.
CREATE TABLE audit_entries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL,
    -- 0 where no account did it: a command, or a caller that nobody knows.
    actor_id bigint NOT NULL,
    token_id bigint NOT NULL,
    organization_id bigint NOT NULL,
    address text NOT NULL CHECK (char_length(address) <= 100),
    action text NOT NULL CHECK (char_length(action) BETWEEN 1 AND 60),
    object text NOT NULL CHECK (char_length(object) <= 200),
    -- Empty while it is being done, and for ever where the process died of it.
    outcome text NOT NULL CHECK (char_length(outcome) <= 100),
    request_id text NOT NULL CHECK (char_length(request_id) <= 100)
);
CREATE INDEX audit_entries_organization ON audit_entries (organization_id, id);
CREATE INDEX audit_entries_actor ON audit_entries (actor_id, id);
CREATE INDEX audit_entries_at ON audit_entries (at);

-- Up to when the sweep that is under way removes; NULL outside of one, and then nothing can be removed.
CREATE TABLE audit_sweeps (
    id bigint PRIMARY KEY CHECK (id = 1),
    removes_before timestamptz
);
INSERT INTO audit_sweeps (id) VALUES (1);

-- Entries are added and never changed: an outcome is filled in once, and only the sweep removes.
-- +goose StatementBegin
CREATE FUNCTION keep_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF OLD.outcome = '' AND NEW.outcome <> ''
            AND (NEW.id, NEW.at, NEW.actor_id, NEW.token_id, NEW.organization_id, NEW.address, NEW.action, NEW.object, NEW.request_id)
            = (OLD.id, OLD.at, OLD.actor_id, OLD.token_id, OLD.organization_id, OLD.address, OLD.action, OLD.object, OLD.request_id) THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'audit entries are not changed';
    ELSIF TG_OP = 'DELETE' THEN
        IF OLD.at < (SELECT removes_before FROM audit_sweeps) THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'audit entries are removed by their sweep alone';
END;
$$;
-- +goose StatementEnd
CREATE TRIGGER audit_entries_stand BEFORE UPDATE OR DELETE ON audit_entries
FOR EACH ROW EXECUTE FUNCTION keep_audit_entry();
CREATE TRIGGER audit_entries_truncated BEFORE TRUNCATE ON audit_entries
FOR EACH STATEMENT EXECUTE FUNCTION keep_audit_entry();

-- What else changes what a credential may do, besides what 00004 counts.
CREATE TRIGGER users_rank_changed AFTER UPDATE OF instance_admin ON users
FOR EACH STATEMENT EXECUTE FUNCTION raise_credentials();
CREATE TRIGGER api_tokens_mark_changed AFTER UPDATE OF administration ON api_tokens
FOR EACH STATEMENT EXECUTE FUNCTION raise_credentials();
