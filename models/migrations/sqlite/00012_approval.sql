-- +goose Up
-- When a person approved the present summary, and who: nothing rewrites it by itself then. The account is no reference,
-- so that a summary stays approved when who approved it is gone; ids are never used twice.
ALTER TABLE recordings ADD COLUMN summary_approved_at datetime;
ALTER TABLE recordings ADD COLUMN summary_approved_by integer;
