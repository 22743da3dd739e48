-- +goose Up
-- How many recordings an account has, by status, and the bytes of their audio: one row an account, there from the
-- account's first moment. Lists and stats read it instead of counting 100,000 rows. Triggers keep it, so that it is
-- right whoever writes, within the transaction that writes.
CREATE TABLE recording_counts (
    user_id bigint NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    pending bigint NOT NULL DEFAULT 0 CHECK (pending >= 0),
    queued bigint NOT NULL DEFAULT 0 CHECK (queued >= 0),
    processing bigint NOT NULL DEFAULT 0 CHECK (processing >= 0),
    summarizing bigint NOT NULL DEFAULT 0 CHECK (summarizing >= 0),
    completed bigint NOT NULL DEFAULT 0 CHECK (completed >= 0),
    failed bigint NOT NULL DEFAULT 0 CHECK (failed >= 0),
    audio_bytes bigint NOT NULL DEFAULT 0 CHECK (audio_bytes >= 0)
);

-- What a transaction has changed and not yet added up; outside a transaction it is empty. Adding up at the end, one
-- row once, keeps two rules: the account's row is locked last and briefly, so that no two transactions wait for each
-- other, and a statement over 100,000 recordings does not write it 100,000 times.
CREATE TABLE recording_count_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id bigint NOT NULL,
    pending bigint NOT NULL,
    queued bigint NOT NULL,
    processing bigint NOT NULL,
    summarizing bigint NOT NULL,
    completed bigint NOT NULL,
    failed bigint NOT NULL,
    audio_bytes bigint NOT NULL
);
CREATE INDEX recording_count_changes_user ON recording_count_changes (user_id);

-- What an update changes is added up over the rows before and after it. Comparing row with row would have the two joined,
-- which is planned without figures and compares each with each: an update of 6,000 recordings took 8 seconds.
-- +goose StatementBegin
CREATE FUNCTION note_recording_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Nested: a statement is planned whole, and only an update has both tables of rows.
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO recording_count_changes (user_id, pending, queued, processing, summarizing, completed, failed, audio_bytes)
        SELECT * FROM (
            SELECT user_id, coalesce(sum(side) FILTER (WHERE status = 'PENDING'), 0) AS pending,
                coalesce(sum(side) FILTER (WHERE status = 'QUEUED'), 0) AS queued,
                coalesce(sum(side) FILTER (WHERE status = 'PROCESSING'), 0) AS processing,
                coalesce(sum(side) FILTER (WHERE status = 'SUMMARIZING'), 0) AS summarizing,
                coalesce(sum(side) FILTER (WHERE status = 'COMPLETED'), 0) AS completed,
                coalesce(sum(side) FILTER (WHERE status = 'FAILED'), 0) AS failed,
                coalesce(sum(side * file_size) FILTER (WHERE audio_deleted_at IS NULL), 0) AS audio_bytes
            FROM (
                SELECT 1 AS side, user_id, status, file_size, audio_deleted_at FROM after_rows
                UNION ALL
                SELECT -1, user_id, status, file_size, audio_deleted_at FROM before_rows
            ) AS sides GROUP BY user_id
        ) AS changes
        WHERE (pending, queued, processing, summarizing, completed, failed, audio_bytes) <> (0, 0, 0, 0, 0, 0, 0);
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO recording_count_changes (user_id, pending, queued, processing, summarizing, completed, failed, audio_bytes)
        SELECT user_id, count(*) FILTER (WHERE status = 'PENDING'), count(*) FILTER (WHERE status = 'QUEUED'),
            count(*) FILTER (WHERE status = 'PROCESSING'), count(*) FILTER (WHERE status = 'SUMMARIZING'),
            count(*) FILTER (WHERE status = 'COMPLETED'), count(*) FILTER (WHERE status = 'FAILED'),
            coalesce(sum(file_size) FILTER (WHERE audio_deleted_at IS NULL), 0)
        FROM after_rows GROUP BY user_id;
    ELSE
        INSERT INTO recording_count_changes (user_id, pending, queued, processing, summarizing, completed, failed, audio_bytes)
        SELECT user_id, -count(*) FILTER (WHERE status = 'PENDING'), -count(*) FILTER (WHERE status = 'QUEUED'),
            -count(*) FILTER (WHERE status = 'PROCESSING'), -count(*) FILTER (WHERE status = 'SUMMARIZING'),
            -count(*) FILTER (WHERE status = 'COMPLETED'), -count(*) FILTER (WHERE status = 'FAILED'),
            -coalesce(sum(file_size) FILTER (WHERE audio_deleted_at IS NULL), 0)
        FROM before_rows GROUP BY user_id;
    END IF;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
