-- +goose Up
-- What an organization shares: tags and folders (those with an organization_id; user_id is then who stands for them, which
-- is whoever made them), the prompts that stand for its members, and words that it spells so.
ALTER TABLE tags ADD COLUMN organization_id integer REFERENCES organizations (id) ON DELETE CASCADE;
ALTER TABLE tags ADD COLUMN auto_share_on_apply boolean NOT NULL DEFAULT true;
ALTER TABLE tags ADD COLUMN share_with_group_lead boolean NOT NULL DEFAULT true;
DROP INDEX tags_name;
CREATE UNIQUE INDEX tags_name ON tags (user_id, name) WHERE organization_id IS NULL;
CREATE UNIQUE INDEX tags_group_name ON tags (organization_id, name) WHERE organization_id IS NOT NULL;
CREATE INDEX tags_user ON tags (user_id);

ALTER TABLE folders ADD COLUMN organization_id integer REFERENCES organizations (id) ON DELETE CASCADE;
ALTER TABLE folders ADD COLUMN auto_share_on_apply boolean NOT NULL DEFAULT true;
ALTER TABLE folders ADD COLUMN share_with_group_lead boolean NOT NULL DEFAULT true;
DROP INDEX folders_name;
CREATE UNIQUE INDEX folders_name ON folders (user_id, name) WHERE organization_id IS NULL;
CREATE UNIQUE INDEX folders_group_name ON folders (organization_id, name) WHERE organization_id IS NOT NULL;
CREATE INDEX folders_user ON folders (user_id);

-- An account that goes leaves what the organization shares to another member.
-- +goose StatementBegin
CREATE TRIGGER users_leave
BEFORE DELETE ON users
WHEN EXISTS (SELECT 1 FROM users WHERE organization_id = OLD.organization_id AND id <> OLD.id)
BEGIN
    UPDATE tags SET user_id = (SELECT min(id) FROM users WHERE organization_id = OLD.organization_id AND id <> OLD.id)
    WHERE user_id = OLD.id AND organization_id IS NOT NULL;
    UPDATE folders SET user_id = (SELECT min(id) FROM users WHERE organization_id = OLD.organization_id AND id <> OLD.id)
    WHERE user_id = OLD.id AND organization_id IS NOT NULL;
END;
-- +goose StatementEnd

ALTER TABLE organizations ADD COLUMN summary_prompt text;
ALTER TABLE organizations ADD COLUMN initial_prompt text;

-- A word is proposed until accepted_at is set. Folded is the word as words are compared: in no case.
CREATE TABLE vocabulary_words (
    id integer PRIMARY KEY AUTOINCREMENT,
    organization_id integer NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    word text NOT NULL CHECK (length(word) BETWEEN 1 AND 100),
    folded text NOT NULL,
    proposed_by integer REFERENCES users (id) ON DELETE SET NULL,
    proposed_at datetime NOT NULL,
    accepted_by integer REFERENCES users (id) ON DELETE SET NULL,
    accepted_at datetime
);
CREATE UNIQUE INDEX vocabulary_words_word ON vocabulary_words (organization_id, folded);
CREATE INDEX vocabulary_words_proposed_by ON vocabulary_words (proposed_by) WHERE proposed_by IS NOT NULL;
CREATE INDEX vocabulary_words_accepted_by ON vocabulary_words (accepted_by) WHERE accepted_by IS NOT NULL;
