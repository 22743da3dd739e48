package llm

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/providers"
)

const (
	// maxAnswer bounds what is read of an answer: the longest that a model writes fits many times.
	maxAnswer = 8 << 20
	// maxRefusal bounds what is read of a provider's error.
	maxRefusal = 64 << 10
)

// openAI speaks POST {base}/chat/completions: OpenAI's own models and any compatible server.
type openAI struct {
	completions openai.ChatCompletionService
	description Description
	timeout     time.Duration
	// patient is the client without a bound on the whole of a call, which would cut off a model that still talks.
	patient *http.Client
	now     func() time.Time
	// reasons is true of OpenAI's own models that think first: their cap has another name, and they take no temperature.
	reasons bool
}

// newOpenAI makes the service and not the library's whole client, which would read a key, an organization and an
// address from the environment. The HTTP client is copied so as never to follow a redirect: the key and the text go to
// the configured address and nowhere else. The library makes one attempt: each further one has to be held and settled.
func newOpenAI(o Options) *openAI {
	client := *o.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	patient := client
	patient.Timeout = 0
	options := []option.RequestOption{
		option.WithBaseURL(o.BaseURL), option.WithHTTPClient(&client), option.WithMaxRetries(0),
	}
	if o.APIKey != "" {
		options = append(options, option.WithAPIKey(o.APIKey))
	}
	provider := outbound.ProviderOf(o.BaseURL)
	return &openAI{
		completions: openai.NewChatCompletionService(options...),
		description: Description{Engine: budgets.Engine{Provider: provider, Model: o.Model}},
		timeout:     o.Timeout, patient: &patient, now: o.Now,
		reasons: provider == "openai" && reasons(o.Model),
	}
}

// named is the same service with another model.
func (e *openAI) named(model string) Engine {
	other := *e
	other.description.Model = model
	other.reasons = e.description.Provider == "openai" && reasons(model)
	return &other
}

// reasons recognizes the families by name: gpt-5 and its kin, and o1, o3, o4-mini...
func reasons(model string) bool {
	return strings.HasPrefix(model, "gpt-5") || len(model) > 1 && model[0] == 'o' && '0' <= model[1] && model[1] <= '9'
}

func (e *openAI) Describe() Description { return e.description }

// Complete asks once. What it returns beside an error is what can be told of the cost: reported usage, and as Text
// whatever of an answer came.
func (e *openAI) Complete(ctx context.Context, request Request) (Completion, error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	c := call{engine: e}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { c.connected.Store(true) }})
	var body []byte // as carry keeps it: the library's own types would take a count that is missing for 0
	_, err := e.completions.New(ctx, e.params(request), option.WithMiddleware(c.carry), option.WithResponseBodyInto(&body))
	if err != nil {
		return Completion{Text: string(c.body)}, c.failure(ctx, err)
	}
	return decode(c.body)
}

// call is one request on its way.
type call struct {
	engine    *openAI
	connected atomic.Bool
	// body is what came of the answer.
	body []byte
}

// carry stands between the library and the network: nothing that a provider sends gets to the library unbounded, and no
// refusal gets to it at all.
func (c *call) carry(request *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	response, err := next(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		said, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
		return nil, c.engine.refusal(response, said)
	}
	c.body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(c.body) > maxAnswer {
		return nil, unreadable("is too large")
	}
	response.Body = io.NopCloser(bytes.NewReader(c.body))
	return response, nil
}

// refusal turns a status that is no success into our words. Of what the provider said only one well-known code is read.
func (e *openAI) refusal(response *http.Response, said []byte) *providers.Error {
	status := response.StatusCode
	var failure *providers.Error
	switch {
	case status == http.StatusTooManyRequests && outbound.OutOfCredit(said):
		return providers.Permanent(providers.Unpaid, status, "The text model's service says that its account has no credit left")
	case status == http.StatusTooManyRequests:
		failure = providers.Retryable(providers.RateLimited, status, "The text model's service is receiving too many requests")
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		failure = providers.Retryable(providers.TimedOut, status, "The text model took too long")
	case status >= 500:
		failure = providers.Retryable(providers.ServiceFault, status, "The text model's service failed")
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return providers.Permanent(providers.Unauthorized, status, "The text model's service refused the configured key")
	case status == http.StatusPaymentRequired:
		return providers.Permanent(providers.Unpaid, status, "The text model's service asks for payment")
	case status == http.StatusNotFound:
		return providers.Permanent(providers.WrongModel, status, "The text model's service does not know the configured model or address")
	case status == http.StatusRequestEntityTooLarge:
		return providers.Permanent(providers.TooLarge, status, "The text model takes no text of this length")
	case status >= 400:
		return providers.Permanent(providers.Refused, status, "The text model's service refused the request")
	default:
		return providers.Permanent(providers.Unreachable, status, "The text model's service answered with a redirect, which is not followed")
	}
	failure.RetryAfter = outbound.RetryAfter(response.Header, e.now())
	return failure
}

// failure tells why no whole answer came. The transport's own error names the address and is let go.
func (c *call) failure(ctx context.Context, err error) error {
	var (
		known       *providers.Error
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
		network     net.Error
		failure     *providers.Error
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(ctx.Err(), context.Canceled) && !c.connected.Load():
		return fmt.Errorf("%w: %w", errUnsent, context.Canceled)
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Canceled
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		failure = providers.Retryable(providers.TimedOut, 0, "The text model did not answer within "+c.engine.timeout.String())
	case errors.As(err, &certificate):
		failure = providers.Retryable(providers.Unreachable, 0, "The certificate of the text model's service was not accepted")
	case errors.As(err, &name):
		failure = providers.Retryable(providers.Unreachable, 0, "The name of the text model's service could not be resolved")
	case errors.Is(err, syscall.ECONNREFUSED):
		failure = providers.Retryable(providers.Unreachable, 0, "The text model's service refused the connection")
	case errors.As(err, &network) && network.Timeout():
		failure = providers.Retryable(providers.TimedOut, 0, "The text model took too long")
	default:
		failure = providers.Retryable(providers.Unreachable, 0, "The connection to the text model's service was lost")
	}
	failure.Unsent = !c.connected.Load()
	return failure
}