CREATE TRIGGER recordings_counted_in AFTER INSERT ON recordings REFERENCING NEW TABLE AS after_rows
FOR EACH STATEMENT EXECUTE FUNCTION note_recording_counts();
CREATE TRIGGER recordings_counted_over AFTER UPDATE ON recordings REFERENCING OLD TABLE AS before_rows NEW TABLE AS after_rows
FOR EACH STATEMENT EXECUTE FUNCTION note_recording_counts();
CREATE TRIGGER recordings_counted_out AFTER DELETE ON recordings REFERENCING OLD TABLE AS before_rows
FOR EACH STATEMENT EXECUTE FUNCTION note_recording_counts();

-- The first change that is added up takes all others of its account with it.
-- +goose StatementBegin
CREATE FUNCTION add_up_recording_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM recording_count_changes WHERE id = NEW.id) THEN
        RETURN NULL;
    END IF;
    WITH changes AS (
        DELETE FROM recording_count_changes WHERE user_id = NEW.user_id RETURNING *
    ), added AS (
        SELECT sum(pending) AS pending, sum(queued) AS queued, sum(processing) AS processing, sum(summarizing) AS summarizing,
            sum(completed) AS completed, sum(failed) AS failed, sum(audio_bytes) AS audio_bytes
        FROM changes
    )
    UPDATE recording_counts c SET pending = c.pending + a.pending, queued = c.queued + a.queued,
        processing = c.processing + a.processing, summarizing = c.summarizing + a.summarizing,
        completed = c.completed + a.completed, failed = c.failed + a.failed, audio_bytes = c.audio_bytes + a.audio_bytes
    FROM added a WHERE c.user_id = NEW.user_id;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER recording_count_changes_added_up AFTER INSERT ON recording_count_changes
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION add_up_recording_counts();

-- +goose StatementBegin
CREATE FUNCTION begin_recording_counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO recording_counts (user_id) VALUES (NEW.id);
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
CREATE TRIGGER users_counted AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION begin_recording_counts();

-- The triggers above have locked both tables against writers until this transaction ends: the count is exact.
INSERT INTO recording_counts (user_id, pending, queued, processing, summarizing, completed, failed, audio_bytes)
SELECT u.id, count(*) FILTER (WHERE r.status = 'PENDING'), count(*) FILTER (WHERE r.status = 'QUEUED'),
    count(*) FILTER (WHERE r.status = 'PROCESSING'), count(*) FILTER (WHERE r.status = 'SUMMARIZING'),
    count(*) FILTER (WHERE r.status = 'COMPLETED'), count(*) FILTER (WHERE r.status = 'FAILED'),
    coalesce(sum(r.file_size) FILTER (WHERE r.audio_deleted_at IS NULL), 0)
FROM users u LEFT JOIN recordings r ON r.user_id = u.id GROUP BY u.id;

-- A recording that is gone, for those who follow the feed of changes. Recording_id refers to nothing any more.
CREATE TABLE recording_tombstones (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    recording_id bigint NOT NULL,
    reason text NOT NULL CHECK (reason IN ('deleted', 'retention', 'access_revoked')),
    deleted_at timestamptz NOT NULL
);
CREATE INDEX recording_tombstones_feed ON recording_tombstones (user_id, deleted_at, recording_id);
CREATE INDEX recording_tombstones_age ON recording_tombstones (deleted_at);

-- From when on deletions are remembered ('started'), and before when they are forgotten again ('pruned').
CREATE TABLE feed_marks (
    name text NOT NULL PRIMARY KEY,
    at timestamptz NOT NULL
);
INSERT INTO feed_marks (name, at) VALUES ('started', clock_timestamp()), ('pruned', '0001-01-01 00:00:00+00');

-- One index for each order that a list can have; that of changes is the feed's too.
CREATE INDEX recordings_changed ON recordings (user_id, updated_at, id);
CREATE INDEX recordings_status ON recordings (user_id, status, created_at, id);
CREATE INDEX recordings_meeting ON recordings (user_id, meeting_date NULLS FIRST, id);
CREATE INDEX recordings_title ON recordings (user_id, title NULLS FIRST, id);
CREATE INDEX recordings_size ON recordings (user_id, file_size, id);
CREATE INDEX recordings_completed ON recordings (user_id, completed_at) WHERE status = 'COMPLETED';
