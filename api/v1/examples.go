package v1

import (
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// The document's examples tell of one account and one recording of it, whichever operation they stand at: a reader who
// goes from one to the next meets the same ids. They are what stories give, put into the forms that handlers use, so
// that an example cannot have a shape that no answer has.

const (
	exampleID       = 42
	exampleTitle    = "Quarterly planning"
	examplePeople   = "Ada Lovelace, Grace Hopper"
	exampleNotes    = "Bring the figures of the last quarter."
	exampleSummary  = "The budget was agreed on; Grace sends it out by Friday."
	exampleColor    = "#3B82F6"
	exampleHotwords = "Stenometer, Lovelace"
	exampleRefURL   = "https://tracker.example.org/PROJ-17"
	exampleCursor   = "eyJ1IjoiMjAyNi0wMy0wNFQwOTo1MDowMC4wMDAwMDBaIiwiayI6MSwiaSI6NDF9"
	exampleLink     = "ZXhhbXBsZS1vZi1hLTE2IQ"
	exampleShareURL = "https://notes.example.org/share/" + exampleLink
)

// exampleTime is a moment of the day of the examples.
func exampleTime(hour, minute, second int) time.Time {
	return time.Date(2026, time.March, 4, hour, minute, second, 0, time.UTC)
}

func exampleRecording() recordings.Recording {
	return recordings.Recording{
		ID: exampleID, UserID: 1, Status: recordings.StatusCompleted,
		Title: new(exampleTitle), Participants: new(examplePeople), Notes: new(exampleNotes), Summary: new(exampleSummary),
		SummaryApprovedAt: new(exampleTime(9, 44, 3)), SummaryApprovedBy: new(int64(1)),
		OriginalFilename: new("planning.m4a"), MimeType: new("audio/mp4"), FileSize: 1863310,
		AudioAvailable: true, AudioDuration: new(184.2), MeetingDate: new(exampleTime(9, 0, 0)),
		IsHighlighted: true, FolderID: new(int64(2)), Folder: &recordings.FolderMark{ID: 2, Name: "Team meetings"},
		Tags:              []recordings.TagMark{{ID: 3, Name: "Planning", Color: exampleColor}},
		ExternalRefs:      []recordings.ExternalRef{exampleRef()},
		ProcessingSeconds: new(21.7), TranscriptionSeconds: new(int64(20)), HasTranscript: true, HasSummary: true,
		CreatedAt: exampleTime(9, 31, 12), CompletedAt: new(exampleTime(9, 31, 40)), UpdatedAt: exampleTime(9, 44, 3),
	}
}

func exampleApproval() approvalForm { return approvalFormOf(exampleRecording()) }

func exampleRecordingList() recordingList {
	return recordingList{
		Recordings: []recordingListItem{recordingListItemOf(exampleRecording())},
		Pagination: routes.PaginationOf(1, 25, 1),
	}
}

func exampleRecordingDetail() recordingDetail {
	return recordingDetailOf(recordings.Detail{
		Recording: exampleRecording(), Events: []recordings.CalendarEvent{exampleEvent()},
		Transcription: new("[Ada Lovelace]: Shall we begin with the budget?\n[Grace Hopper]: I send it out by Friday."),
	}, map[string]bool{"transcription": true, "summary": true, "notes": true})
}

// exampleUpload is the recording as it is right after its upload: queued, and known by what the form said of it.
func exampleUpload(replayed bool) uploadedRecording {
	r := exampleRecording()
	r.Status, r.Summary, r.HasTranscript, r.HasSummary, r.IsHighlighted, r.IsInbox = recordings.StatusQueued, nil, false, false, false, true
	r.CompletedAt, r.ProcessingSeconds, r.TranscriptionSeconds, r.UpdatedAt = nil, nil, nil, r.CreatedAt
	folder := exampleFolder()
	return uploadedRecordingOf(recordings.Uploaded{
		Recording: r, Tags: []recordings.Tag{exampleTag()}, Folder: &folder, Ignored: recordings.Ignored{TagIDs: []any{}},
		Replayed: replayed,
	})
}

func exampleRecordingUpdate() recordingUpdate {
	return recordingUpdate{
		Title: routes.Given(exampleTitle), IsHighlighted: routes.Given(true), FolderID: routes.Given[int64](2),
	}
}

func exampleRecordingUpdateResult() recordingUpdateResult {
	return recordingUpdateResult{true, updatedRecordingOf(exampleRecording())}
}

func exampleRecordingStatus() recordingStatus {
	return recordingStatus{
		ID: exampleID, Status: recordings.StatusCompleted, CompletedAt: new(routes.Naive(exampleTime(9, 31, 40))),
	}
}

// exampleTranscript is what was said; a voice keeps its label under the name that it was given.
func exampleTranscript() transcriptForm {
	return transcriptForm{
		Format: "json", Kind: recordings.Segmented, Duration: new(184.2),
		Segments: []segmentForm{
			exampleSegment(0, "Ada Lovelace", "SPEAKER_00", 7, "Shall we begin with the budget?", 0, 2.4),
			exampleSegment(1, "Grace Hopper", "SPEAKER_01", 8, "I send it out by Friday.", 2.9, 4.8),
		},
	}
}

func exampleSegment(index int, speaker, label string, id int64, text string, start, end float64) segmentForm {
	return segmentForm{
		Index: index, Speaker: &speaker, SpeakerLabel: &label, SpeakerID: &id, Text: text, Sentence: text,
		StartTime: &start, EndTime: &end,
	}
}

func exampleHints() transcriptionHints {
	return transcriptionHints{
		Language: new("en"), MinSpeakers: new(2), MaxSpeakers: new(4), Hotwords: new(exampleHotwords),
	}
}

func exampleBatch() recordingBatch { return recordingBatch{RecordingIDs: []int64{exampleID, 43}} }

func exampleBatchUpdate() batchUpdate {
	return batchUpdate{exampleBatch(), routes.Given(batchUpdates{IsArchived: routes.Given(true), AddTagIDs: []int64{3}})}
}

// exampleBatchResults are those of exampleBatch, of which one recording is gone.
func exampleBatchResults(job int64) []batchResult {
	return []batchResult{
		{ID: exampleID, Success: true, JobID: job}, {ID: 43, Error: "There is no such recording."},
	}
}

func exampleChangePage() changePage {
	r := exampleRecording()
	return changePage{
		Changes: []changeForm{
			changeFormOf(recordings.Change{Recording: &r}),
			changeFormOf(recordings.Change{Gone: recordings.Tombstone{
				ID: 41, DeletedAt: exampleTime(9, 50, 0), Reason: recordings.ReasonDeleted,
			}}),
		},
		NextCursor: exampleCursor,
	}
}

func exampleSearchResults() searchResults {
	return searchResults{
		Query: "budget", ModeUsed: keyword, Page: 1,
		Results: []searchHit{{
			RecordingID: exampleID, Title: new(exampleTitle), MeetingDate: new(exampleTime(9, 0, 0).Format(time.RFC3339)),
			Field: string(recordings.FieldTranscript), SegmentIndex: new(0), StartTime: new(0.0), EndTime: new(2.4),
			Speaker: new("Ada Lovelace"), Text: "Shall we begin with the budget?", MatchSpans: [][2]int{{24, 30}}, Score: 0.7,
		}},
	}
}

func exampleEvent() recordings.CalendarEvent {
	return recordings.CalendarEvent{
		ID: 5, RecordingID: exampleID, Title: "Send out the budget", Starts: "2026-03-06T12:00:00", Ends: new("2026-03-06T12:30:00"),
		Attendees:       []recordings.Attendee{{Name: new("Grace Hopper"), Email: new("grace@example.org")}},
		ReminderMinutes: new(15), CreatedAt: exampleTime(9, 31, 40),
	}
}

func exampleUser() userForm {
	return userForm{
		ID: 1, Username: "ada", Email: "ada@example.org", CanSharePublicly: true, Role: auth.RoleEditor,
		OrganizationID: 1, Preferences: userPreferences{AutoSummarization: true}, GroupMemberships: []groupMembership{{GroupID: 1, GroupName: "Example", Role: groupMember, JoinedAt: new("2026-03-01T08:00:00")}},
	}
}
