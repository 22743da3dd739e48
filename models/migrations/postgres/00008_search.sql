-- +goose Up
-- What search reads: the texts of a recording with their case folded, in parts of whole units (a title, a line, a
-- segment), one unit a line. First is the number of a part's first unit. No reference to recordings: the trigger below
-- removes the rows, so that whoever indexes never waits for the lock of a recording. The extension pg_trgm is there:
-- DB.Migrate sees to it.
CREATE TABLE search_texts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    recording_id bigint NOT NULL,
    user_id bigint NOT NULL,
    field text NOT NULL CHECK (field IN ('title', 'participants', 'notes', 'summary', 'transcript', 'speaker')),
    first integer NOT NULL CHECK (first >= 0),
    folded text NOT NULL
);
CREATE UNIQUE INDEX search_texts_of ON search_texts (recording_id, field, first);
CREATE INDEX search_texts_user ON search_texts (user_id);
CREATE INDEX search_trigrams ON search_texts USING gin (folded gin_trgm_ops);

-- Recordings whose search_texts are behind. Every change of a text makes the mark in its own transaction, whoever writes.
CREATE TABLE search_marks (
    recording_id bigint NOT NULL PRIMARY KEY,
    user_id bigint NOT NULL
);
CREATE INDEX search_marks_user ON search_marks (user_id, recording_id);
INSERT INTO search_marks (recording_id, user_id) SELECT id, user_id FROM recordings;

-- The update that changes nothing takes the lock of the mark: else a change that is not committed yet could leave its
-- mark to an indexer that has read the text before it.
-- +goose StatementBegin
CREATE FUNCTION search_mark_recording() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO search_marks AS m (recording_id, user_id) VALUES (NEW.id, NEW.user_id)
    ON CONFLICT (recording_id) DO UPDATE SET user_id = excluded.user_id;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION search_mark_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO search_marks AS m (recording_id, user_id)
    SELECT r.id, r.user_id FROM recordings AS r WHERE r.id IN (SELECT recording_id FROM changed) ORDER BY r.id
    ON CONFLICT (recording_id) DO UPDATE SET user_id = excluded.user_id;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
-- The mark goes first: its lock waits for who is indexing, whose rows the second statement then sees.
-- +goose StatementBegin
CREATE FUNCTION search_forget_recording() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM search_marks WHERE recording_id = OLD.id;
    DELETE FROM search_texts WHERE recording_id = OLD.id;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
CREATE TRIGGER recordings_search_inserted AFTER INSERT ON recordings
FOR EACH ROW EXECUTE FUNCTION search_mark_recording();
CREATE TRIGGER recordings_search_updated AFTER UPDATE OF user_id, title, participants, notes, summary ON recordings
FOR EACH ROW EXECUTE FUNCTION search_mark_recording();
CREATE TRIGGER recordings_search_deleted AFTER DELETE ON recordings
FOR EACH ROW EXECUTE FUNCTION search_forget_recording();
CREATE TRIGGER transcripts_search_inserted AFTER INSERT ON transcripts
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_mark_words();
CREATE TRIGGER transcripts_search_updated AFTER UPDATE ON transcripts
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_mark_words();
CREATE TRIGGER transcripts_search_deleted AFTER DELETE ON transcripts
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_mark_words();
CREATE TRIGGER transcript_segments_search_inserted AFTER INSERT ON transcript_segments
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_mark_words();
CREATE TRIGGER transcript_segments_search_updated AFTER UPDATE ON transcript_segments
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_mark_words();
CREATE TRIGGER transcript_segments_search_deleted AFTER DELETE ON transcript_segments
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_mark_words();

-- The newest by the date that search goes by, where it is not that of the upload.
CREATE INDEX recordings_dated ON recordings (user_id, (COALESCE(meeting_date, created_at)) DESC, id DESC);
