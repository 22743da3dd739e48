// Package webhooks tells other systems what happened. A story announces an event in the transaction in which the
// thing happens, so that an event is there exactly when its cause is; the row then waits in the outbox.
package webhooks

// Type is the name of an event, as receivers see it.
type Type string

// The events.
const (
	RecordingCreated       Type = "recording.created"
	TranscriptionStarted   Type = "recording.transcription.started"
	TranscriptionCompleted Type = "recording.transcription.completed"
	TranscriptionFailed    Type = "recording.transcription.failed"
	SummaryCompleted       Type = "recording.summary.completed"
	SummaryFailed          Type = "recording.summary.failed"
	SummaryApproved        Type = "recording.summary.approved"
	EventsExtracted        Type = "recording.events.extracted"
	RecordingUpdated       Type = "recording.updated"
	RecordingDeleted       Type = "recording.deleted"
	ShareCreated           Type = "recording.share.created"
	ShareRevoked           Type = "recording.share.revoked"
	BudgetThreshold        Type = "budget.threshold"
	Test                   Type = "webhook.test"
)

// Need says whether a key of an event's data is always there.
type Need uint8

const (
	// Required keys carry a value.
	Required Need = iota
	// Nullable keys are always there and may be null.
	Nullable
	// Optional keys are left out when they have no value.
	Optional
)

// Key is one member of an event's data.
type Key struct {
	Name string
	Need Need
}

// EventRow is one row of the table of events.
type EventRow struct {
	Type    Type
	Meaning string
	Keys    []Key
}

// Events is the table: every event that this server announces, with the keys of its data. Announce refuses what
// is not in it. What differs from receiver to receiver is added at delivery and is no part of it.
func Events() []EventRow {
	recording := func(more ...Key) []Key {
		return append([]Key{{"recording_id", Required}, {"title", Nullable}}, more...)
	}
	updated := Key{"updated_at", Required}
	share := recording(Key{"share_id", Required}, Key{"share_summary", Required}, Key{"share_notes", Required}, updated)
	return []EventRow{
		{
			RecordingCreated, "A recording was accepted.",
			recording(Key{"file_size", Required}, Key{"original_filename", Nullable}, updated),
		},
		{
			TranscriptionStarted, "An engine began to transcribe a recording; once per attempt.",
			recording(updated),
		},
		{
			TranscriptionCompleted, "A recording has its transcript.",
			recording(Key{"language", Optional}, Key{"audio_duration_seconds", Optional},
				Key{"transcription_duration_seconds", Optional}, updated),
		},
		{
			TranscriptionFailed, "The transcription of a recording was given up.",
			recording(Key{"error", Required}, updated),
		},
		{
			SummaryCompleted, "A recording has its summary: the one that follows a transcript, or a new one.",
			recording(Key{"language", Optional}, Key{"audio_duration_seconds", Optional},
				Key{"transcription_duration_seconds", Optional}, Key{"summarization_duration_seconds", Optional}, updated),
		},
		{
			SummaryFailed, "The summary of a recording was given up; the transcript is there.",
			recording(Key{"error", Required}, updated),
		},
		{
			SummaryApproved, "A person approved the summary of a recording: nothing rewrites it by itself.",
			recording(Key{"approved_by", Required}, updated),
		},
		{
			EventsExtracted, "Appointments were found in a recording.",
			recording(Key{"events_count", Required}, updated),
		},
		{
			RecordingUpdated, "A recording was changed by a person or a program of its account; fields_changed says in what.",
			recording(Key{"fields_changed", Required}, updated),
		},
		{
			RecordingDeleted, "A recording was deleted.",
			recording(),
		},
		{ShareCreated, "A public link to a recording was made.", share},
		{ShareRevoked, "A public link to a recording was revoked.", share},
		{
			BudgetThreshold, "What was spent has reached a part of the month's budget of the organization, or of an account; once per month and threshold.",
			[]Key{
				{"scope", Required},
				{"organization_id", Required},
				{"user_id", Nullable},
				{"month", Required},
				{"threshold", Required},
				{"spent", Required},
				{"budget", Required},
				{"currency", Required},
			},
		},
		{Test, "A test that somebody asked for. It is sent whatever the webhook subscribes to.", []Key{{"reason", Required}, {"webhook_id", Required}}},
	}
}

func row(of Type) (EventRow, bool) {
	for _, event := range Events() {
		if event.Type == of {
			return event, true
		}
	}
	return EventRow{}, false
}
