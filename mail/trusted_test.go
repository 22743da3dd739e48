package mail_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/mail"
	"github.com/stenometer/stenometer/tests/mailtest"
)

// trusted is the certificate of 127.0.0.1 that this process trusts as its operator would have it: by SSL_CERT_FILE, which
// is read once, before the first connection.
var trusted tls.Certificate

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "mail")
	if err == nil {
		trusted, err = trust(filepath.Join(folder, "authority.pem"))
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, "make a certificate:", err)
	}
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// trust makes a certificate and names its file to this process.
func trust(file string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	written, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: written}), 0o600); err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{written}, PrivateKey: key}, os.Setenv("SSL_CERT_FILE", file)
}

// Rule: a letter and the password cross the network by TLS, after STARTTLS and from the first byte, to a server whose
// certificate an authority of SSL_CERT_FILE vouches for, and for that very server alone.
func TestALetterArrivesByTLS(t *testing.T) {
	t.Parallel()
	secure := &tls.Config{Certificates: []tls.Certificate{trusted}, MinVersion: tls.VersionTLS12}
	for scheme, p := range map[string]*mailtest.Post{"smtp": mailtest.Start(t, secure), "smtps": mailtest.StartTLS(t, secure)} {
		letter := mail.Letter{To: "ada@example.org", Subject: "Hello", Text: "by " + scheme}
		if err := mailer(t, scheme+"://ada:se%20cret@"+p.Address).Send(context.Background(), letter); err != nil {
			t.Errorf("%s: %v", scheme, err)
			continue
		}
		if got := p.Letters(); len(got) != 1 || !strings.Contains(got[0].Text, letter.Text) || p.SignedIn() != 1 {
			t.Errorf("%s: taken was %+v by %d sign-ins", scheme, got, p.SignedIn())
		}
		_, port, _ := net.SplitHostPort(p.Address)
		if err := mailer(t, scheme+"://ada:se%20cret@localhost:"+port).Send(context.Background(), letter); err == nil || p.SignedIn() != 1 {
			t.Errorf("%s: a certificate of another name: %v", scheme, err)
		}
		if err := mailer(t, scheme+"://ada:wrong@"+p.Address).Send(context.Background(), letter); err == nil || len(p.Letters()) != 1 {
			t.Errorf("%s: a wrong password: %v", scheme, err)
		}
	}
}
