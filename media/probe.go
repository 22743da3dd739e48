package media

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Info is what a file turned out to be by its content; its name plays no part.
type Info struct {
	// Container is a short name such as "mp4", "webm", "ogg" or "wav".
	Container string
	// Codec is ffmpeg's name of the first audio stream's codec, such as "aac" or "opus".
	Codec string
	// MIME and Extension (with its dot) are what the content should be called.
	MIME, Extension string
	// HasVideo is true for moving pictures, not for a cover.
	HasVideo bool
	// Claimed is the length that the container states: a hint, never to be counted with. 0 when it states none.
	Claimed time.Duration
	// CreatedAt is when the container says that it was made, in UTC; zero when it does not.
	CreatedAt time.Time
}

// looked is how much of the beginning is decoded, lastLooked how much of an indexed container's end.
const (
	looked     = 3 * time.Second
	lastLooked = time.Second
)

// Probe decides by content whether a file is audio that can be decoded, within ProbeTimeout. The first seconds must
// decode; so must the end of a container that keeps an index, since an mp4 that was cut short reads well until the cut.
// ErrNotMedia says that the file is at fault, also when it keeps a decoder at work for too long; ErrBusy and any other
// error that we are.
func (m *Media) Probe(ctx context.Context, path string) (Info, error) {
	input, err := source(path)
	if err != nil {
		return Info{}, err
	}
	select {
	case m.probes <- struct{}{}:
		defer func() { <-m.probes }()
	case <-ctx.Done():
		return Info{}, ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	deadline := time.Now().Add(m.probeTimeout)

	// Starting a program costs more than its work here, so the first two run side by side.
	beginning := make(chan error, 1)
	go func() {
		beginning <- m.decodes(ctx, m.probeTimeout, "-t", seconds(looked), "-i", input)
	}()
	found, err := m.inspect(ctx, input, m.probeTimeout)
	if err != nil {
		cancel()
	}
	decoded := <-beginning
	if err != nil {
		return Info{}, refused(err)
	}
	info, err := found.info(path)
	if err != nil {
		return Info{}, err
	}
	if decoded != nil {
		return Info{}, fmt.Errorf("decode the first seconds: %w", refused(decoded))
	}
	if end := found.soundEnds(); info.Container == "mp4" && end > looked {
		err := m.decodes(ctx, time.Until(deadline), "-ss", seconds(end-lastLooked), "-i", input)
		if err != nil {
			return Info{}, fmt.Errorf("decode the last second: %w", refused(err))
		}
	}
	return info, nil
}

// refused makes a child's own failure, and a file that keeps it busy past its bounds, the file's fault.
func refused(err error) error {
	var (
		exit *exitError
		late *lateError
	)
	switch {
	case errors.As(err, &late) && late.starved():
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case errors.As(err, &exit) || errors.Is(err, ErrBounds):
		return fmt.Errorf("%w: %w", ErrNotMedia, err)
	}
	return err
}

// inspection is the part of ffprobe's answer that is read.
type inspection struct {
	Format struct {
		Name     string `json:"format_name"`
		Duration string `json:"duration"`
		Tags     struct {
			CreationTime string `json:"creation_time"`
			MajorBrand   string `json:"major_brand"`
		} `json:"tags"`
	} `json:"format"`
	Streams []struct {
		Kind        string `json:"codec_type"`
		Codec       string `json:"codec_name"`
		Duration    string `json:"duration"`
		Disposition struct {
			Cover int `json:"attached_pic"`
		} `json:"disposition"`
	} `json:"streams"`
}

func (m *Media) inspect(ctx context.Context, input string, timeout time.Duration) (inspection, error) {
	args := append([]string{"-hide_banner", "-loglevel", "error"}, reading()...)
	args = append(args,
		"-show_entries", "format=format_name,duration:format_tags=creation_time,major_brand:stream=codec_type,codec_name,duration:stream_disposition=attached_pic",
		"-of", "json", input)
	var output bytes.Buffer
	err := m.run(ctx, child{program: m.ffprobe, args: args, stdout: &output, maxOutput: 1 << 20, timeout: timeout})
	if err != nil {
		return inspection{}, err
	}
	var found inspection
	if err := json.Unmarshal(output.Bytes(), &found); err != nil {
		return inspection{}, fmt.Errorf("%w: read ffprobe's answer: %w", ErrNotMedia, err)
	}
	return found, nil
}

func (found inspection) info(path string) (Info, error) {
	var info Info
	for _, stream := range found.Streams {
		switch {
		case stream.Kind == "audio" && info.Codec == "":
			info.Codec = stream.Codec
			if info.Codec == "" {
				info.Codec = "unknown"
			}
		case stream.Kind == "video" && stream.Disposition.Cover == 0:
			info.HasVideo = true
		}
	}
	if info.Codec == "" {
		return Info{}, fmt.Errorf("%w: it has no sound", ErrNotMedia)
	}
	demuxer, _, _ := strings.Cut(found.Format.Name, ",")
	if demuxer == "matroska" && isWebM(path) {
		demuxer = "webm"
	}
	c, ok := containers[demuxer]
	if !ok {
		return Info{}, fmt.Errorf("%w: unknown container %q", ErrNotMedia, demuxer)
	}
	info.Container, info.MIME, info.Extension = c.name, c.audioMIME, c.audioExtension
	if info.HasVideo {
		info.MIME, info.Extension = c.videoMIME, c.videoExtension
		if strings.HasPrefix(found.Format.Tags.MajorBrand, "qt") {
			info.MIME, info.Extension = "video/quicktime", ".mov"
		}
	}
	info.Claimed = claimed(found.Format.Duration)
	if made, err := time.Parse(time.RFC3339Nano, found.Format.Tags.CreationTime); err == nil {
		info.CreatedAt = made.UTC()
	}
	return info, nil
}

// soundEnds is where the index says that the first audio stream ends; the pictures beside it may go on for longer.
func (found inspection) soundEnds() time.Duration {
	for _, stream := range found.Streams {
		if stream.Kind == "audio" {
			return claimed(stream.Duration)
		}
	}
	return 0
}

// claimed reads a length in seconds; 0 for what is none.
func claimed(text string) time.Duration {
	length, err := strconv.ParseFloat(text, 64)
	if err != nil || length <= 0 || length >= 1e8 {
		return 0
	}
	return time.Duration(length * float64(time.Second))
}

// isWebM reads the document type out of the first bytes: ffmpeg has one demuxer for WebM and Matroska.
func isWebM(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	var start [64]byte
	n, err := io.ReadFull(file, start[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false
	}
	return bytes.Contains(start[:n], []byte("webm"))
}

// decodes reports whether the chosen stretch of the first audio stream gives at least one sample.
func (m *Media) decodes(ctx context.Context, timeout time.Duration, input ...string) error {
	// A container may hold an hour between two points where it can be entered; what comes is bounded, not the stretch.
	samples, err := m.count(ctx, timeout, 64<<20, input...)
	if err != nil {
		return err
	}
	if samples == 0 {
		return fmt.Errorf("%w: nothing could be decoded", ErrNotMedia)
	}
	return nil
}
