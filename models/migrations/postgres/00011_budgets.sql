-- +goose Up
-- What an organization or an account may use in one month: micro-dollars, tokens of text models, seconds of audio. What
-- is null is not bounded, but for an organization's money, for which the server's default holds.
CREATE TABLE budgets (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint REFERENCES organizations (id) ON DELETE CASCADE,
    user_id bigint REFERENCES users (id) ON DELETE CASCADE,
    micros bigint CHECK (micros >= 0),
    tokens bigint CHECK (tokens >= 0),
    seconds bigint CHECK (seconds >= 0),
    CONSTRAINT budgets_subject CHECK ((organization_id IS NULL) <> (user_id IS NULL))
);
CREATE UNIQUE INDEX budgets_organization ON budgets (organization_id);
CREATE UNIQUE INDEX budgets_user ON budgets (user_id);

-- What was spent and what is held, by month of the organization's time zone. user_id is 0 in the organization's own row.
CREATE TABLE budget_months (
    organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    user_id bigint NOT NULL,
    month text NOT NULL CHECK (char_length(month) = 7),
    spent_micros bigint NOT NULL DEFAULT 0 CHECK (spent_micros >= 0),
    spent_tokens bigint NOT NULL DEFAULT 0 CHECK (spent_tokens >= 0),
    spent_seconds bigint NOT NULL DEFAULT 0 CHECK (spent_seconds >= 0),
    held_micros bigint NOT NULL DEFAULT 0 CHECK (held_micros >= 0),
    held_tokens bigint NOT NULL DEFAULT 0 CHECK (held_tokens >= 0),
    held_seconds bigint NOT NULL DEFAULT 0 CHECK (held_seconds >= 0),
    -- The highest alert that was given, in percent.
    alerted bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (organization_id, user_id, month)
);

-- Money that work at a provider may cost which has not ended. A hold whose owner is gone is known by held_until. While a
-- call is out, sent is true and call_* are the most that it can use; call_* are part of what is left.
CREATE TABLE budget_holds (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    user_id bigint NOT NULL,
    token_id bigint,
    recording_id bigint,
    operation text NOT NULL CHECK (char_length(operation) BETWEEN 1 AND 40),
    provider text NOT NULL CHECK (char_length(provider) <= 300),
    model text NOT NULL CHECK (char_length(model) <= 200),
    price text NOT NULL CHECK (char_length(price) <= 200),
    month text NOT NULL CHECK (char_length(month) = 7),
    day text NOT NULL CHECK (char_length(day) = 10),
    micros bigint NOT NULL CHECK (micros >= 0),
    tokens bigint NOT NULL CHECK (tokens >= 0),
    seconds bigint NOT NULL CHECK (seconds >= 0),
    sent boolean NOT NULL,
    call_micros bigint NOT NULL,
    call_tokens bigint NOT NULL,
    call_seconds bigint NOT NULL,
    calls bigint NOT NULL,
    held_until timestamptz NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX budget_holds_dead ON budget_holds (held_until);

-- Every call that a provider was sent, as it ended. Rows are only ever added.
CREATE TABLE ledger_entries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hold_id bigint NOT NULL,
    call bigint NOT NULL,
    organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    user_id bigint NOT NULL,
    token_id bigint,
    recording_id bigint,
    operation text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    price text NOT NULL,
    month text NOT NULL,
    day text NOT NULL,
    input_tokens bigint NOT NULL CHECK (input_tokens >= 0),
    output_tokens bigint NOT NULL CHECK (output_tokens >= 0),
    audio_seconds double precision NOT NULL CHECK (audio_seconds >= 0 AND audio_seconds < 1e9),
    held_micros bigint NOT NULL CHECK (held_micros >= 0),
    charged_micros bigint NOT NULL CHECK (charged_micros >= 0 AND charged_micros <= held_micros),
    -- reported by the provider, or estimated by us.
    source text NOT NULL CHECK (source IN ('reported', 'estimated')),
    outcome text NOT NULL CHECK (outcome IN ('done', 'failed', 'canceled', 'unknown')),
    occurred_at timestamptz NOT NULL
);
-- No call is settled twice.
CREATE UNIQUE INDEX ledger_entries_call ON ledger_entries (hold_id, call);
CREATE INDEX ledger_entries_organization ON ledger_entries (organization_id, month, day);
CREATE INDEX ledger_entries_user ON ledger_entries (user_id, month, day);

-- What is said to text models for an account, and whether appointments are looked for.
ALTER TABLE users ADD COLUMN summary_prompt text;
ALTER TABLE users ADD COLUMN output_language text;
ALTER TABLE users ADD COLUMN extract_events boolean NOT NULL DEFAULT false;

-- A token that may administer, besides what its scopes and its owner's role allow.
ALTER TABLE api_tokens ADD COLUMN administration boolean NOT NULL DEFAULT false;

-- What the prompts of a recording's tags and folder are filled with: a JSON object of texts.
ALTER TABLE recordings ADD COLUMN prompt_variables text;
-- How long the last summary took.
ALTER TABLE recordings ADD COLUMN summarization_duration_seconds bigint;
