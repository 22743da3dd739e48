package testservices

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Socket starts a Redis of one test that listens on a Unix socket and nowhere else.
func Socket(t testing.TB) *PrivateRedis {
	t.Helper()
	Redis(t)
	return start(t, func(int) *PrivateRedis {
		// A socket's path has at most 107 bytes, and t.TempDir is named after the test.
		folder, err := os.MkdirTemp("", "redis")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(folder) })
		path := filepath.Join(folder, "redis.sock")
		return &PrivateRedis{
			URL:       "unix://" + path,
			Address:   path,
			arguments: []string{"--port", "0", "--unixsocket", path},
			client:    connect(&redis.Options{Network: "unix", Addr: path}),
		}
	})
}

// TLS starts a Redis of one test that speaks TLS and nothing else. Its URL names the file of the certificate, which
// nobody else trusts; it is good for 127.0.0.1.
func TLS(t testing.TB) *PrivateRedis {
	t.Helper()
	Redis(t)
	certificate, key := selfSigned(t)
	pool := x509.NewCertPool()
	if content, err := os.ReadFile(certificate); err != nil || !pool.AppendCertsFromPEM(content) {
		t.Fatalf("reading the certificate: %v", err)
	}
	return start(t, func(port int) *PrivateRedis {
		return &PrivateRedis{
			URL:     fmt.Sprintf("rediss://%s/0?ca=%s", local(port), certificate),
			Address: local(port),
			arguments: []string{
				"--port", "0", "--tls-port", fmt.Sprint(port), "--bind", "127.0.0.1",
				"--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", certificate, "--tls-auth-clients", "no",
			},
			client: connect(&redis.Options{Addr: local(port), TLSConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}),
		}
	})
}

// selfSigned writes a new certificate for 127.0.0.1 and its key.
func selfSigned(t testing.TB) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "Redis of a test"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	certificate, key = filepath.Join(folder, "certificate.pem"), filepath.Join(folder, "key.pem")
	for path, block := range map[string]*pem.Block{
		certificate: {Type: "CERTIFICATE", Bytes: signed},
		key:         {Type: "PRIVATE KEY", Bytes: encoded},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, key
}
