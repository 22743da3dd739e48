package recordings

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/speech"
)

// hearing is what a caller wishes who waits for what is said in a file.
type hearing struct {
	request speech.Request
	format  string
	named   bool // whether a model was
}

// hearingFormats are the forms that the answer can have; the first where nothing is said.
func hearingFormats() []string { return []string{"json", "text", "srt", "vtt", "verbose_json"} }

// readHearing reads the fields that are there. A file that follows them need not be read where one of them is refused.
func (s *Recordings) readHearing(fields form) (hearing, error) {
	asked := hearing{format: hearingFormats()[0]}
	for name, most := range map[string]int{"model": maxModel, "language": maxLanguage, "prompt": maxHints} {
		if err := problems.OfText(name, fields.text(name), most); err != nil {
			return hearing{}, err
		}
	}
	if format := fields.text("response_format"); format != "" {
		asked.format = format
	}
	if !slices.Contains(hearingFormats(), asked.format) {
		return hearing{}, problems.New(problems.InvalidParameter, "response_format must be one of %s.", strings.Join(hearingFormats(), ", ")).
			With("field", "response_format")
	}
	if err := refuseHearing(fields); err != nil {
		return hearing{}, err
	}
	asked.request.Language, asked.request.InitialPrompt = fields.text("language"), fields.text("prompt")
	model := fields.text("model")
	if asked.named = model != ""; !asked.named {
		return asked, nil
	}
	if names := s.SpeechModels(); !slices.Contains(names, model) {
		return hearing{}, problems.New(problems.ModelNotFound, "This server has no such model for recordings; it has %s.", strings.Join(names, ", ")).
			With("field", "model")
	}
	engine := s.Transcriber.Describe()
	if engine.Model != "" {
		asked.request.Model = model
	}
	if model == engine.Model && !engine.Capabilities.Timestamps && (asked.format == "srt" || asked.format == "vtt") {
		return hearing{}, noTimings() // before it is paid for
	}
	return asked, nil
}

// refuseHearing refuses what would be answered otherwise than it was asked.
func refuseHearing(fields form) error {
	if text := fields.text("temperature"); text != "" {
		if n, err := strconv.ParseFloat(text, 64); err != nil || !(n >= 0 && n <= 1) {
			return problems.New(problems.InvalidParameter, "temperature must be a number from 0 to 1.").With("field", "temperature")
		}
	}
	if stream := fields.text("stream"); stream != "" && stream != "false" {
		return problems.New(problems.InvalidParameter, "stream is not taken here: what is said in a file is told at once.").With("field", "stream")
	}
	const granularities = "timestamp_granularities[]"
	if asked := fields.text(granularities); asked != "" && asked != "segment" {
		return problems.New(problems.InvalidParameter, "%s must be segment: words have no times here.", granularities).With("field", granularities)
	}
	return nil
}

// complete refuses a form without what it must have.
func (h hearing) complete() error {
	if !h.named {
		return problems.New(problems.InvalidParameter, "model must be given; GET /v1/models lists those that there are.").With("field", "model")
	}
	return nil
}
