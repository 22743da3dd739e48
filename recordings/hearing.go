package recordings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/speech"
)

// Heard is what was said in a file, of which nothing is kept.
type Heard struct {
	Transcript

	// Text is all of the words.
	Text string
	// Length is that of the decoded sound.
	Length time.Duration
	// Format is how the caller wants it: json, text, srt, vtt or verbose_json.
	Format string
}

// SpeechModels lists what callers may name who wait for what is said; none where nothing is heard so. An engine whose
// service decides about the model is named itself.
func (s *Recordings) SpeechModels() []string {
	if s.HearingMax == 0 {
		return nil
	}
	engine := s.Transcriber.Describe()
	names := []string{cmp.Or(engine.Model, engine.Connector)}
	standing := s.standing()
	further := engine.Models
	if engine.AnyModel {
		further = standing.ModelsVisible
	}
	for _, name := range further {
		if !slices.Contains(names, name) && nameable(standing, name) {
			names = append(names, name)
		}
	}
	return names
}

// Hear takes a multipart form with a file and what its fields wish, in any order, and tells what is said in it while its
// caller waits. The file lies in the folder for temporary files until then, and no longer.
func (s *Recordings) Hear(ctx context.Context, p auth.Principal, purse budgets.Purse, body io.Reader, boundary string) (Heard, error) {
	if s.HearingMax == 0 {
		return Heard{}, problems.New(problems.FeatureDisabled, "The operator of this server has switched this off; upload the recording instead.")
	}
	path := ""
	defer func() {
		if path != "" {
			_ = os.Remove(path) // the sweeper has what stays
		}
	}()
	fields, err := readForm(body, boundary, func(part filePart, before form) error {
		if _, err := s.readHearing(before); err != nil {
			return err
		}
		var err error
		path, err = s.spool(part)
		return err
	})
	if err != nil {
		return Heard{}, err
	}
	if path == "" {
		return Heard{}, noFile().With("field", "file") // for `param`; the answer of an upload has no such member
	}
	asked, err := s.readHearing(fields)
	if err == nil {
		err = asked.complete()
	}
	if err != nil {
		return Heard{}, err
	}
	return s.heard(ctx, p, purse, path, asked)
}

// spool writes a file to the folder for temporary files. The path is told as soon as there is something to remove.
func (s *Recordings) spool(part filePart) (path string, err error) {
	if err := s.checkReserve(); err != nil {
		return "", err
	}
	temp, err := os.CreateTemp(s.TempDir, "hear-*")
	if err != nil {
		return "", storageProblem("make a temporary file", err)
	}
	size, err := s.pour(temp, part)
	if closed := temp.Close(); err == nil && closed != nil {
		err = storageProblem("finish a temporary file", closed)
	}
	if err == nil && size == 0 {
		err = problems.New(problems.InvalidMedia, "The file is empty.")
	}
	return temp.Name(), err
}

// heard measures the whole of a file by decoding, holds it to its bound, and only then calls the engine.
func (s *Recordings) heard(ctx context.Context, p auth.Principal, purse budgets.Purse, path string, asked hearing) (Heard, error) {
	ctx, cancel := context.WithTimeout(ctx, s.HearingTimeout)
	defer cancel()
	info, err := s.Media.Probe(ctx, path)
	if err != nil {
		return Heard{}, s.hearingProblem(ctx, mediaProblem(err))
	}
	length, err := s.Media.Duration(ctx, path)
	if err != nil && !errors.Is(err, media.ErrTooLong) {
		return Heard{}, s.hearingProblem(ctx, mediaProblem(err))
	}
	if err != nil || length > s.HearingMax {
		return Heard{}, problems.New(problems.PayloadTooLarge, "A recording may be at most %g seconds long here; upload a longer one instead.", s.HearingMax.Seconds()).
			With("field", "file").With("max_seconds", s.HearingMax.Seconds())
	}
	// The file may have taken long to come: nothing is spent for a credential that has ended meanwhile.
	if _, err := p.Present(ctx); err != nil {
		return Heard{}, err //nolint:wrapcheck // the guard's refusal is the answer
	}
	said, err := s.Transcriber.Transcribe(ctx, purse, speech.Audio{Path: path, Info: info, Length: length}, asked.request)
	if err != nil {
		return Heard{}, s.hearingProblem(ctx, err)
	}
	if s.Transcribed != nil {
		s.Transcribed(said.Engine, length)
	}
	return Heard{Transcript: transcriptBy(said), Text: said.Text, Length: length, Format: asked.format}, nil
}

// transcriptBy is what an engine said, as a recording would have it.
func transcriptBy(said speech.Transcript) Transcript {
	transcript := Transcript{Kind: said.Kind, Raw: said.Text, Language: optional(said.Language), Gaps: gapsOf(said)}
	for i, segment := range said.Segments {
		transcript.Segments = append(transcript.Segments, Segment{
			Index: i, Speaker: optional(segment.Speaker), SpeakerLabel: optional(segment.Label), Text: segment.Text,
			Start: segment.Start, End: segment.End,
		})
	}
	return transcript
}

// hearingProblem is what a caller is told who waited, whatever it was that took its time.
func (s *Recordings) hearingProblem(ctx context.Context, err error) error {
	const attempt = "hear a file"
	switch {
	case errors.Is(err, budgets.ErrHoldLost):
		return unavailable(attempt, err)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return problems.New(problems.ProviderTimeout, "The recording could not be transcribed within %s.", s.HearingTimeout).
			Because(fmt.Errorf("%s: %w", attempt, err))
	case errors.Is(err, media.ErrBusy):
		return mediaProblem(err)
	}
	return unavailable(attempt, problems.OfProvider(err))
}
