// Package mailtest is an SMTP server on loopback that keeps what it is handed.
package mailtest

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Post takes letters from everybody, and signs in ada, whose password is "se cret".
type Post struct {
	Server *smtp.Server
	// Address is host and port.
	Address string

	mu     sync.Mutex
	taken  []Letter
	signed int
	broken bool
}

// Letter is what was handed over.
type Letter struct {
	From string
	To   []string
	Text string
}

// Start listens until the test ends, by TLS after STARTTLS where secure says how.
func Start(t testing.TB, secure *tls.Config) *Post {
	t.Helper()
	return start(t, secure, func(listener net.Listener) net.Listener { return listener })
}

// StartTLS listens until the test ends, by TLS from the first byte.
func StartTLS(t testing.TB, secure *tls.Config) *Post {
	t.Helper()
	return start(t, nil, func(listener net.Listener) net.Listener { return tls.NewListener(listener, secure) })
}

func start(t testing.TB, secure *tls.Config, over func(net.Listener) net.Listener) *Post {
	t.Helper()
	p := &Post{}
	p.Server = smtp.NewServer(p)
	p.Server.TLSConfig, p.Server.Domain = secure, "post.example.org"
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.Address, listener = listener.Addr().String(), over(listener)
	go func() { _ = p.Server.Serve(listener) }()
	t.Cleanup(func() { _ = p.Server.Close() })
	return p
}

// Letters are those that were handed over.
func (p *Post) Letters() []Letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Letter(nil), p.taken...)
}

// SignedIn is how often somebody signed in.
func (p *Post) SignedIn() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.signed
}

// Break makes the server refuse letters for now, or take them again.
func (p *Post) Break(broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = broken
}

// NewSession implements smtp.Backend.
func (p *Post) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{post: p}, nil }

type session struct {
	post *Post
	now  Letter
}

// AuthMechanisms implements smtp.AuthSession.
func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

// Auth implements smtp.AuthSession.
func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, username, password string) error {
		if username != "ada" || password != "se cret" {
			return smtp.ErrAuthFailed
		}
		s.post.mu.Lock()
		defer s.post.mu.Unlock()
		s.post.signed++
		return nil
	}), nil
}

// Mail begins a letter.
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.now = Letter{From: from}
	return nil
}

// Rcpt adds an addressee.
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.now.To = append(s.now.To, to)
	return nil
}

// Data takes the letter.
func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.now.Text = string(text)
	s.post.mu.Lock()
	defer s.post.mu.Unlock()
	if s.post.broken {
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "try again later"}
	}
	s.post.taken = append(s.post.taken, s.now)
	return err
}

// Reset implements smtp.Session.
func (*session) Reset() {}

// Logout implements smtp.Session.
func (*session) Logout() error { return nil }
