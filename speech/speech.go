// Package speech turns audio into text: one small interface, one file per engine, and the Transcriber that makes any
// recording fit an engine (converts it, splits it, tries a failed part again) and makes any engine's answer safe to
// keep. What engines answer is hostile input: whatever comes, a Transcript holds valid text, finite and ordered times
// within the decoded length, and bounded counts, or the call is a *providers.Error in our own words.
package speech

import (
	"context"
	"slices"
	"time"

	"github.com/stenometer/stenometer/media"
)

// Engine is a transcription service. Transcribe makes one attempt (the plain form after a refused detailed one
// included); its failures are *providers.Error, the context's error, or a fault of ours such as an unreadable file.
type Engine interface {
	Describe() Description
	Transcribe(ctx context.Context, audio Audio, request Request) (Answer, error)
}

// Audio is a local file and what is known about it.
type Audio struct {
	Path string
	Info media.Info
	// Length is the decoded length, never a container's claim.
	Length time.Duration
}

// Request is what the caller wishes. Every field may be empty; an engine leaves out what it has no use for.
type Request struct {
	// Language is a code or an English name ("de", "de-DE", "German"); what is not known is not sent.
	Language string
	// MinSpeakers and MaxSpeakers are hints for diarization, 0 for none.
	MinSpeakers, MaxSpeakers int
	// Hotwords and InitialPrompt steer the engine; each is cut to 2,000 characters.
	Hotwords, InitialPrompt string
	// Model is used in place of the configured one, where the connector allows it.
	Model string
}

// Description is what an engine states about itself.
type Description struct {
	// Connector is "openai_whisper", "openai_transcribe", "asr_endpoint" or "embedded".
	Connector string
	// Provider is who is paid: "openai", "embedded", or the host of another service.
	Provider string
	// Model is the configured model; empty when the service decides.
	Model string
	// AnyModel lets a request name any model in its place, Models only these.
	AnyModel bool
	Models   []string
	// Quality is a sentence for operators where the engine's results need one, else empty.
	Quality      string
	Capabilities Capabilities
	// MaxBytes and MaxLength bound one call; 0 means that the engine states no bound.
	MaxBytes  int64
	MaxLength time.Duration
	// Takes says which files may be sent as they are. All others are converted to Form.
	Takes Takes
	// Form is the format of converted files and of parts.
	Form media.Format
}

// Asked is the model that a request is answered by, and that is paid.
func (d Description) Asked(request Request) string {
	if request.Model != "" && (d.AnyModel || slices.Contains(d.Models, request.Model)) {
		return request.Model
	}
	return d.Model
}

// Capabilities are shown to clients, under the contract's names.
type Capabilities struct {
	Diarization, SpeakerCountControl, Hotwords, InitialPrompt bool
	Timestamps, LanguageDetection, Chunking                   bool
}

// Takes is the set of files that an engine is sent unconverted. Its zero value takes none.
type Takes struct {
	// Any takes every container with sound alone.
	Any bool
	// Containers are short names of media.Info.
	Containers []string
	// ButCodecs are codecs that are refused in any container.
	ButCodecs []string
}

// Answer is what an engine said, before it is cleaned. Times count from the start of the file that it was given.
type Answer struct {
	// Segments is empty when the engine gave text alone.
	Segments []Segment
	Text     string
	// Language is a code when the engine told one.
	Language string
	// Model is the one that was asked.
	Model string
}

// Segment is a stretch of speech. A segment whose engine told no usable start has no times.
type Segment struct {
	// Start and End are seconds from the start of the recording. End may be nil beside a Start.
	Start, End *float64
	// Label is the engine's name of the speaker, empty without diarization. Speaker is who is shown: at first the label.
	Speaker, Label string
	Text           string
}

// The kinds of a Transcript.
const (
	// KindSegments has segments, possibly none at all: no speech.
	KindSegments = "segments"
	// KindPlain has text alone, without times.
	KindPlain = "plain"
)

// Transcript is the finished text of a recording.
type Transcript struct {
	// Kind is KindSegments or KindPlain.
	Kind     string
	Segments []Segment
	// Text is all of the words; empty when nobody spoke.
	Text string
	// Language is a code such as "en", empty when neither told nor asked for.
	Language string
	// Engine is the connector, Model the model that was asked.
	Engine, Model string
	// Gaps are the stretches that could not be transcribed although the rest was.
	Gaps []Gap
}

// Gap is a stretch without transcript. Start and End are seconds; Reason is a sentence of ours.
type Gap struct {
	Start, End float64
	Reason     string
}
