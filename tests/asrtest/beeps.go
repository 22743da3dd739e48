package asrtest

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stenometer/stenometer/media"
)

// Beeps are speech that can be checked exactly: word n is a tone of its own pitch, so that a service which hears pitch
// can tell which words reached it, when, and how often.
const (
	beepRate   = 16000
	beepLength = 600 * time.Millisecond
	lowest     = 400.0
	step       = 6.0
)

// WriteBeeps makes a WAV file of count beeps, one every interval (at least 2 s), the first after half an interval.
func WriteBeeps(path string, count int, every time.Duration) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closing := file.Close(); err == nil {
			err = closing
		}
	}()
	out := bufio.NewWriterSize(file, 1<<20)
	samples := int(every.Seconds() * beepRate)
	if err := wavHeader(out, count*samples); err != nil {
		return err
	}
	period := make([]byte, samples*2)
	for n := range count {
		first := samples / 2
		pitch := lowest + step*float64(n)
		for i := range samples {
			value := 0.0
			if at := float64(i-first) / beepRate; at >= 0 && at < beepLength.Seconds() {
				value = 12000 * math.Sin(2*math.Pi*pitch*at)
			}
			binary.LittleEndian.PutUint16(period[2*i:], uint16(int16(value)))
		}
		if _, err := out.Write(period); err != nil {
			return err
		}
	}
	return out.Flush()
}

func wavHeader(out *bufio.Writer, samples int) error {
	bytes := uint32(samples * 2)
	header := []any{
		[]byte("RIFF"), bytes + 36, []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1),
		uint32(beepRate), uint32(beepRate * 2), uint16(2), uint16(16), []byte("data"), bytes,
	}
	for _, field := range header {
		if err := binary.Write(out, binary.LittleEndian, field); err != nil {
			return err
		}
	}
	return nil
}

// Beep is what word n is called in an answer.
func Beep(n int) string { return fmt.Sprintf("word-%d", n) }

// HearsBeeps answers each call with the beeps that are in its audio, with their times.
func (s *Server) HearsBeeps() func(Call) Reply {
	return func(call Call) Reply {
		heard, err := s.heard(call)
		if err != nil {
			return Fails(http.StatusBadRequest)
		}
		return Segments(heard...)
	}
}

// Hears reports whether beep n is in a call's audio.
func (s *Server) Hears(call Call, n int) bool {
	heard, err := s.heard(call)
	return err == nil && slices.ContainsFunc(heard, func(segment Segment) bool { return segment.Text == Beep(n) })
}

func (s *Server) heard(call Call) ([]Segment, error) {
	dir, err := os.MkdirTemp(s.dir, "heard-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	wav := filepath.Join(dir, "audio.wav")
	if err := s.media.Convert(context.Background(), call.File, wav, media.WAV(), media.Stretch{}); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(wav)
	if err != nil {
		return nil, err
	}
	return beepsIn(content[44:]), nil
}

// beepsIn finds the loud stretches and tells each one's pitch by its rises through zero, leaving out the edges, which
// compression blurs.
func beepsIn(pcm []byte) []Segment {
	const edge, quiet = 0.1, beepRate / 10
	var (
		found       []Segment
		rises       []float64
		start, last int
		loud        bool
		before      float64
	)
	for at := range len(pcm) / 2 {
		value := float64(int16(binary.LittleEndian.Uint16(pcm[2*at:])))
		if math.Abs(value) > 3000 {
			if !loud {
				loud, start, rises = true, at, rises[:0]
			}
			last = at
		}
		if loud && before < 0 && value >= 0 {
			rises = append(rises, float64(at)-value/(value-before))
		}
		before = value
		if loud && at-last > quiet {
			loud = false
			from, to := float64(start)+edge*beepRate, float64(last)-edge*beepRate
			if n, ok := wordOf(rises, from, to); ok {
				found = append(found, Segment{Start: float64(start) / beepRate, End: float64(last) / beepRate, Text: Beep(n)})
			}
		}
	}
	return found
}

// wordOf is the beep whose pitch has these rises through zero, given in samples, between from and to.
func wordOf(rises []float64, from, to float64) (int, bool) {
	var kept []float64
	for _, rise := range rises {
		if rise >= from && rise <= to {
			kept = append(kept, rise)
		}
	}
	if len(kept) < 10 {
		return 0, false
	}
	pitch := float64(len(kept)-1) * beepRate / (kept[len(kept)-1] - kept[0])
	return int(math.Round((pitch - lowest) / step)), true
}
