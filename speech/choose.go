package speech

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/stenometer/stenometer/media"
)

// The connectors that TRANSCRIPTION_CONNECTOR may name.
const (
	Whisper         = "openai_whisper"
	GPT4oTranscribe = "openai_transcribe"
	ASREndpoint     = "asr_endpoint"
	Embedded        = "embedded"
)

const openAIBase = "https://api.openai.com/v1"

// Options is what the configuration says about speech.
type Options struct {
	// Connector names one outright; empty lets the other values decide.
	Connector string
	// BaseURL, APIKey and Model are those of an OpenAI-compatible service.
	BaseURL, APIKey, Model string
	// ASRBaseURL is the root of a whisper-asr-webservice or WhisperX service; ASRDiarize asks it for speakers.
	ASRBaseURL string
	ASRDiarize bool
	// MaxBytes and MaxLength lower or raise what the engine states for one call; 0 keeps it.
	MaxBytes  int64
	MaxLength time.Duration
	// Timeout bounds one call. Default 30 min.
	Timeout time.Duration
	// Client reaches the operator's own services. Required for all but the embedded engine.
	Client *http.Client
	// Media runs the embedded engine. Required for it.
	Media *media.Media
	// Now reads the clock for Retry-After dates. Default time.Now.
	Now func() time.Time
}

// New makes the engine that the configuration asks for: the connector that is named; else the ASR endpoint when it has
// an address; else, by the model, one of the two OpenAI forms; and the embedded engine when nothing is configured.
func New(o Options) (Engine, error) {
	o.BaseURL, o.ASRBaseURL, o.Model = address(o.BaseURL), address(o.ASRBaseURL), strings.TrimSpace(o.Model)
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	connector := chosen(o)
	if connector != Embedded && o.Client == nil {
		return nil, errors.New("speech engine: no HTTP client was given")
	}
	switch connector {
	case Embedded:
		return newEmbedded(o)
	case ASREndpoint:
		return newASR(o)
	case Whisper, GPT4oTranscribe:
		return newOpenAI(o, connector)
	}
	return nil, fmt.Errorf("TRANSCRIPTION_CONNECTOR is %q; allowed are %s, %s, %s and %s",
		o.Connector, Whisper, GPT4oTranscribe, ASREndpoint, Embedded)
}

func chosen(o Options) string {
	switch {
	case o.Connector != "":
		return strings.ToLower(strings.TrimSpace(o.Connector))
	case o.ASRBaseURL != "":
		return ASREndpoint
	case o.BaseURL == "" && o.APIKey == "" && o.Model == "":
		return Embedded
	case strings.Contains(o.Model, "gpt-4o"):
		return GPT4oTranscribe
	}
	return Whisper
}

// address cuts a comment behind "#", as env files carry them, and the slash at the end.
func address(written string) string {
	written, _, _ = strings.Cut(written, "#")
	return strings.TrimRight(strings.TrimSpace(written), "/")
}

// checkAddress does not repeat the address: it may hold a password.
func checkAddress(variable, base string) error {
	parsed, err := url.Parse(base)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" || parsed.RawQuery != "" {
		return fmt.Errorf("%s must be an http:// or https:// address without a query", variable)
	}
	return nil
}
