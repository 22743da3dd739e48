package speech

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/providers"
)

// TempPrefix begins the name of every folder that a Transcriber makes in its TempDir, for those who sweep what a killed
// process left behind.
const TempPrefix = "speech-"

// TranscriberOptions bounds how a Transcriber works. Zero values take the defaults.
type TranscriberOptions struct {
	// TempDir holds converted files and parts while a call lasts. Default the system's.
	TempDir string
	// Attempts is how often a part is tried in all. Default 3.
	Attempts int
	// Backoff is the wait before the second attempt; it grows fourfold. Default 5 s.
	Backoff time.Duration
	// MaxWait bounds a wait that the service asks for; a longer one ends the call with the service's error, unless a part
	// is paid for already. Default 60 s.
	MaxWait time.Duration
	// Breaker leaves the service alone while it is out of order. Default one that pauses 5 s.
	Breaker *outbound.Breaker
	Logger  *slog.Logger
}

// Transcriber makes recordings fit an engine and engines' answers fit to keep. It is safe for concurrent use.
type Transcriber struct {
	engine   Engine
	media    *media.Media
	tempDir  string
	attempts int
	backoff  time.Duration
	maxWait  time.Duration
	breaker  *outbound.Breaker
	logger   *slog.Logger
}

// NewTranscriber puts an engine to work.
func NewTranscriber(engine Engine, m *media.Media, o TranscriberOptions) *Transcriber {
	t := &Transcriber{
		engine: engine, media: m, tempDir: o.TempDir,
		attempts: o.Attempts, backoff: o.Backoff, maxWait: o.MaxWait, breaker: o.Breaker, logger: o.Logger,
	}
	if t.attempts <= 0 {
		t.attempts = 3
	}
	if t.backoff <= 0 {
		t.backoff = 5 * time.Second
	}
	if t.maxWait <= 0 {
		t.maxWait = time.Minute
	}
	if t.breaker == nil {
		t.breaker = outbound.NewBreaker(5*time.Second, time.Now)
	}
	if t.logger == nil {
		t.logger = slog.Default()
	}
	return t
}

// Describe is the engine's description.
func (t *Transcriber) Describe() Description { return t.engine.Describe() }

// Transcribe brings one recording to text. Audio that the engine does not take is converted; a file that the engine
// refuses as it is, is converted and tried once more; audio beyond the engine's bounds is cut at pauses into parts
// within them, each tried on its own. A part that keeps failing leaves a stated gap, unless no part succeeds.
//
// A recording that is sent in one piece is attempted once (a service that is busy and says for how long is waited for):
// its next attempt is the caller's, who can tell a crash from a refusal. The error is a *providers.Error where the service is
// the cause; one with a RetryAfter cost nothing. Temporary files are gone when the call returns.
//
// The purse pays: all of the length is held before anything is sent, or the error is budget_exceeded. An attempt that
// was paid for in vain leaves less for those after it; where the budget has no room for them, that ends the whole.
func (t *Transcriber) Transcribe(ctx context.Context, purse budgets.Purse, audio Audio, request Request) (Transcript, error) {
	ctx, hold, err := purse.Hold(ctx, t.Priced(audio.Length, request))
	if err != nil {
		return Transcript{}, fmt.Errorf("transcribe: %w", err)
	}
	defer hold.Close()
	dir, err := os.MkdirTemp(t.tempDir, TempPrefix)
	if err != nil {
		return Transcript{}, fmt.Errorf("transcribe: make a folder for parts: %w", err)
	}
	defer os.RemoveAll(dir)
	w := &work{Transcriber: t, engine: t.engine.Describe(), hold: hold, dir: dir, audio: audio, request: request}
	w.form = w.engine.Form
	pieces, err := w.pieces(ctx)
	if err != nil {
		return Transcript{}, w.ended(ctx, err)
	}
	return join(pieces, audio.Length, w.engine, request), nil
}

// work is one recording on its way through the engine.
type work struct {
	*Transcriber
	engine  Description
	hold    *budgets.Hold
	dir     string
	audio   Audio
	request Request
	// form is what parts are rendered to; it changes once when the service refuses it.
	form media.Format
	// taken is whether the service has taken a part in that form.
	taken bool
	// paid is whether any call was charged for; unsettled why the last one's charge could not be written.
	paid      bool
	unsettled error
}

// piece is a stretch of the recording with what came of it.
type piece struct {
	start, end time.Duration
	answer     Answer
	// missing is the reason of a gap.
	missing string
}

