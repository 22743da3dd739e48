// Package llmtest is a text model for tests. It speaks OpenAI's /v1/chat/completions, answers by a script, remembers
// every request as it came, and answers when the test says so. It is never part of the product.
package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Call is one request as the service saw it.
type Call struct {
	Path   string
	Header http.Header
	// Body is the request as it was sent; the other members are read from it.
	Body     []byte
	Model    string
	Messages []Message
	// MaxTokens and MaxCompletionTokens are the two names of the cap, nil where the request has none.
	MaxTokens           *int64
	MaxCompletionTokens *int64
	Temperature         *float64
	// JSON is true when a JSON object is asked for.
	JSON bool
	// Tools are the functions that the model may ask for.
	Tools []Tool
	// Stream is true when the answer is asked for in chunks, AsksUsage when the last of them is to tell the usage.
	Stream, AsksUsage bool
}

// Message is one of a request's messages. Calls are what the model asked for in it, CallID is what it answers.
type Message struct {
	Role    string     `json:"role"`
	Content string     `json:"content"`
	Calls   []ToolCall `json:"tool_calls"`
	CallID  string     `json:"tool_call_id"`
}

// Cap is the most tokens that the request allows; 0 when it sets no bound.
func (c Call) Cap() int64 {
	for _, most := range []*int64{c.MaxTokens, c.MaxCompletionTokens} {
		if most != nil {
			return *most
		}
	}
	return 0
}

// Server is one running service.
type Server struct {
	http *httptest.Server

	mu       sync.Mutex // guards what follows
	script   []Reply
	always   func(Call) Reply
	when     func(*Server) bool
	calls    []Call
	inFlight int
	aborted  int
	changed  chan struct{}
}

// New starts a service on a free port that ends with the test. Without a script it answers "Fine." and reports usage.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{changed: make(chan struct{})}
	s.always = func(Call) Reply { return Says("Fine.") }
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	s.http = httptest.NewServer(mux)
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// BaseURL is a value for TEXT_MODEL_BASE_URL.
func (s *Server) BaseURL() string { return s.http.URL + "/v1" }

// Close ends the service early: nobody listens at its address any more.
func (s *Server) Close() { s.http.Close() }

// Script sets the answers of the next calls, in order of their arrival; afterwards the standing answer holds again.
func (s *Server) Script(replies ...Reply) {
	s.update(func() { s.script = append(s.script, replies...) })
}

// Always sets the standing answer.
func (s *Server) Always(answer func(Call) Reply) { s.update(func() { s.always = answer }) }

// AnswerWhen lets no call be answered before holds is true of the service; nil lets all. It is asked again at every
// change, the arrival of a call among them.
func (s *Server) AnswerWhen(holds func(*Server) bool) { s.update(func() { s.when = holds }) }

// AnswerAfter lets no call be answered before so many have arrived in all.
func (s *Server) AnswerAfter(calls int) {
	s.AnswerWhen(func(s *Server) bool { return len(s.Calls()) >= calls })
}

// Pause lets no call be answered before resume is called.
func (s *Server) Pause() (resume func()) {
	s.AnswerWhen(func(*Server) bool { return false })
	return func() { s.AnswerWhen(nil) }
}

// Calls are the requests so far, in order.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Aborted counts the calls whose client left before the answer.
func (s *Server) Aborted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.aborted
}

// InFlight counts the calls that are being answered.
func (s *Server) InFlight() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inFlight
}

// Await blocks until holds is true of the service, looking again at every change.
func (s *Server) Await(ctx context.Context, holds func(*Server) bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if holds(s) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("await the text model: %w", ctx.Err())
		}
	}
}

func (s *Server) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	call, err := receive(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var reply Reply
	s.update(func() {
		s.calls = append(s.calls, call)
		s.inFlight++
		if len(s.script) > 0 {
			reply, s.script = s.script[0], s.script[1:]
			return
		}
		reply = Reply{later: s.always}
	})
	left := false
	defer func() { // also when the reply drops the connection, which is a panic
		s.update(func() {
			s.inFlight--
			if left {
				s.aborted++
			}
		})
	}()
	if left = s.Await(r.Context(), (*Server).mayAnswer) != nil; left {
		return
	}
	if reply.later != nil {
		reply = reply.later(call)
	}
	left = reply.write(w, r, call)
}

func (s *Server) mayAnswer() bool {
	s.mu.Lock()
	when := s.when
	s.mu.Unlock()
	return when == nil || when(s)
}

func receive(r *http.Request) (Call, error) {
	call := Call{Path: r.URL.Path, Header: r.Header.Clone()}
	var err error
	if call.Body, err = io.ReadAll(r.Body); err != nil {
		return call, err
	}
	var form struct {
		Model               string    `json:"model"`
		Messages            []Message `json:"messages"`
		MaxTokens           *int64    `json:"max_tokens"`
		MaxCompletionTokens *int64    `json:"max_completion_tokens"`
		Temperature         *float64  `json:"temperature"`
		ResponseFormat      struct {
			Type string `json:"type"`
		} `json:"response_format"`
		Tools         []Tool `json:"tools"`
		Stream        bool   `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	err = json.Unmarshal(call.Body, &form)
	call.Model, call.Messages, call.Temperature = form.Model, form.Messages, form.Temperature
	call.Tools, call.MaxTokens, call.MaxCompletionTokens = form.Tools, form.MaxTokens, form.MaxCompletionTokens
	call.JSON = form.ResponseFormat.Type == "json_object"
	call.Stream, call.AsksUsage = form.Stream, form.StreamOptions.IncludeUsage
	return call, err
}
