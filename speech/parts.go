package speech

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/providers"
)

// inParts cuts the recording at pauses and sends part after part. All parts are cut from one lossless copy, so that they
// meet to the sample: nothing between two parts is lost and nothing is in both.
func (w *work) inParts(ctx context.Context, longest time.Duration) ([]piece, error) {
	source := Audio{Path: filepath.Join(w.dir, "whole.flac"), Length: w.audio.Length}
	if err := w.media.Convert(ctx, w.audio.Path, source.Path, media.FLAC(), media.Stretch{}); err != nil {
		return nil, fmt.Errorf("transcribe: %w", err)
	}
	var (
		pieces   []piece
		answered int
	)
	for start := time.Duration(0); start < source.Length; {
		end, err := w.cut(ctx, source, start, longest)
		if err != nil {
			return nil, err
		}
		answer, err := w.sendPart(ctx, source, start, end)
		if err == nil {
			answered++
			pieces = append(pieces, piece{start: start, end: end, answer: clean(answer, end-start)})
			start = end
			continue
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("transcribe: %w", ctx.Err())
		}
		var failure *providers.Error
		if !errors.As(err, &failure) || w.endsAll(failure, answered, len(pieces)) {
			return nil, err
		}
		w.logger.Warn("a part could not be transcribed", "part", len(pieces)+1, "kind", failure.Kind, "status", failure.Status)
		if hopeless(failure) {
			end = source.Length // the rest would fare no better
		}
		pieces = append(pieces, piece{start: start, end: end, missing: failure.Error()})
		start = end
		if answered == 0 && start == source.Length {
			return nil, err
		}
	}
	return pieces, nil
}

// endsAll decides whether a part's failure is the whole call's: nothing has succeeded and two parts in a row, or a
// failure that every part would meet, say that nothing will; or the service asks for a longer wait than is ours to make.
func (w *work) endsAll(failure *providers.Error, answered, failed int) bool {
	return failure.Unsent || failure.RetryAfter > w.patience() || (answered == 0 && (failed > 0 || hopeless(failure)))
}

// hopeless failures are about the account, not about the audio.
func hopeless(failure *providers.Error) bool {
	return failure.Kind == providers.Unauthorized || failure.Kind == providers.Unpaid || failure.Kind == providers.WrongModel
}

// cut says where the part that begins at start ends: at a pause near an even share of what is left, and less than
// longest away.
func (w *work) cut(ctx context.Context, source Audio, start, longest time.Duration) (time.Duration, error) {
	left := source.Length - start
	slack := min(30*time.Second, longest/10)
	if left <= longest-slack/2 {
		return source.Length, nil
	}
	share := left / time.Duration(math.Ceil(float64(left)/float64(longest-slack)))
	end, err := w.media.Pause(ctx, source.Path, start+share-slack/2, start+share+slack/2)
	if err != nil {
		return 0, fmt.Errorf("transcribe: %w", err)
	}
	return end, nil
}

// sendPart renders one part and tries it as often as allowed, in WAV when the service refuses the form
// of the first: one that took it before refuses what is in it.
func (w *work) sendPart(ctx context.Context, source Audio, start, end time.Duration) (Answer, error) {
	for {
		part, err := w.part(ctx, source, start, end)
		if err != nil {
			return Answer{}, err
		}
		answer, err := w.attempt(ctx, part, share(start, end), w.attempts)
		if removal := os.Remove(part.Path); removal != nil && err == nil {
			err = fmt.Errorf("transcribe: %w", removal)
		}
		if refused(err) && !w.taken && w.switchToWAV(end-start) {
			continue
		}
		w.taken = w.taken || err == nil
		return answer, err
	}
}

// attempt calls the engine, again after a failure that may pass: up to most times, or where the service says how long
// it is busy as often as a part is tried. Each call counts for so much of the recording.
func (w *work) attempt(ctx context.Context, audio Audio, counts time.Duration, most int) (Answer, error) {
	wait := w.backoff
	for tried := 1; ; tried++ {
		answer, err := w.call(ctx, audio, counts)
		var failure *providers.Error
		if err == nil || ctx.Err() != nil || !errors.As(err, &failure) || failure.Permanent || failure.Unsent {
			return answer, err
		}
		allowed := most
		if failure.RetryAfter > 0 {
			allowed = w.attempts
		}
		if tried >= allowed || failure.RetryAfter > w.patience() {
			return answer, err
		}
		w.logger.Info("an attempt at transcribing failed", "attempt", tried, "kind", failure.Kind, "status", failure.Status)
		if err := pause(ctx, max(wait, failure.RetryAfter)); err != nil {
			return Answer{}, fmt.Errorf("transcribe: %w", err)
		}
		wait *= 4
	}
}

func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