// pieces brings the recording through the engine, in as few calls as it takes.
func (w *work) pieces(ctx context.Context) ([]piece, error) {
	stat, err := os.Stat(w.audio.Path)
	if err != nil {
		return nil, fmt.Errorf("transcribe: %w", err)
	}
	longest := w.longestPart()
	switch {
	case w.fits(w.audio, stat.Size()):
		return w.asItIs(ctx)
	case longest == 0 || w.audio.Length <= longest:
		return w.converted(ctx)
	}
	return w.inParts(ctx, longest)
}

// fits reports whether the engine takes the file as it is. Moving pictures are never sent.
func (w *work) fits(audio Audio, size int64) bool {
	e := w.engine
	if audio.Info.HasVideo || (e.MaxBytes > 0 && size > e.MaxBytes) || (e.MaxLength > 0 && audio.Length > e.MaxLength) {
		return false
	}
	known := e.Takes.Any || slices.Contains(e.Takes.Containers, audio.Info.Container)
	return known && !slices.Contains(e.Takes.ButCodecs, audio.Info.Codec)
}

// longestPart is what one call may hold of converted audio; 0 means all.
func (w *work) longestPart() time.Duration {
	longest := w.engine.MaxLength
	if w.engine.MaxBytes > 0 {
		bySize := time.Duration(w.engine.MaxBytes*95/100/w.engine.Form.BytesPerSecond) * time.Second
		if longest == 0 || bySize < longest {
			longest = bySize
		}
	}
	return longest
}

func (w *work) asItIs(ctx context.Context) ([]piece, error) {
	answer, err := w.attempt(ctx, w.audio, share(0, w.audio.Length), 1)
	if !refused(err) {
		return w.whole(answer, err)
	}
	w.logger.Info("the engine refused the format; converting", "container", w.audio.Info.Container, "codec", w.audio.Info.Codec)
	if w.fitsAsWAV(w.audio.Length) {
		w.form = media.WAV()
	}
	if longest := w.longestPart(); longest > 0 && w.audio.Length > longest {
		return w.inParts(ctx, longest)
	}
	return w.render(ctx, w.audio)
}

// converted sends all of the recording in the engine's own form.
func (w *work) converted(ctx context.Context) ([]piece, error) {
	pieces, err := w.render(ctx, w.audio)
	if refused(err) && w.switchToWAV(w.audio.Length) {
		return w.render(ctx, w.audio)
	}
	return pieces, err
}

func (w *work) render(ctx context.Context, source Audio) ([]piece, error) {
	part, err := w.part(ctx, source, 0, source.Length)
	if err != nil {
		return nil, err
	}
	defer os.Remove(part.Path)
	answer, err := w.attempt(ctx, part, share(0, source.Length), 1)
	return w.whole(answer, err)
}

func (w *work) whole(answer Answer, err error) ([]piece, error) {
	if err != nil {
		return nil, err
	}
	return []piece{{end: w.audio.Length, answer: clean(answer, w.audio.Length)}}, nil
}

// part renders a stretch of the source in the form in force.
func (w *work) part(ctx context.Context, source Audio, start, end time.Duration) (Audio, error) {
	path := filepath.Join(w.dir, fmt.Sprintf("part-%d%s", start.Milliseconds(), w.form.Extension))
	stretch := media.Stretch{Start: start, Length: end - start}
	if end == source.Length {
		stretch.Length = 0 // to the last sample, however lengths are rounded
	}
	if err := w.media.Convert(ctx, source.Path, path, w.form, stretch); err != nil {
		return Audio{}, fmt.Errorf("transcribe: %w", err)
	}
	return Audio{Path: path, Info: w.form.Info(), Length: end - start}, nil
}

// switchToWAV changes the form, once, for services that decode nothing else, and reports whether that was possible.
func (w *work) switchToWAV(length time.Duration) bool {
	if w.form.Name == media.WAV().Name || !w.fitsAsWAV(length) {
		return false
	}
	w.logger.Info("the engine refused the format; converting", "container", w.form.Name, "codec", w.form.Name)
	w.form = media.WAV()
	return true
}

func (w *work) fitsAsWAV(length time.Duration) bool {
	return w.engine.MaxBytes == 0 || int64(length.Seconds()+1)*media.WAV().BytesPerSecond < w.engine.MaxBytes
}

func refused(err error) bool {
	var failure *providers.Error
	return errors.As(err, &failure) && failure.Kind == providers.Refused
}
