-- +goose Up
-- Whatever ends, narrows or changes a credential raises the counter that every process polls, in the same transaction,
-- also what an operator writes by hand: what a process remembers of tokens holds only while the counter stands.
-- +goose StatementBegin
CREATE FUNCTION raise_credentials() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE change_counters SET value = value + 1 WHERE name = 'credentials';
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
CREATE TRIGGER api_tokens_changed
AFTER UPDATE OF user_id, token_hash, scopes, expires_at, revoked_at, rate_limits ON api_tokens
FOR EACH STATEMENT EXECUTE FUNCTION raise_credentials();
CREATE TRIGGER api_tokens_deleted AFTER DELETE ON api_tokens
FOR EACH STATEMENT EXECUTE FUNCTION raise_credentials();
CREATE TRIGGER users_changed AFTER UPDATE OF organization_id, role, disabled_at ON users
FOR EACH STATEMENT EXECUTE FUNCTION raise_credentials();
