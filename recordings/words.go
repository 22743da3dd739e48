package recordings

import (
	"context"
	"errors"
	"syscall"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/speech"
)

// errAudioGone: the storage has no file under the recording's key.
var errAudioGone = errors.New("the audio is not in the storage")

// hopeless marks a failure that trying again cannot mend.
type hopeless struct{ error }

func (h hopeless) Unwrap() error { return h.error }

// permanent reports whether trying again cannot help. A budget without room is: whoever raises it starts the work again,
// nothing does so by itself, also where only the holds of other work are in the way.
func permanent(err error) bool {
	var mark hopeless
	return errors.As(err, &mark) || providers.IsPermanent(err) || problems.Is(err, problems.BudgetExceeded)
}

// reason tells the owner why a transcription failed: a stable code and our own words.
func reason(err error) (code, message string) {
	var failure *providers.Error
	switch {
	case errors.As(err, &failure):
		return string(failure.Kind), failure.Error()
	case problems.Is(err, problems.BudgetExceeded):
		return problems.BudgetExceeded.Code(), problems.Of(err).Message
	case errors.Is(err, errAccountDisabled):
		return disabledReason()
	case errors.Is(err, errAudioGone):
		return "audio_missing", "The audio is not in the file storage any more."
	case errors.Is(err, media.ErrTooLong):
		return "too_long", "The audio is longer than this server transcribes."
	case errors.Is(err, media.ErrNotMedia):
		return "invalid_media", "The file could not be decoded to its end."
	case errors.Is(err, syscall.ENOSPC):
		return "storage_full", "The server had no room left to work on the recording."
	case errors.Is(err, jobs.ErrKilled):
		return "interrupted", "The server stopped each time that it worked on this recording."
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, media.ErrBounds):
		return "timeout", "The transcription took longer than the server allows."
	}
	return "internal", "The transcription failed on the server; its log has the reason."
}

// disabledReason is told whatever was to be made of the recording.
func disabledReason() (code, message string) {
	return "account_disabled", "The account was disabled while this was waited for; it can be started again once the account is enabled."
}

// requestOf is what the engine is asked for a recording.
func requestOf(row models.Recording) speech.Request {
	return speech.Request{
		Language: given(row.Language), Hotwords: given(row.Hotwords), InitialPrompt: given(row.InitialPrompt),
		Model: given(row.Model), MinSpeakers: given(row.MinSpeakers), MaxSpeakers: given(row.MaxSpeakers),
	}
}

// segmentRows are the segments as they are stored; without a speaker there is none, rather than an empty name.
func segmentRows(id int64, segments []speech.Segment) []models.TranscriptSegment {
	rows := make([]models.TranscriptSegment, len(segments))
	for i, s := range segments {
		rows[i] = models.TranscriptSegment{
			RecordingID: id, Position: i, StartSeconds: s.Start, EndSeconds: s.End,
			Speaker: optional(s.Speaker), SpeakerLabel: optional(s.Label), Text: s.Text,
		}
	}
	return rows
}

// gapsOf are the gaps as they are stored.
func gapsOf(transcript speech.Transcript) []Gap {
	gaps := make([]Gap, len(transcript.Gaps))
	for i, gap := range transcript.Gaps {
		gaps[i] = Gap{Start: gap.Start, End: gap.End, Reason: gap.Reason}
	}
	return gaps
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func given[T any](value *T) T {
	if value == nil {
		var none T
		return none
	}
	return *value
}
