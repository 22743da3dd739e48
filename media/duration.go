package media

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// measured is the rate at which decoded audio is counted, in samples (bytes) a second.
const measured = 8000

// maxErrorRate is ffmpeg's exit code when most of a file failed to decode. What did decode still counts.
const maxErrorRate = 69

// Duration is the length of the decoded audio, by decoding all of it: about 500 times faster than real time on one
// core. ErrTooLong when it goes beyond MaxLength, ErrNotMedia when nothing decodes, ErrBounds beyond WorkTimeout.
func (m *Media) Duration(ctx context.Context, path string) (time.Duration, error) {
	input, err := source(path)
	if err != nil {
		return 0, err
	}
	most := m.maxLength + time.Second
	samples, err := m.count(ctx, m.workTimeout, int64(most.Seconds()+1)*measured, "-t", seconds(most), "-i", input)
	if err != nil {
		var exit *exitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %w", ErrNotMedia, err)
		}
		return 0, fmt.Errorf("measure the audio: %w", err)
	}
	if samples == 0 {
		return 0, fmt.Errorf("measure the audio: %w: nothing could be decoded", ErrNotMedia)
	}
	length := time.Duration(samples) * (time.Second / measured)
	if length > m.maxLength {
		return 0, fmt.Errorf("%w (%s)", ErrTooLong, m.maxLength)
	}
	return length, nil
}

// count decodes the first audio stream of an input, given with its options, and counts samples at the measured rate.
func (m *Media) count(ctx context.Context, timeout time.Duration, most int64, input ...string) (int64, error) {
	args := append(quiet(), reading()...)
	args = append(args, input...)
	args = append(args, "-map", "0:a:0", "-vn", "-sn", "-dn", "-ac", "1", "-ar", strconv.Itoa(measured),
		"-c:a", "pcm_u8", "-f", "u8", "pipe:1")
	var samples counter
	err := m.run(ctx, child{program: m.ffmpeg, args: args, stdout: &samples, maxOutput: most, timeout: timeout})
	var exit *exitError
	if errors.As(err, &exit) && exit.code == maxErrorRate && samples > 0 {
		err = nil
	}
	return int64(samples), err
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// seconds writes a time the way ffmpeg reads it, to the microsecond.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(math.Round(d.Seconds()*1e6)/1e6, 'f', -1, 64)
}
