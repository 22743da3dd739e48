package speech

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/providers"
)

const (
	// maxAnswer bounds what is read of an engine's answer: a day of speech with a time for every word fits.
	maxAnswer = 32 << 20
	// maxRefusal bounds what is read of an engine's error.
	maxRefusal = 64 << 10
)

// caller posts files to one service.
type caller struct {
	client  *http.Client
	timeout time.Duration
	// key is sent as a Bearer token when there is one.
	key string
	now func() time.Time
}

// newCaller copies the client so as never to follow a redirect: the key and the recording go to the configured address
// and nowhere else.
func newCaller(o Options, key string) caller {
	client := *o.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return caller{client: &client, timeout: o.Timeout, key: key, now: o.Now}
}

// upload is one multipart form: fields in order, then the file, which is read from disk while it is sent.
type upload struct {
	url    string
	fields [][2]string
	// part is the name of the file's field.
	part  string
	audio Audio
}

// post sends the form and returns the body of a 2xx answer.
func (c caller) post(ctx context.Context, u upload) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	request, err := c.request(traced, u)
	if err != nil {
		return nil, unsent{err}
	}
	response, err := c.client.Do(request)
	if err != nil && !connected.Load() {
		return nil, unsent{c.disconnected(ctx, err)}
	}
	if err != nil {
		return nil, c.disconnected(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		said, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
		return nil, c.refusal(response, said)
	}
	body, err := outbound.ReadAll(response.Body, maxAnswer)
	if errors.Is(err, outbound.ErrTooLarge) {
		return nil, providers.Permanent(providers.Unreadable, 0, "The transcription service's answer is too large")
	}
	if err != nil {
		return nil, c.disconnected(ctx, err)
	}
	return body, nil
}

func (c caller) request(ctx context.Context, u upload) (*http.Request, error) {
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	for _, field := range u.fields {
		if err := writer.WriteField(field[0], field[1]); err != nil {
			return nil, fmt.Errorf("write the form: %w", err)
		}
	}
	header := textproto.MIMEHeader{}
	// The file's name is ours: engines go by its extension, and nobody's own name for a recording leaves the server.
	header.Set("Content-Disposition", `form-data; name="`+u.part+`"; filename="audio`+u.audio.Info.Extension+`"`)
	header.Set("Content-Type", u.audio.Info.MIME)
	if _, err := writer.CreatePart(header); err != nil {
		return nil, fmt.Errorf("write the form: %w", err)
	}
	before := form.Len()
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("write the form: %w", err)
	}
	head, tail := form.Bytes()[:before], form.Bytes()[before:]

	stat, err := os.Stat(u.audio.Path)
	if err != nil {
		return nil, fmt.Errorf("open the audio to send: %w", err)
	}
	size := stat.Size()
	body := func() (io.ReadCloser, error) {
		file, err := os.Open(u.audio.Path)
		if err != nil {
			return nil, fmt.Errorf("open the audio to send: %w", err)
		}
		whole := io.MultiReader(bytes.NewReader(head), io.LimitReader(file, size), bytes.NewReader(tail))
		return struct {
			io.Reader
			io.Closer
		}{whole, file}, nil
	}
	first, err := body()
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url, first)
	if err != nil {
		first.Close()
		return nil, providers.Permanent(providers.Unreachable, 0, "The transcription service's address is not valid")
	}
	request.GetBody = body
	request.ContentLength = int64(len(head)) + size + int64(len(tail))
	request.Header.Set("Content-Type", writer.FormDataContentType())
	request.Header.Set("Accept", "application/json")
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	return request, nil
}

// refusal turns a status that is no success into our words. Of what the service said only one well-known code is read.
func (c caller) refusal(response *http.Response, said []byte) *providers.Error {
	status := response.StatusCode
	var failure *providers.Error
	switch {
	case status == http.StatusTooManyRequests && outbound.OutOfCredit(said):
		return providers.Permanent(providers.Unpaid, status, "The transcription service says that its account has no credit left")
	case status == http.StatusTooManyRequests:
		failure = providers.Retryable(providers.RateLimited, status, "The transcription service is receiving too many requests")
	case status == http.StatusRequestTimeout:
		failure = providers.Retryable(providers.TimedOut, status, "The transcription service took too long")
	case status >= 500:
		failure = providers.Retryable(providers.ServiceFault, status, "The transcription service failed")
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return providers.Permanent(providers.Unauthorized, status, "The transcription service refused the configured key")
	case status == http.StatusPaymentRequired:
		return providers.Permanent(providers.Unpaid, status, "The transcription service asks for payment")
	case status == http.StatusNotFound:
		return providers.Permanent(providers.WrongModel, status, "The transcription service does not know the configured model or address")
	case status == http.StatusRequestEntityTooLarge:
		return providers.Permanent(providers.TooLarge, status, "The transcription service takes no file of this size")
	case status >= 400:
		return providers.Permanent(providers.Refused, status, "The transcription service refused the audio or the request")
	default:
		return providers.Permanent(providers.Unreachable, status, "The transcription service answered with a redirect, which is not followed")
	}
	failure.RetryAfter = outbound.RetryAfter(response.Header, c.now())
	return failure
}

// disconnected tells why no whole answer came. The transport's own error names the address and is let go.
func (c caller) disconnected(ctx context.Context, err error) error {
	var (
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
		network     net.Error
		path        *os.PathError
	)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("transcribe: %w", context.Canceled)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return providers.Retryable(providers.TimedOut, 0, "The transcription service did not answer within "+c.timeout.String())
	case errors.As(err, &path):
		return unsent{fmt.Errorf("read the audio to send: %w", err)} // half a request is no order
	case errors.As(err, &certificate):
		return providers.Retryable(providers.Unreachable, 0, "The transcription service's certificate was not accepted")
	case errors.As(err, &name):
		return providers.Retryable(providers.Unreachable, 0, "The transcription service's name could not be resolved")
	case errors.Is(err, syscall.ECONNREFUSED):
		return providers.Retryable(providers.Unreachable, 0, "The transcription service refused the connection")
	case errors.As(err, &network) && network.Timeout():
		return providers.Retryable(providers.TimedOut, 0, "The transcription service took too long")
	default:
		return providers.Retryable(providers.Unreachable, 0, "The connection to the transcription service was lost")
	}
}
