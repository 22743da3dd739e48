// Package asrtest is a transcription service for tests. It speaks the two protocols of the product's engines, OpenAI's
// /v1/audio/transcriptions and the ASR endpoint's /asr, answers by a script, remembers every call, and measures what it
// was sent by decoding it. It is never part of the product.
package asrtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stenometer/stenometer/media"
)

// Call is one request as the service saw it.
type Call struct {
	// Path is "/v1/audio/transcriptions" or "/asr".
	Path string
	// Fields are the form's fields and the query's parameters.
	Fields url.Values
	// Part, FileName and FileType are those of the file's part of the form.
	Part, FileName, FileType string
	// Size is the file's size in bytes, Length its decoded length; 0 when it does not decode.
	Size   int64
	Length time.Duration
	// Authorization is the header as sent.
	Authorization string
	// File is where the audio lies until the test ends.
	File string
}

// Server is one running service.
type Server struct {
	http  *httptest.Server
	media *media.Media
	dir   string

	mu       sync.Mutex
	script   []Reply
	always   func(Call) Reply
	calls    []Call
	inFlight int
	aborted  int
	changed  chan struct{}
}

// New starts a service on a free port that ends with the test. Without a script it answers one segment, "Hello world.",
// in whatever form it is asked for.
func New(t testing.TB) *Server {
	t.Helper()
	m, err := media.New(media.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{media: m, dir: t.TempDir(), changed: make(chan struct{})}
	s.always = func(Call) Reply { return Segments(Segment{0, 1, "Hello world.", ""}) }
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/audio/transcriptions", s.transcribe)
	mux.HandleFunc("POST /asr", s.transcribe)
	s.http = httptest.NewServer(mux)
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// BaseURL is a value for TRANSCRIPTION_BASE_URL.
func (s *Server) BaseURL() string { return s.http.URL + "/v1" }

// ASRBaseURL is a value for ASR_BASE_URL.
func (s *Server) ASRBaseURL() string { return s.http.URL }

// Script sets the answers of the next calls, in order of their arrival; afterwards the standing answer holds again.
func (s *Server) Script(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, replies...)
}

// Always sets the standing answer.
func (s *Server) Always(answer func(Call) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = answer
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

// Await blocks until holds is true of the service, looking again at every call's arrival and end.
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
			return fmt.Errorf("await the transcription service: %w", ctx.Err())
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

func (s *Server) transcribe(w http.ResponseWriter, r *http.Request) {
	call, err := s.receive(r)
	if err != nil {
		if r.Context().Err() != nil {
			s.update(func() { s.aborted++ })
			return
		}
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
	if reply.later != nil {
		reply = reply.later(call)
	}
	left = reply.write(w, r, call)
}

// receive stores the file of a form and notes the rest.
func (s *Server) receive(r *http.Request) (Call, error) {
	call := Call{Path: r.URL.Path, Fields: r.URL.Query(), Authorization: r.Header.Get("Authorization")}
	form, err := r.MultipartReader()
	if err != nil {
		return call, err
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return call, err
		}
		if part.FileName() == "" {
			value, err := io.ReadAll(part)
			if err != nil {
				return call, err
			}
			call.Fields.Add(part.FormName(), string(value))
			continue
		}
		call.Part, call.FileName, call.FileType = part.FormName(), part.FileName(), part.Header.Get("Content-Type")
		if call.File, call.Size, err = s.store(part, call.FileName); err != nil {
			return call, err
		}
	}
	if call.File == "" {
		return call, errors.New("no file")
	}
	call.Length, _ = s.media.Duration(r.Context(), call.File)
	return call, nil
}

func (s *Server) store(from io.Reader, name string) (path string, size int64, err error) {
	file, err := os.CreateTemp(s.dir, "*"+filepath.Ext(name))
	if err != nil {
		return "", 0, err
	}
	size, err = io.Copy(file, from)
	return file.Name(), size, errors.Join(err, file.Close())
}
