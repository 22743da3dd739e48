-- +goose Up
-- The text that a list is narrowed to stands in titles and participants. The index of all texts would first give every
-- transcript that has it.
CREATE INDEX search_names ON search_texts USING gin (folded gin_trgm_ops) WHERE field IN ('title', 'participants');
