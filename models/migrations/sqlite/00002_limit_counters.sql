-- +goose Up
-- On SQLite the limits are counted in a file of their own: see limits/README.md. PostgreSQL has tables here.
SELECT 1;
