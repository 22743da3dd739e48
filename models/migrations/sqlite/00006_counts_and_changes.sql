-- +goose Up
-- How many recordings an account has, by status, and the bytes of their audio: one row an account, there from the
-- account's first moment. Lists and stats read it instead of counting 100,000 rows. Triggers keep it, so that it is
-- right whoever writes, within the transaction that writes.
CREATE TABLE recording_counts (
    user_id integer NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    pending integer NOT NULL DEFAULT 0 CHECK (pending >= 0),
    queued integer NOT NULL DEFAULT 0 CHECK (queued >= 0),
    processing integer NOT NULL DEFAULT 0 CHECK (processing >= 0),
    summarizing integer NOT NULL DEFAULT 0 CHECK (summarizing >= 0),
    completed integer NOT NULL DEFAULT 0 CHECK (completed >= 0),
    failed integer NOT NULL DEFAULT 0 CHECK (failed >= 0),
    audio_bytes integer NOT NULL DEFAULT 0 CHECK (audio_bytes >= 0)
);

-- +goose StatementBegin
CREATE TRIGGER users_counted
AFTER INSERT ON users
BEGIN
    INSERT INTO recording_counts (user_id) VALUES (NEW.id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER recordings_counted_in
AFTER INSERT ON recordings
BEGIN
    UPDATE recording_counts SET pending = pending + (NEW.status = 'PENDING'),
        queued = queued + (NEW.status = 'QUEUED'),
        processing = processing + (NEW.status = 'PROCESSING'),
        summarizing = summarizing + (NEW.status = 'SUMMARIZING'),
        completed = completed + (NEW.status = 'COMPLETED'),
        failed = failed + (NEW.status = 'FAILED'),
        audio_bytes = audio_bytes + iif(NEW.audio_deleted_at IS NULL, NEW.file_size, 0)
    WHERE user_id = NEW.user_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER recordings_counted_over
AFTER UPDATE OF status, user_id, file_size, audio_deleted_at ON recordings
BEGIN
    UPDATE recording_counts SET pending = pending - (OLD.status = 'PENDING'),
        queued = queued - (OLD.status = 'QUEUED'),
        processing = processing - (OLD.status = 'PROCESSING'),
        summarizing = summarizing - (OLD.status = 'SUMMARIZING'),
        completed = completed - (OLD.status = 'COMPLETED'),
        failed = failed - (OLD.status = 'FAILED'),
        audio_bytes = audio_bytes - iif(OLD.audio_deleted_at IS NULL, OLD.file_size, 0)
    WHERE user_id = OLD.user_id;
    UPDATE recording_counts SET pending = pending + (NEW.status = 'PENDING'),
        queued = queued + (NEW.status = 'QUEUED'),
        processing = processing + (NEW.status = 'PROCESSING'),
        summarizing = summarizing + (NEW.status = 'SUMMARIZING'),
        completed = completed + (NEW.status = 'COMPLETED'),
        failed = failed + (NEW.status = 'FAILED'),
        audio_bytes = audio_bytes + iif(NEW.audio_deleted_at IS NULL, NEW.file_size, 0)
    WHERE user_id = NEW.user_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER recordings_counted_out
AFTER DELETE ON recordings
BEGIN
    UPDATE recording_counts SET pending = pending - (OLD.status = 'PENDING'),
        queued = queued - (OLD.status = 'QUEUED'),
        processing = processing - (OLD.status = 'PROCESSING'),
        summarizing = summarizing - (OLD.status = 'SUMMARIZING'),
        completed = completed - (OLD.status = 'COMPLETED'),
        failed = failed - (OLD.status = 'FAILED'),
        audio_bytes = audio_bytes - iif(OLD.audio_deleted_at IS NULL, OLD.file_size, 0)
    WHERE user_id = OLD.user_id;
END;
-- +goose StatementEnd

INSERT INTO recording_counts (user_id, pending, queued, processing, summarizing, completed, failed, audio_bytes)
SELECT u.id, count(*) FILTER (WHERE r.status = 'PENDING'),
    count(*) FILTER (WHERE r.status = 'QUEUED'),
    count(*) FILTER (WHERE r.status = 'PROCESSING'),
    count(*) FILTER (WHERE r.status = 'SUMMARIZING'),
    count(*) FILTER (WHERE r.status = 'COMPLETED'),
    count(*) FILTER (WHERE r.status = 'FAILED'),
    coalesce(sum(r.file_size) FILTER (WHERE r.audio_deleted_at IS NULL), 0)
FROM users u LEFT JOIN recordings r ON r.user_id = u.id GROUP BY u.id;

-- A recording that is gone, for those who follow the feed of changes. Recording_id refers to nothing any more.
CREATE TABLE recording_tombstones (
    id integer PRIMARY KEY AUTOINCREMENT,
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    recording_id integer NOT NULL,
    reason text NOT NULL CHECK (reason IN ('deleted', 'retention', 'access_revoked')),
    deleted_at datetime NOT NULL
);
CREATE INDEX recording_tombstones_feed ON recording_tombstones (user_id, deleted_at, recording_id);
CREATE INDEX recording_tombstones_age ON recording_tombstones (deleted_at);

-- From when on deletions are remembered ('started'), and before when they are forgotten again ('pruned').
CREATE TABLE feed_marks (
    name text NOT NULL PRIMARY KEY,
    at datetime NOT NULL
);
INSERT INTO feed_marks (name, at) VALUES
    ('started', strftime('%Y-%m-%d %H:%M:%f+00:00', 'now')), ('pruned', '0001-01-01 00:00:00+00:00');

-- One index for each order that a list can have; that of changes is the feed's too.
CREATE INDEX recordings_changed ON recordings (user_id, updated_at, id);
CREATE INDEX recordings_status ON recordings (user_id, status, created_at, id);
CREATE INDEX recordings_meeting ON recordings (user_id, meeting_date, id);
CREATE INDEX recordings_title ON recordings (user_id, title, id);
CREATE INDEX recordings_size ON recordings (user_id, file_size, id);
CREATE INDEX recordings_completed ON recordings (user_id, completed_at) WHERE status = 'COMPLETED';
