package llm

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	openAIBase   = "https://api.openai.com/v1"
	defaultModel = "gpt-4o-mini"
)

// Options is what the configuration says about the text model.
type Options struct {
	// BaseURL, APIKey and Model are those of an OpenAI-compatible server. Without any of the three the embedded engine
	// answers.
	BaseURL, APIKey, Model string
	// Timeout bounds one call. Default 2 min.
	Timeout time.Duration
	// Client reaches the operator's own services. Required for all but the embedded engine.
	Client *http.Client
	// Now reads the clock for Retry-After dates. Default time.Now.
	Now func() time.Time
}

// New makes the engine that the configuration asks for.
func New(o Options) (Engine, error) {
	o.BaseURL, o.Model = address(o.BaseURL), strings.TrimSpace(o.Model)
	if o.BaseURL == "" && o.APIKey == "" && o.Model == "" {
		return newEmbedded(), nil
	}
	if o.Client == nil {
		return nil, errors.New("text engine: no HTTP client was given")
	}
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Model == "" {
		o.Model = defaultModel
	}
	if o.BaseURL == "" {
		if o.APIKey == "" {
			return nil, errors.New("TEXT_MODEL_API_KEY is empty: OpenAI needs one; for a server of your own set TEXT_MODEL_BASE_URL")
		}
		o.BaseURL = openAIBase
	}
	if err := checkAddress(o.BaseURL); err != nil {
		return nil, err
	}
	return newOpenAI(o), nil
}

// address cuts a comment behind "#", as env files carry them, and the slash at the end.
func address(written string) string {
	written, _, _ = strings.Cut(written, "#")
	return strings.TrimRight(strings.TrimSpace(written), "/")
}

// checkAddress does not repeat the address: it may hold a password.
func checkAddress(base string) error {
	parsed, err := url.Parse(base)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" || parsed.RawQuery != "" {
		return errors.New("TEXT_MODEL_BASE_URL must be an http:// or https:// address without a query")
	}
	return nil
}
