-- +goose Up
-- What the administrator of the instance set in place of a setting's default. The value is JSON; which names there are,
-- and what each may hold, is the settings package's affair.
CREATE TABLE system_settings (
    name text NOT NULL PRIMARY KEY CHECK (char_length(name) BETWEEN 1 AND 60),
    value text NOT NULL CHECK (char_length(value) BETWEEN 1 AND 100000),
    updated_at timestamptz NOT NULL,
    -- No reference: what an account set holds on when the account is gone.
    updated_by bigint
);
INSERT INTO change_counters (name, value) VALUES ('settings', 0);

-- Since when an account is being erased. One that is can't be enabled again: half of it may be gone.
ALTER TABLE users ADD COLUMN erasing_at timestamptz CONSTRAINT users_erasing CHECK (erasing_at IS NULL OR disabled_at IS NOT NULL);
