// Package mail hands letters to the operator's SMTP server. A letter has one addressee, a subject and plain text, and no
// header that a caller chose; what cannot be such a letter is an error, and nothing is sent. Neither the text, which may
// hold a link that lets its reader in, nor the server's password stands in any error.
package mail

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	netmail "net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
)

// The ports of SMTP where the address names none.
const (
	portSTARTTLS = 587
	portTLS      = 465
)

// Options say by whom letters are sent.
type Options struct {
	// URL is the server's address: smtp:// speaks STARTTLS or sends nothing, unless ?starttls=off; smtps:// is TLS.
	URL string
	// From is the sender's address, with a name or without.
	From string
	// Timeout bounds the sending of one letter; 0 means 20 s.
	Timeout time.Duration
	// Now is the clock of the letters' dates; nil means time.Now.
	Now func() time.Time
}

// Mailer sends letters; each by a connection of its own.
type Mailer struct {
	host    string
	options []gomail.Option
	from    *netmail.Address
	timeout time.Duration
	now     func() time.Time
}

// Letter is what is sent.
type Letter struct {
	// To is the one addressee, an address without a name.
	To string
	// Subject is one line.
	Subject string
	// Text is the whole body.
	Text string
}

// New reads the address without dialing it.
func New(o Options) (*Mailer, error) {
	server, err := url.Parse(o.URL)
	if err != nil {
		return nil, errors.New("set up mail: the server's address cannot be read") // url's error would show the password
	}
	from, err := netmail.ParseAddress(o.From)
	if err != nil {
		return nil, fmt.Errorf("set up mail: the sender %q is no address", o.From)
	}
	m := &Mailer{host: server.Hostname(), from: from, timeout: o.Timeout, now: o.Now}
	if m.timeout == 0 {
		m.timeout = 20 * time.Second
	}
	if m.now == nil {
		m.now = time.Now
	}
	port, security := portSTARTTLS, gomail.WithTLSPolicy(gomail.TLSMandatory)
	switch {
	case server.Scheme == "smtps":
		port, security = portTLS, gomail.WithSSL()
	case server.Query().Get("starttls") == "off":
		security = gomail.WithTLSPolicy(gomail.NoTLS)
	}
	if named := server.Port(); named != "" {
		if port, err = strconv.Atoi(named); err != nil {
			return nil, errors.New("set up mail: the server's port is no number")
		}
	}
	m.options = []gomail.Option{gomail.WithPort(port), gomail.WithTimeout(m.timeout), security, gomail.WithoutNoop()}
	if password, named := server.User.Password(); named || server.User.Username() != "" {
		m.options = append(m.options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover),
			gomail.WithUsername(server.User.Username()), gomail.WithPassword(password))
	}
	// An option that the library refuses is told now and not with the first letter.
	if _, err := gomail.NewClient(m.host, m.options...); err != nil {
		return nil, fmt.Errorf("set up mail: %w", err)
	}
	return m, nil
}

// ErrLetter is the error of what cannot be sent, now or later.
var ErrLetter = errors.New("it is no letter")

// Send hands the letter over. After an error it may have been taken nevertheless, as the answer may have been lost.
func (m *Mailer) Send(ctx context.Context, letter Letter) error {
	message, err := m.message(letter)
	if err != nil {
		return fmt.Errorf("send mail: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	client, err := gomail.NewClient(m.host, m.options...)
	if err == nil {
		err = client.DialAndSendWithContext(ctx, message)
	}
	if err != nil {
		return fmt.Errorf("send mail: %w", err)
	}
	return nil
}

// message refuses whatever could become a header or an addressee of its own: such a text is nobody's slip.
func (m *Mailer) message(letter Letter) (*gomail.Msg, error) {
	if letter.To == "" || strings.ContainsFunc(letter.To+letter.Subject, unicode.IsControl) {
		return nil, fmt.Errorf("%w: a line break in its head, or no addressee", ErrLetter)
	}
	to, err := netmail.ParseAddress(letter.To)
	if err != nil || to.Name != "" || to.Address != letter.To {
		return nil, fmt.Errorf("%w: the addressee is no plain address", ErrLetter)
	}
	message := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	message.FromMailAddress(m.from)
	message.ToMailAddress(to)
	message.Subject(letter.Subject)
	message.SetDateWithValue(m.now())
	_, domain, _ := strings.Cut(m.from.Address, "@")
	message.SetMessageIDWithValue(rand.Text() + "@" + domain) // the library's would name this machine
	// Nobody answers it, and no holiday notice comes back.
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetBodyString(gomail.TypeTextPlain, letter.Text)
	return message, nil
}
