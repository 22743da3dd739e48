package mail_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/mail"
	"github.com/stenometer/stenometer/tests/mailtest"
)

func mailer(t *testing.T, address string) *mail.Mailer {
	t.Helper()
	m, err := mail.New(mail.Options{
		URL: address, From: "Notes <notes@example.org>", Timeout: 2 * time.Second,
		Now: func() time.Time { return time.Date(2026, 3, 5, 6, 13, 46, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Rule: a letter reaches its one addressee as it was written, dated by our clock, and names no machine of ours.
func TestALetterArrives(t *testing.T) {
	t.Parallel()
	p := mailtest.Start(t, nil)
	letter := mail.Letter{To: "ada@example.org", Subject: "Grüße", Text: "One.\n.\nThe end: https://x.example/#" + strings.Repeat("a", 90) + "\n"}
	if err := mailer(t, "smtp://"+p.Address+"?starttls=off").Send(context.Background(), letter); err != nil {
		t.Fatal(err)
	}
	got := p.Letters()
	if len(got) != 1 || got[0].From != "notes@example.org" || len(got[0].To) != 1 || got[0].To[0] != "ada@example.org" {
		t.Fatalf("taken was %+v", got)
	}
	for _, want := range []string{
		"From: \"Notes\" <notes@example.org>", "To: <ada@example.org>", "Date: Thu, 05 Mar 2026 06:13:46 +0000",
		"Subject: =?UTF-8?q?Gr=C3=BC=C3=9Fe?=", "Auto-Submitted: auto-generated", "@example.org>",
	} {
		if !strings.Contains(got[0].Text, want) {
			t.Errorf("%q is missing in\n%s", want, got[0].Text)
		}
	}
}

// Rule: nothing that somebody wrote becomes a header or a further addressee.
func TestHeadersCannotBeSmuggledIn(t *testing.T) {
	t.Parallel()
	p := mailtest.Start(t, nil)
	m := mailer(t, "smtp://"+p.Address+"?starttls=off")
	for _, letter := range []mail.Letter{
		{To: "ada@example.org\r\nBcc: eve@example.org", Subject: "x"},
		{To: "ada@example.org, eve@example.org", Subject: "x"},
		{To: "Eve <ada@example.org>", Subject: "x"},
		{To: "", Subject: "x"},
		{To: "ada@example.org", Subject: "x\nBcc: eve@example.org"},
		{To: "ada@example.org", Subject: "x\rBcc: eve@example.org"},
	} {
		if err := m.Send(context.Background(), letter); !errors.Is(err, mail.ErrLetter) {
			t.Errorf("%+v: %v", letter, err)
		}
	}
	if got := p.Letters(); len(got) != 0 {
		t.Errorf("sent was %+v", got)
	}
}

// Rule: smtp:// sends nothing, and no password, to a server that does not speak TLS, or whose certificate is nobody's.
func TestNothingCrossesTheNetworkInTheClear(t *testing.T) {
	t.Parallel()
	plain := mailtest.Start(t, nil)
	plain.Server.AllowInsecureAuth = true
	web := httptest.NewTLSServer(nil)
	t.Cleanup(web.Close)
	stranger := mailtest.Start(t, &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12})
	for name, p := range map[string]*mailtest.Post{"no TLS": plain, "a stranger's certificate": stranger} {
		for _, user := range []string{"", "ada:se%20cret@"} {
			err := mailer(t, "smtp://"+user+p.Address).Send(context.Background(), mail.Letter{To: "ada@example.org", Subject: "x", Text: "hidden"})
			if err == nil || len(p.Letters()) != 0 || p.SignedIn() != 0 {
				t.Errorf("%s: %v, %d letters, %d sign-ins", name, err, len(p.Letters()), p.SignedIn())
			}
			if err != nil && (strings.Contains(err.Error(), "cret") || strings.Contains(err.Error(), "hidden")) {
				t.Errorf("%s: the error shows what it must not: %v", name, err)
			}
		}
	}
}

// Rule: a server that accepts the connection and is silent then is waited for as long as the setting says.
func TestASilentServerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	m, err := mail.New(mail.Options{URL: "smtp://" + listener.Addr().String() + "?starttls=off", From: "notes@example.org", Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := m.Send(context.Background(), mail.Letter{To: "ada@example.org", Subject: "x"}); err == nil {
		t.Error("a server that says nothing took a letter")
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it was waited for %s", took)
	}
}

// Rule: an address that cannot be read is told without the password in it.
func TestAFaultyAddressDoesNotShowItsPassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"smtp://ada:hunter2@post.example.org:port", "smtp://ada:hun%ter2@post"} {
		_, err := mail.New(mail.Options{URL: address, From: "notes@example.org"})
		if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "hun%") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
