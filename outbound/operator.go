// Package outbound holds the HTTP clients by which the server calls others. Which of them is used is visible where the
// server is put together. Operator is for addresses that stand in the configuration, and for no others: it goes
// wherever the address says, private networks included. Strangers is for addresses that callers choose: it goes to public ones
// alone, and looks at the very address that it dials.
package outbound

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// ErrTooLarge is the error of a body that is longer than it may be.
var ErrTooLarge = errors.New("the answer is too large")

const (
	dialTimeout  = 60 * time.Second
	idleTimeout  = 90 * time.Second
	idlePerHost  = 4
	idleInAll    = 16
	headersBytes = 64 << 10
	// bufferBytes is what a connection reads and writes at a time besides bodies, which go past it. A streamed answer
	// keeps both buffers for minutes.
	bufferBytes = 1 << 10
)

// Operator makes a client for services that the operator has named. A call takes at most timeout, its body included;
// certificates are verified; a redirect is an answer like another and never followed, so that a key sent to a service
// stays there; a proxy named by HTTP_PROXY, HTTPS_PROXY and NO_PROXY is used. Read answers with ReadAll.
func Operator(timeout time.Duration) *http.Client {
	dialer := &net.Dialer{Timeout: min(dialTimeout, timeout)}
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: oneProtocol{&http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    min(dialTimeout, timeout),
			ResponseHeaderTimeout:  timeout,
			IdleConnTimeout:        idleTimeout,
			MaxIdleConns:           idleInAll,
			MaxIdleConnsPerHost:    idlePerHost,
			MaxResponseHeaderBytes: headersBytes,
			ReadBufferSize:         bufferBytes,
			WriteBufferSize:        bufferBytes,
		}},
	}
}

// errSwitched is the error of an answer that leaves HTTP.
var errSwitched = errors.New("the service switched protocols, which nobody asked for")

// oneProtocol refuses 101 Switching Protocols. Its body is the bare connection, to which no timeout and no context
// reaches: who reads it waits for as long as the service likes.
type oneProtocol struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (t oneProtocol) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.Transport.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusSwitchingProtocols {
		return nil, errors.Join(errSwitched, response.Body.Close())
	}
	return response, err //nolint:wrapcheck // a RoundTripper stands in for the transport's own
}

// ReadAll reads an answer's body, which may have as many bytes as most says. A longer one is ErrTooLarge, and no more
// of it is read.
func ReadAll(body io.Reader, most int64) ([]byte, error) {
	read, err := io.ReadAll(io.LimitReader(body, most+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if int64(len(read)) > most {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, most)
	}
	return read, nil
}
