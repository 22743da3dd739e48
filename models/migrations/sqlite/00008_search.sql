-- +goose Up
-- What search reads: the texts of a recording with their case folded, in parts of whole units (a title, a line, a
-- segment), one unit a line. First is the number of a part's first unit. No reference to recordings: the trigger below
-- removes the rows, so that whoever indexes never waits for the lock of a recording.
CREATE TABLE search_texts (
    id integer PRIMARY KEY AUTOINCREMENT,
    recording_id integer NOT NULL,
    user_id integer NOT NULL,
    field text NOT NULL CHECK (field IN ('title', 'participants', 'notes', 'summary', 'transcript', 'speaker')),
    first integer NOT NULL CHECK (first >= 0),
    folded text NOT NULL,
    -- The account as one trigram of its own: one account's search never walks through another's texts.
    account text GENERATED ALWAYS AS (char(983040 + user_id / 4225000000, 983040 + user_id / 65000 % 65000, 983040 + user_id % 65000)) VIRTUAL
);
CREATE UNIQUE INDEX search_texts_of ON search_texts (recording_id, field, first);

-- Rows of search_texts are inserted and deleted, never updated: the index follows only these two.
CREATE VIRTUAL TABLE search_trigrams USING fts5 (
    folded, account, content = 'search_texts', content_rowid = 'id', tokenize = 'trigram case_sensitive 1'
);
-- +goose StatementBegin
CREATE TRIGGER search_texts_inserted AFTER INSERT ON search_texts BEGIN
    INSERT INTO search_trigrams (rowid, folded, account) VALUES (new.id, new.folded, new.account);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER search_texts_deleted AFTER DELETE ON search_texts BEGIN
    INSERT INTO search_trigrams (search_trigrams, rowid, folded, account) VALUES ('delete', old.id, old.folded, old.account);
END;
-- +goose StatementEnd

-- Recordings whose search_texts are behind. Every change of a text makes the mark in its own transaction, whoever writes.
CREATE TABLE search_marks (
    recording_id integer NOT NULL PRIMARY KEY,
    user_id integer NOT NULL
);
CREATE INDEX search_marks_user ON search_marks (user_id, recording_id);
INSERT INTO search_marks (recording_id, user_id) SELECT id, user_id FROM recordings;
-- +goose StatementBegin
CREATE TRIGGER recordings_search_inserted AFTER INSERT ON recordings BEGIN
    INSERT OR IGNORE INTO search_marks (recording_id, user_id) VALUES (new.id, new.user_id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER recordings_search_updated AFTER UPDATE OF user_id, title, participants, notes, summary ON recordings BEGIN
    INSERT OR IGNORE INTO search_marks (recording_id, user_id) VALUES (new.id, new.user_id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER recordings_search_deleted AFTER DELETE ON recordings BEGIN
    DELETE FROM search_marks WHERE recording_id = old.id;
    DELETE FROM search_texts WHERE recording_id = old.id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER transcripts_search_inserted AFTER INSERT ON transcripts BEGIN
    INSERT OR IGNORE INTO search_marks (recording_id, user_id) SELECT id, user_id FROM recordings WHERE id = new.recording_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER transcripts_search_updated AFTER UPDATE OF text, kind ON transcripts BEGIN
    INSERT OR IGNORE INTO search_marks (recording_id, user_id) SELECT id, user_id FROM recordings WHERE id = new.recording_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER transcripts_search_deleted AFTER DELETE ON transcripts BEGIN
    INSERT OR IGNORE INTO search_marks (recording_id, user_id) SELECT id, user_id FROM recordings WHERE id = old.recording_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER transcript_segments_search_inserted AFTER INSERT ON transcript_segments BEGIN
    INSERT OR IGNORE INTO search_marks (recording_id, user_id) SELECT id, user_id FROM recordings WHERE id = new.recording_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER transcript_segments_search_updated AFTER UPDATE OF position, speaker, text ON transcript_segments BEGIN
    INSERT OR IGNORE INTO search_marks (recording_id, user_id) SELECT id, user_id FROM recordings WHERE id = new.recording_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER transcript_segments_search_deleted AFTER DELETE ON transcript_segments BEGIN
    INSERT OR IGNORE INTO search_marks (recording_id, user_id) SELECT id, user_id FROM recordings WHERE id = old.recording_id;
END;
-- +goose StatementEnd

-- The newest by the date that search goes by, where it is not that of the upload.
CREATE INDEX recordings_dated ON recordings (user_id, COALESCE(meeting_date, created_at) DESC, id DESC);
