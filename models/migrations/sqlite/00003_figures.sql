-- +goose Up
-- What an administrator gave one organization, account or token in place of a limit's configured figure.
CREATE TABLE limit_figures (
    id integer PRIMARY KEY AUTOINCREMENT,
    organization_id integer REFERENCES organizations (id) ON DELETE CASCADE,
    user_id integer REFERENCES users (id) ON DELETE CASCADE,
    token_id integer REFERENCES api_tokens (id) ON DELETE CASCADE,
    plan text NOT NULL CHECK (length(plan) BETWEEN 1 AND 60),
    figures text NOT NULL CHECK (length(figures) BETWEEN 1 AND 500),
    CONSTRAINT limit_figures_subject CHECK (
        (organization_id IS NOT NULL) + (user_id IS NOT NULL) + (token_id IS NOT NULL) = 1)
);
CREATE UNIQUE INDEX limit_figures_organization ON limit_figures (organization_id, plan);
CREATE UNIQUE INDEX limit_figures_user ON limit_figures (user_id, plan);
CREATE UNIQUE INDEX limit_figures_token ON limit_figures (token_id, plan);
INSERT INTO change_counters (name, value) VALUES ('figures', 0);

-- What the owner of a token wants less for it, as a JSON object.
ALTER TABLE api_tokens ADD COLUMN rate_limits text;
