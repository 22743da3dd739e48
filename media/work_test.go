package media_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stenometer/stenometer/media"
)

func TestDurationIsDecoded(t *testing.T) {
	t.Parallel()
	m := newMedia(t, media.Options{MaxLength: 10 * time.Second})
	for name, args := range map[string][]string{
		"a.wav":  tone("7.5"),
		"a.mp3":  tone("7.5"),
		"a.m4a":  all(tone("7.5"), []string{"-c:a", "aac"}),
		"a.webm": all(tone("7.5"), []string{"-c:a", "libopus", "-live", "1"}),
		"a.mp4":  all(picture("7.5"), tone("7.5"), []string{"-c:v", "mpeg4", "-c:a", "aac"}),
	} {
		length, err := m.Duration(context.Background(), made(t, name, args...))
		if err != nil || math.Abs(length.Seconds()-7.5) > 0.2 {
			t.Errorf("%s: %v, %v; want 7.5s", name, length, err)
		}
	}
	if _, err := m.Duration(context.Background(), made(t, "long.wav", tone("12")...)); !errors.Is(err, media.ErrTooLong) {
		t.Errorf("12 s where 10 are allowed: %v, want ErrTooLong", err)
	}
}

// Parts cut out of FLAC, put together again, are the whole: no sample lost, none doubled.
func TestStretchesOfFLACAreExact(t *testing.T) {
	t.Parallel()
	m := newMedia(t, media.Options{})
	ctx := context.Background()
	source := made(t, "a.mp3", "-f", "lavfi", "-i", "anoisesrc=sample_rate=44100:duration=30:seed=7:amplitude=0.3")
	dir := t.TempDir()
	whole, wav := filepath.Join(dir, "whole.flac"), filepath.Join(dir, "whole.wav")
	if err := m.Convert(ctx, source, whole, media.FLAC(), media.Stretch{}); err != nil {
		t.Fatal(err)
	}
	if err := m.Convert(ctx, whole, wav, media.WAV(), media.Stretch{}); err != nil {
		t.Fatal(err)
	}
	cuts := []time.Duration{0, 9_990 * time.Millisecond, 17_310 * time.Millisecond, 24 * time.Second, time.Minute}
	var joined []byte
	for i := range cuts[1:] {
		part := filepath.Join(dir, "part.wav")
		if err := m.Convert(ctx, whole, part, media.WAV(), media.Stretch{Start: cuts[i], Length: cuts[i+1] - cuts[i]}); err != nil {
			t.Fatal(err)
		}
		joined = append(joined, read(t, part)[44:]...)
		os.Remove(part)
	}
	if want := read(t, wav)[44:]; !bytes.Equal(joined, want) {
		t.Errorf("the parts have %d bytes, the whole %d, or they differ", len(joined), len(want))
	}
}

func TestConvertLeavesNothingBehindWhenItFails(t *testing.T) {
	t.Parallel()
	m := newMedia(t, media.Options{})
	dst := filepath.Join(t.TempDir(), "out.mp3")
	if err := m.Convert(context.Background(), written(t, "a.mp3", []byte("no sound")), dst, media.MP3(), media.Stretch{}); err == nil {
		t.Fatal("text was converted")
	}
	if _, err := os.Stat(dst); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	if err := m.Convert(context.Background(), made(t, "a.wav", tone("1")...), "/dev/null", media.MP3(), media.Stretch{}); err == nil {
		t.Error("an existing file was overwritten")
	}
}

// What is reserved on the disk stays free: a conversion takes the room there is, and no more.
func TestConvertStaysWithinTheRoom(t *testing.T) {
	t.Parallel()
	src := made(t, "tone.wav", "-f", "lavfi", "-i", "sine=duration=20", "-ar", "16000", "-ac", "1")
	for room, fits := range map[int64]bool{-1: false, 0: false, 100_000: false, 1 << 20: true} {
		m := newMedia(t, media.Options{Room: func() (int64, error) { return room, nil }})
		dst := filepath.Join(t.TempDir(), "out.wav")
		err := m.Convert(t.Context(), src, dst, media.WAV(), media.Stretch{})
		_, stat := os.Stat(dst)
		if fits && (err != nil || stat != nil) {
			t.Errorf("with room for %d bytes: %v, %v", room, err, stat)
		}
		if !fits && (!errors.Is(err, syscall.ENOSPC) || !errors.Is(stat, os.ErrNotExist)) {
			t.Errorf("with room for %d bytes: %v, and the file: %v", room, err, stat)
		}
	}
}

func TestConvertedMP3KeepsItsPromise(t *testing.T) {
	t.Parallel()
	m := newMedia(t, media.Options{})
	dst := filepath.Join(t.TempDir(), "out.mp3")
	if err := m.Convert(context.Background(), made(t, "a.wav", tone("20")...), dst, media.MP3(), media.Stretch{}); err != nil {
		t.Fatal(err)
	}
	stat, err := os.Stat(dst)
	if err != nil {
		t.Fatal(err)
	}
	if most := 21 * media.MP3().BytesPerSecond; stat.Size() > most {
		t.Errorf("20 s took %d bytes, more than %d", stat.Size(), most)
	}
	if stat.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", stat.Mode())
	}
}

// The cut falls into the gap between two sounds, in clean and in noisy audio alike.
func TestPauseFindsTheQuietPlace(t *testing.T) {
	t.Parallel()
	m := newMedia(t, media.Options{})
	for name, noise := range map[string]string{"clean": "0", "noisy": "0.02"} {
		path := made(t, name+".flac", "-f", "lavfi", "-i",
			"aevalsrc='(0.5*sin(440*2*PI*t))*(lt(t,6)+gt(t,6.5))+"+noise+"*(random(0)-0.5)':s=16000:d=10")
		at, err := m.Pause(context.Background(), path, 3*time.Second, 9*time.Second)
		if err != nil || at < 6100*time.Millisecond || at > 6400*time.Millisecond {
			t.Errorf("%s: %v, %v; want within 6.0-6.5 s", name, at, err)
		}
	}
	path := made(t, "short.flac", tone("1")...)
	if at, err := m.Pause(context.Background(), path, 800*time.Millisecond, 900*time.Millisecond); err != nil || at != 900*time.Millisecond {
		t.Errorf("too short to choose: %v, %v; want the end of the stretch", at, err)
	}
}
