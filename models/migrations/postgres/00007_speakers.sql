-- +goose Up
-- A speaker who was deleted is kept, unseen, until no transcript refers to it: transcripts are detached part by part.
ALTER TABLE speakers ADD COLUMN deleted_at timestamptz;
DROP INDEX speakers_name;
CREATE UNIQUE INDEX speakers_name ON speakers (user_id, name) WHERE deleted_at IS NULL;

-- Gives the recordings of a speaker one after the other, however many segments each has.
DROP INDEX transcript_segments_speaker;
CREATE INDEX transcript_segments_speaker ON transcript_segments (speaker_id, recording_id) WHERE speaker_id IS NOT NULL;
