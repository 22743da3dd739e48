// Package media is the only starter of child processes. What strangers upload is read by ffmpeg, ffprobe and the
// embedded speech engine, never by this program, and each of them runs bounded: absolute program path, empty
// environment, listed container formats, files only, no network, and limits on memory, processor time, open files,
// file size, output and wall clock. A child never outlives its call, nor this process. Linux only.
package media

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// Options says where the programs are and how much a child may use. Zero values take the defaults.
type Options struct {
	// FFmpeg, FFprobe, PocketSphinx and Prlimit name the programs; empty looks each up in PATH, once.
	FFmpeg, FFprobe, PocketSphinx, Prlimit string
	// SphinxModel is the folder of the embedded engine's English model. Default /usr/share/pocketsphinx/model/en-us.
	SphinxModel string
	// MaxMemory bounds a child's address space in bytes. Default 1 GiB.
	MaxMemory int64
	// MaxLength is the longest audio that is measured or converted. Default 24 h.
	MaxLength time.Duration
	// ProbeTimeout bounds one Probe; a file that takes longer is refused. Default and maximum 5 s.
	ProbeTimeout time.Duration
	// WorkTimeout bounds the wall clock of one Duration, Convert or Pause. Default 15 min.
	WorkTimeout time.Duration
	// Room tells how many bytes converted files may still take on the disk; nil bounds each by its length alone.
	Room func() (int64, error)
	// Logger is told once when children cannot get a network namespace of their own. Default slog.Default().
	Logger *slog.Logger
}

// Media runs the programs. It is safe for concurrent use and holds nothing that needs closing.
type Media struct {
	ffmpeg, ffprobe, prlimit string
	sphinx, sphinxModel      string
	maxMemory                int64
	maxLength                time.Duration
	probeTimeout             time.Duration
	workTimeout              time.Duration
	room                     func() (int64, error)
	isolation                isolation
	// probes holds a place for each Probe at work: its clock must measure the file, not the crowd of other uploads.
	probes chan struct{}
}

// New looks up the programs and tries once whether the kernel gives a child a network namespace. A missing ffmpeg,
// ffprobe or prlimit is an error that names it; a missing PocketSphinx is one only for those who call Recognize.
func New(o Options) (*Media, error) {
	m := &Media{
		maxMemory:    positive(o.MaxMemory, 1<<30),
		maxLength:    positive(o.MaxLength, 24*time.Hour),
		probeTimeout: min(positive(o.ProbeTimeout, 5*time.Second), 5*time.Second),
		workTimeout:  positive(o.WorkTimeout, 15*time.Minute),
		room:         o.Room,
		probes:       make(chan struct{}, max(2, runtime.NumCPU())),
	}
	for _, program := range []struct {
		path  *string
		given string
		name  string
	}{
		{&m.ffmpeg, o.FFmpeg, "ffmpeg"},
		{&m.ffprobe, o.FFprobe, "ffprobe"},
		{&m.prlimit, o.Prlimit, "prlimit"},
	} {
		path, err := lookUp(program.given, program.name)
		if err != nil {
			return nil, fmt.Errorf("look up %s, which every upload needs: %w", program.name, err)
		}
		*program.path = path
	}
	m.findSphinx(o)

	logger := o.Logger
	if logger == nil {
		logger = slog.Default()
	}
	m.isolation = m.findIsolation(context.Background(), logger)
	return m, nil
}

// MaxLength is the longest audio that Duration and Convert take.
func (m *Media) MaxLength() time.Duration { return m.maxLength }

func lookUp(given, name string) (string, error) {
	if given == "" {
		given = name
	}
	path, err := exec.LookPath(given)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// source is how a file is named to ffmpeg: with its protocol and an absolute path, so that no name can be read as an
// option or as another protocol.
func source(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("media file %q: the path is not absolute", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("media file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("media file %q: not a regular file", path)
	}
	return "file:" + path, nil
}

func positive[T int64 | time.Duration](value, otherwise T) T {
	if value <= 0 {
		return otherwise
	}
	return value
}
