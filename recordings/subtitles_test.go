package recordings

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/problems"
)

func said(start, end float64, speaker, text string) Segment {
	segment := Segment{Text: text, Start: &start, End: &end}
	if speaker != "" {
		segment.Speaker = &speaker
	}
	return segment
}

func transcriptOf(segments ...Segment) Transcript {
	for i := range segments {
		segments[i].Index = i
	}
	return Transcript{Kind: Segmented, Segments: segments}
}

// H-065, H-066: hours of at least two digits, carries on rounding, comma in one and dot in the other.
func TestSubtitleClocks(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[float64]string{
		0:                 "00:00:00,000",
		2.3:               "00:00:02,300",
		59.9995:           "00:01:00,000",
		59.9994:           "00:00:59,999",
		3599.999:          "00:59:59,999",
		3599.9996:         "01:00:00,000",
		11_100:            "03:05:00,000",
		36_000.5:          "10:00:00,500",
		100*3600 + 61.001: "100:01:01,001",
		1000 * 3600:       "1000:00:00,000",
	} {
		if got := clock(milliseconds(seconds), ','); got != want {
			t.Errorf("%v s is written %s, want %s", seconds, got, want)
		}
	}
}

func TestSubtitleForms(t *testing.T) {
	t.Parallel()
	transcript := transcriptOf(
		said(0, 2.5, "Alice", "Hello"),
		said(2.3, 3.999, "B <i>&\nob", "a --> b\n\n<b>&amp;"),
		said(4, 4, "", "same moment"),
		said(5, 6, "", "  "),
	)
	srt, err := transcript.SRT()
	if err != nil {
		t.Fatal(err)
	}
	wantSRT := "1\n00:00:00,000 --> 00:00:02,500\nAlice: Hello\n\n" +
		"2\n00:00:02,300 --> 00:00:03,999\nB <i>& ob: a -- > b\n<b>&amp;\n\n" +
		"3\n00:00:04,000 --> 00:00:04,001\nsame moment\n"
	if srt != wantSRT {
		t.Errorf("SRT is\n%s\nwant\n%s", srt, wantSRT)
	}
	vtt, err := transcript.VTT()
	if err != nil {
		t.Fatal(err)
	}
	wantVTT := "WEBVTT\n\n00:00:00.000 --> 00:00:02.500\n<v Alice>Hello\n\n" +
		"00:00:02.300 --> 00:00:03.999\n<v B &lt;i&gt;&amp; ob>a --&gt; b\n&lt;b&gt;&amp;amp;\n\n" +
		"00:00:04.000 --> 00:00:04.001\nsame moment\n"
	if vtt != wantVTT {
		t.Errorf("VTT is\n%s\nwant\n%s", vtt, wantVTT)
	}
	if text := transcript.PlainText(); !strings.HasPrefix(text, "[Alice]: Hello\n[B <i>&\nob]: a --> b") {
		t.Errorf("text is %q", text)
	}
}

func TestSubtitlesNeedTimes(t *testing.T) {
	t.Parallel()
	for name, transcript := range map[string]Transcript{
		"plain":   {Kind: Plain, Raw: "words"},
		"no time": transcriptOf(Segment{Text: "words"}),
	} {
		if _, err := transcript.SRT(); kindOf(t, err) != problems.NoTimings {
			t.Errorf("%s: SRT gives %v, want no_timings", name, err)
		}
		if _, err := transcript.VTT(); kindOf(t, err) != problems.NoTimings {
			t.Errorf("%s: VTT gives %v, want no_timings", name, err)
		}
	}
	empty := transcriptOf()
	if srt, err := empty.SRT(); err != nil || srt != "" {
		t.Errorf("SRT of nothing is %q, %v", srt, err)
	}
	if vtt, err := empty.VTT(); err != nil || vtt != "WEBVTT\n" {
		t.Errorf("VTT of nothing is %q, %v", vtt, err)
	}
}

// H-065, H-066: both forms are read back by a parser that is not ours: every cue, at its time, in its order, for a
// recording of more than three hours, and of more than a hundred.
func TestSubtitlesAreReadBackByFFprobe(t *testing.T) {
	t.Parallel()
	ffprobe, err := exec.LookPath("ffprobe")
	if err != nil {
		t.Skip("ffprobe is not installed")
	}
	var segments []Segment
	for start := 0.0; start < 11_100; start += 373.3337 {
		segments = append(segments, said(start, start+1.5, "Speaker & <Co>", "line "+strconv.Itoa(len(segments))+" --> on\nsecond line"))
	}
	segments = append(segments, said(59.9995+11_100, 11_162, "", "carried"), said(36_000.5, 36_001, "", "late"),
		said(100*3600+61.001, 100*3600+62, "", "very late"))
	transcript := transcriptOf(segments...)
	for extension, render := range map[string]func() (string, error){"srt": transcript.SRT, "vtt": transcript.VTT} {
		t.Run(extension, func(t *testing.T) {
			content, err := render()
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "subtitles."+extension)
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			output, err := exec.CommandContext(context.Background(), ffprobe, "-v", "error", "-of", "json", "-show_packets", path).Output()
			if err != nil {
				t.Fatalf("ffprobe refuses the %s: %v", extension, err)
			}
			var read struct {
				Packets []struct {
					Start    float64 `json:"pts_time,string"`
					Duration float64 `json:"duration_time,string"`
				} `json:"packets"`
			}
			if err := json.Unmarshal(output, &read); err != nil {
				t.Fatal(err)
			}
			if len(read.Packets) != len(segments) {
				t.Fatalf("%d cues were read back of %d", len(read.Packets), len(segments))
			}
			for i, packet := range read.Packets {
				if math.Abs(packet.Start-*segments[i].Start) > 0.0006 || math.Abs(packet.Start+packet.Duration-*segments[i].End) > 0.0011 {
					t.Errorf("cue %d was read back at %v for %v, want %v to %v", i, packet.Start, packet.Duration, *segments[i].Start, *segments[i].End)
				}
			}
		})
	}
}

func TestWindows(t *testing.T) {
	t.Parallel()
	transcript := transcriptOf(said(0, 10, "", "a"), said(10, 20, "", "b"), said(15, 30, "", "c"), Segment{Text: "no time"}, said(40, 50, "", "d"))
	at := func(seconds float64) *float64 { return &seconds }
	for name, test := range map[string]struct {
		window Window
		want   string
		next   *float64
	}{
		"all":           {Window{}, "a b c no time d", nil},
		"from":          {Window{Start: at(20)}, "b c d", nil},
		"until":         {Window{End: at(12)}, "a b", nil},
		"between":       {Window{Start: at(31), End: at(39)}, "", nil},
		"overlapping":   {Window{Start: at(25), End: at(40)}, "c d", nil},
		"the first two": {Window{Max: 2}, "a b", at(15)},
		"cut at none":   {Window{Max: 3}, "a b c", nil}, // the next has no time
		"exactly all":   {Window{Max: 5}, "a b c no time d", nil},
	} {
		segments, next := transcript.Within(test.window)
		var texts []string
		for _, segment := range segments {
			texts = append(texts, segment.Text)
			if transcript.Segments[segment.Index].Text != segment.Text {
				t.Errorf("%s: segment %q lost its index", name, segment.Text)
			}
		}
		if got := strings.Join(texts, " "); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
		if (next == nil) != (test.next == nil) || next != nil && *next != *test.next {
			t.Errorf("%s: next is %v, want %v", name, next, test.next)
		}
	}
}
