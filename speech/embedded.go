package speech

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/providers"
)

// embedded is PocketSphinx on this machine: no key, no download, and no more than a demonstration.
type embedded struct {
	media       *media.Media
	timeout     time.Duration
	description Description
}

func newEmbedded(o Options) (*embedded, error) {
	if o.Media == nil || !o.Media.CanRecognize() {
		return nil, fmt.Errorf("%w; to use a service instead set TRANSCRIPTION_BASE_URL or ASR_BASE_URL", media.ErrNoRecognizer)
	}
	described := Description{
		Connector:    Embedded,
		Provider:     Embedded,
		Model:        "pocketsphinx-en-us",
		Quality:      "Demo grade: English only, about two of three words right on real speech, no punctuation, no speakers.",
		Capabilities: Capabilities{Timestamps: true, Chunking: true},
		// The engine searches the lattice of a whole file in memory; two minutes keep that at 130 MB.
		MaxLength: 2 * time.Minute,
		Form:      media.WAV(),
	}
	if o.MaxLength > 0 {
		described.MaxLength = min(o.MaxLength, described.MaxLength)
	}
	return &embedded{media: o.Media, timeout: o.Timeout, description: described}, nil
}

func (e *embedded) Describe() Description { return e.description }

func (e *embedded) Transcribe(ctx context.Context, audio Audio, request Request) (Answer, error) {
	if language := Language(request.Language); language != "" && language != "en" {
		return Answer{}, unsent{providers.Permanent(providers.WrongModel, 0, "The embedded engine understands English only")}
	}
	heard, err := e.media.Recognize(ctx, audio.Path, e.timeout)
	if errors.Is(err, media.ErrBounds) {
		return Answer{}, providers.Retryable(providers.TimedOut, 0, "The embedded engine was stopped at its bounds")
	}
	if err != nil && ctx.Err() == nil {
		return Answer{}, unsent{err} // a fault of this machine, or no room on it now: nobody worked
	}
	if err != nil {
		return Answer{}, err
	}
	words := make([]word, len(heard))
	for i, w := range heard {
		words[i] = word{start: w.Start.Seconds(), end: w.End.Seconds(), text: w.Text}
	}
	answer := Answer{Segments: segmentsOf(words, ""), Language: "en", Model: e.description.Model}
	answer.Text = together(words)
	return answer, nil
}
