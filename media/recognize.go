package media

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ErrNoRecognizer means that PocketSphinx or its English model is not installed.
var ErrNoRecognizer = errors.New("the embedded speech engine is not installed (Debian: pocketsphinx, pocketsphinx-en-us)")

// Word is one recognized word; times are from the start of the file.
type Word struct {
	Start, End time.Duration
	Text       string
}

// maxWords is more than anybody says in the longest file that the engine is given.
const maxWords = 100_000

func (m *Media) findSphinx(o Options) {
	model := o.SphinxModel
	if model == "" {
		model = "/usr/share/pocketsphinx/model/en-us"
	}
	program, err := lookUp(o.PocketSphinx, "pocketsphinx_batch")
	if err != nil {
		return
	}
	for _, name := range []string{"en-us", "en-us.lm.bin", "cmudict-en-us.dict"} {
		if _, err := os.Stat(filepath.Join(model, name)); err != nil {
			return
		}
	}
	m.sphinx, m.sphinxModel = program, model
}

// CanRecognize reports whether Recognize has what it needs.
func (m *Media) CanRecognize() bool { return m.sphinx != "" }

// Recognize runs the embedded engine over a WAV file of this package's format, at about a third of real time on one
// core. The file's folder must be writable: the engine's list and its answer pass through files there, which are
// removed. timeout bounds the wall clock.
func (m *Media) Recognize(ctx context.Context, wav string, timeout time.Duration) ([]Word, error) {
	if !m.CanRecognize() {
		return nil, ErrNoRecognizer
	}
	if _, err := source(wav); err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(wav), "sphinx-")
	if err != nil {
		return nil, fmt.Errorf("recognize: %w", err)
	}
	defer os.RemoveAll(scratch)
	// The list names the file without folder and extension, and white space separates its fields; so the name is ours.
	if err := os.Link(wav, filepath.Join(scratch, "audio.wav")); err != nil {
		return nil, fmt.Errorf("recognize: %w", err)
	}
	list, answer := filepath.Join(scratch, "list"), filepath.Join(scratch, "words.ctm")
	if err := os.WriteFile(list, []byte("audio\n"), 0o600); err != nil {
		return nil, fmt.Errorf("recognize: %w", err)
	}
	args := []string{
		"-adcin", "yes", "-adchdr", "44", "-cepdir", scratch, "-cepext", ".wav", "-ctl", list, "-ctm", answer,
		"-hmm", filepath.Join(m.sphinxModel, "en-us"), "-lm", filepath.Join(m.sphinxModel, "en-us.lm.bin"),
		"-dict", filepath.Join(m.sphinxModel, "cmudict-en-us.dict"), "-logfn", "/dev/null",
	}
	err = m.run(ctx, child{program: m.sphinx, args: args, maxOutput: 1 << 20, maxFile: 16 << 20, timeout: timeout})
	if err != nil {
		return nil, fmt.Errorf("recognize: %w", err)
	}
	file, err := os.Open(answer)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // the engine writes no answer when it heard no word
	}
	if err != nil {
		return nil, fmt.Errorf("recognize: %w", err)
	}
	defer file.Close()
	words, err := parseCTM(bufio.NewScanner(file))
	if err != nil {
		return nil, fmt.Errorf("recognize: %w", err)
	}
	return words, nil
}

// variant is the suffix with which the dictionary numbers pronunciations: "read(2)".
var variant = regexp.MustCompile(`\(\d+\)$`)

// parseCTM reads lines of "utterance channel start duration word confidence". Fillers such as <sil> and [NOISE] are
// left out, and lines that are something else.
func parseCTM(lines *bufio.Scanner) ([]Word, error) {
	var words []Word
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 || strings.HasPrefix(fields[4], "<") || strings.HasPrefix(fields[4], "[") || strings.HasPrefix(fields[4], "++") {
			continue
		}
		start, err1 := strconv.ParseFloat(fields[2], 64)
		length, err2 := strconv.ParseFloat(fields[3], 64)
		if err1 != nil || err2 != nil || !plausible(start) || !plausible(length) {
			continue
		}
		if len(words) == maxWords {
			return nil, fmt.Errorf("%w: more than %d words", ErrBounds, maxWords)
		}
		words = append(words, Word{
			Start: time.Duration(start * float64(time.Second)),
			End:   time.Duration((start + length) * float64(time.Second)),
			Text:  variant.ReplaceAllString(fields[4], ""),
		})
	}
	return words, lines.Err()
}

func plausible(seconds float64) bool {
	return !math.IsNaN(seconds) && seconds >= 0 && seconds < 1e6
}
