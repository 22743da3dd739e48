package media_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stenometer/stenometer/media"
)

// The type is decided by content, whatever the name says.
func TestProbeNamesContent(t *testing.T) {
	t.Parallel()
	m := newMedia(t, media.Options{})
	ios := []string{"-c:a", "aac", "-f", "ipod", "-metadata", "creation_time=2025-03-04T05:06:07Z"}
	for _, c := range []struct {
		name                       string
		args                       []string
		container, mime, extension string
		video                      bool
	}{
		{"iOS m4a named .bin", all(tone("4"), ios), "mp4", "audio/mp4", ".m4a", false},
		{"aac in mp4", all(tone("4"), []string{"-c:a", "aac", "-f", "mp4"}), "mp4", "audio/mp4", ".m4a", false},
		{"fragmented mp4", all(tone("4"), []string{"-c:a", "aac", "-f", "mp4", "-movflags", "frag_keyframe+empty_moov"}), "mp4", "audio/mp4", ".m4a", false},
		{"webm with opus", all(tone("1"), []string{"-c:a", "libopus", "-f", "webm"}), "webm", "audio/webm", ".webm", false},
		{"live webm without a length", all(tone("1"), []string{"-c:a", "libopus", "-f", "webm", "-live", "1"}), "webm", "audio/webm", ".webm", false},
		{"matroska", all(tone("1"), []string{"-c:a", "libopus", "-f", "matroska"}), "matroska", "audio/x-matroska", ".mka", false},
		{"ogg", all(tone("1"), []string{"-c:a", "libvorbis", "-f", "ogg"}), "ogg", "audio/ogg", ".ogg", false},
		{"flac", all(tone("1"), []string{"-f", "flac"}), "flac", "audio/flac", ".flac", false},
		{"mp3", all(tone("1"), []string{"-f", "mp3"}), "mp3", "audio/mpeg", ".mp3", false},
		{"wav", all(tone("1"), []string{"-f", "wav"}), "wav", "audio/wav", ".wav", false},
		{"RF64 wav", all(tone("1"), []string{"-f", "wav", "-rf64", "always"}), "wav", "audio/wav", ".wav", false},
		{"aac", all(tone("1"), []string{"-c:a", "aac", "-f", "adts"}), "aac", "audio/aac", ".aac", false},
		{"aiff", all(tone("1"), []string{"-f", "aiff"}), "aiff", "audio/aiff", ".aiff", false},
		{"caf", all(tone("1"), []string{"-f", "caf"}), "caf", "audio/x-caf", ".caf", false},
		{"au", all(tone("1"), []string{"-f", "au"}), "au", "audio/basic", ".au", false},
		{"video with sound", all(picture("4"), tone("4"), []string{"-c:v", "mpeg4", "-c:a", "aac", "-f", "mp4"}), "mp4", "video/mp4", ".mp4", true},
		{"quicktime", all(picture("1"), tone("1"), []string{"-c:v", "mpeg4", "-c:a", "aac", "-f", "mov"}), "mp4", "video/quicktime", ".mov", true},
		{"avi", all(picture("1"), tone("1"), []string{"-c:v", "mpeg4", "-c:a", "mp2", "-f", "avi"}), "avi", "video/x-msvideo", ".avi", true},
		{"mpegts", all(tone("1"), []string{"-c:a", "aac", "-f", "mpegts"}), "mpegts", "video/mp2t", ".ts", false},
		{"wma", all(tone("1"), []string{"-c:a", "wmav2", "-f", "asf"}), "asf", "audio/x-ms-wma", ".wma", false},
		{"a cover is no video", all(tone("1"), []string{
			"-f", "lavfi", "-i", "color=red:size=32x32:duration=0.1:rate=10", "-map", "0", "-map", "1", "-c:v", "mjpeg", "-frames:v", "1",
			"-disposition:v", "attached_pic", "-f", "mp3",
		}), "mp3", "audio/mpeg", ".mp3", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			info, err := m.Probe(context.Background(), made(t, "upload.bin", c.args...))
			if err != nil {
				t.Fatal(err)
			}
			if info.Container != c.container || info.MIME != c.mime || info.Extension != c.extension || info.HasVideo != c.video {
				t.Errorf("got %+v, want %s %s %s video=%v", info, c.container, c.mime, c.extension, c.video)
			}
			if info.Codec == "" {
				t.Error("no codec")
			}
		})
	}
}

