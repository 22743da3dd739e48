package media

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Format is a form into which audio can be brought. All are mono at 16 kHz, which is what speech engines work at.
type Format struct {
	// Name is the short name of the container, as in Info.
	Name string
	// Extension, with its dot, and MIME are what such a file should be called.
	Extension, MIME string
	// BytesPerSecond is the most that a second of audio takes.
	BytesPerSecond int64

	encode []string
}

// WAV is 16-bit PCM behind the plain header of 44 bytes: what every engine takes, at 32 kB a second.
func WAV() Format {
	return Format{"wav", ".wav", "audio/wav", 32000, []string{"-c:a", "pcm_s16le", "-bitexact", "-f", "wav"}}
}

// MP3 is 64 kbit/s: 8 kB a second, one hour in 28 MB.
func MP3() Format {
	return Format{"mp3", ".mp3", "audio/mpeg", 8000, []string{"-c:a", "libmp3lame", "-b:a", "64k", "-f", "mp3"}}
}

// FLAC is lossless at about half of WAV's size, and can be entered at any sample: the form in which long audio is cut.
func FLAC() Format {
	return Format{"flac", ".flac", "audio/flac", 33000, []string{"-c:a", "flac", "-compression_level", "2", "-f", "flac"}}
}

// Info describes a file of this format.
func (f Format) Info() Info {
	return Info{Container: f.Name, Codec: f.Name, MIME: f.MIME, Extension: f.Extension}
}

// Stretch is a part of a file's audio. The zero Stretch is all of it.
type Stretch struct {
	// Start is where it begins; Length how long it is, 0 to the end.
	Start, Length time.Duration
}

// Convert writes the first audio stream of src, or a stretch of it, to the new file dst. Stretches are exact to the
// sample when src is WAV or FLAC. On an error dst does not exist; it is syscall.ENOSPC when there is no room for it.
func (m *Media) Convert(ctx context.Context, src, dst string, to Format, stretch Stretch) error {
	input, err := source(src)
	if err != nil {
		return err
	}
	length := stretch.Length
	if length <= 0 || length > m.maxLength {
		length = m.maxLength
	}
	most, crowded, err := m.mostBytes(length, to)
	if err != nil {
		return fmt.Errorf("convert audio: %w", err)
	}
	// The file is made by us: it must not exist, and nobody else may read it.
	file, err := os.OpenFile(dst, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("convert audio: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("convert audio: %w", err)
	}
	output, err := source(dst)
	if err != nil {
		return err
	}

	args := append(quiet(), reading()...)
	if stretch.Start > 0 {
		args = append(args, "-ss", seconds(stretch.Start))
	}
	args = append(args, "-t", seconds(length), "-i", input, "-map", "0:a:0", "-vn", "-sn", "-dn",
		"-map_metadata", "-1", "-map_chapters", "-1", "-ac", "1", "-ar", "16000")
	args = append(args, to.encode...)
	args = append(args, "-y", output)
	err = m.run(ctx, child{program: m.ffmpeg, args: args, maxFile: most, timeout: m.workTimeout})
	var exit *exitError
	if errors.As(err, &exit) && exit.code == maxErrorRate {
		err = nil // what decoded was written
	}
	var late *lateError
	if crowded && errors.Is(err, ErrBounds) && !errors.As(err, &late) {
		err = fmt.Errorf("%w: %w", syscall.ENOSPC, err)
	}
	if err != nil {
		_ = os.Remove(dst)
		return fmt.Errorf("convert audio to %s: %w", to.Name, err)
	}
	return nil
}

// mostBytes is what a converted file of this length may take; crowded tells that the disk has no room for more.
func (m *Media) mostBytes(length time.Duration, to Format) (most int64, crowded bool, err error) {
	most = int64(length.Seconds()+1)*to.BytesPerSecond + 1<<20
	if m.room == nil {
		return most, false, nil
	}
	room, err := m.room()
	if err != nil {
		return 0, false, err
	}
	if room <= 0 {
		return 0, true, fmt.Errorf("%w beside what is reserved", syscall.ENOSPC)
	}
	return min(most, room), room < most, nil
}