func TestProbeReadsCreationTime(t *testing.T) {
	t.Parallel()
	m := newMedia(t, media.Options{})
	path := made(t, "a.m4a", all(tone("1"), []string{"-c:a", "aac", "-metadata", "creation_time=2025-03-04T05:06:07Z"})...)
	info, err := m.Probe(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC); !info.CreatedAt.Equal(want) {
		t.Errorf("created at %v, want %v", info.CreatedAt, want)
	}
}

func TestProbeRefusesWhatIsNotMedia(t *testing.T) {
	t.Parallel()
	m := newMedia(t, media.Options{})
	mp4 := read(t, made(t, "a.m4a", all(tone("20"), []string{"-c:a", "aac", "-f", "mp4"})...))
	faststart := read(t, made(t, "a.m4a", all(tone("20"), []string{"-c:a", "aac", "-f", "mp4", "-movflags", "faststart"})...))
	short := read(t, made(t, "a.m4a", all(tone("5"), []string{"-c:a", "aac", "-f", "mp4", "-movflags", "faststart"})...))
	png := read(t, made(t, "a.png", "-f", "lavfi", "-i", "color=red:size=32x32", "-frames:v", "1"))
	silentFilm := read(t, made(t, "a.mp4", all(picture("1"), []string{"-c:v", "mpeg4", "-f", "mp4"})...))
	for name, content := range map[string][]byte{
		"empty.mp3":               {},
		"text.mp3":                []byte("Dear diary, today I made no recording at all.\n"),
		"picture.mp3":             png,
		"five bytes.webm":         {0x1A, 0x45, 0xDF, 0xA3, 0x01},
		"index cut off.m4a":       mp4[:len(mp4)-len(mp4)/20],
		"half of an mp4.m4a":      mp4[:len(mp4)/2],
		"last third missing.m4a":  short[:len(short)*2/3],
		"second half missing.m4a": faststart[:len(faststart)/2],
		"silent film.mp4":         silentFilm,
		"list.m3u8.m4a":           []byte("#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n"),
		"subtitles.m4a":           []byte("1\n00:00:00,000 --> 00:00:01,000\nHello\n"),
		"session.m4a":             []byte("v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 9999 RTP/AVP 0\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info, err := m.Probe(context.Background(), written(t, name, content))
			if !errors.Is(err, media.ErrNotMedia) {
				t.Errorf("got %+v, %v; want ErrNotMedia", info, err)
			}
		})
	}
}

// A header that lies about the length does not refuse the file, and the decoded length is the one that counts.
func TestHeaderThatClaimsAWrongLength(t *testing.T) {
	t.Parallel()
	m := newMedia(t, media.Options{})
	wav := read(t, made(t, "a.wav", all(tone("3"), []string{"-bitexact"})...))
	flac := read(t, made(t, "a.flac", tone("3")...))
	for name, content := range map[string][]byte{
		"claims hours":        patched(wav, 40, 0x7FFFFFF0),
		"claims the unknown":  patched(wav, 40, 0xFFFFFFFF),
		"flac claims an hour": longerFLAC(flac, 3600*16000),
	} {
		path := written(t, "a.wav", content)
		if _, err := m.Probe(context.Background(), path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		length, err := m.Duration(context.Background(), path)
		if err != nil || length < 2900*time.Millisecond || length > 3100*time.Millisecond {
			t.Errorf("%s: measured %v, %v; want 3s", name, length, err)
		}
	}
}

func TestProbeTakesOddNamesAsNames(t *testing.T) {
	t.Parallel()
	m := newMedia(t, media.Options{})
	sound := read(t, made(t, "a.mp3", tone("1")...))
	for _, name := range []string{"-i", "concat:a|b", "http:x", "a%03d.mp3", "pipe:0", "ä 会 🎙.mp3", "a\nb.mp3", "'quoted\".mp3"} {
		path := written(t, name, sound)
		if _, err := m.Probe(context.Background(), path); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// What is not a plain file is our own mistake, never the caller's.
func TestProbeOfNoFile(t *testing.T) {
	t.Parallel()
	m := newMedia(t, media.Options{})
	for _, path := range []string{"relative.mp3", t.TempDir(), filepath.Join(t.TempDir(), "absent")} {
		if _, err := m.Probe(context.Background(), path); err == nil || errors.Is(err, media.ErrNotMedia) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func patched(content []byte, at int, value uint32) []byte {
	content = append([]byte(nil), content...)
	binary.LittleEndian.PutUint32(content[at:], value)
	return content
}

// longerFLAC writes another number of samples into STREAMINFO: 36 bits that end at byte 26.
func longerFLAC(content []byte, samples uint32) []byte {
	content = append([]byte(nil), content...)
	content[21] &= 0xF0
	binary.BigEndian.PutUint32(content[22:], samples)
	return content
}
