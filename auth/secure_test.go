package auth_test

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/stenometer/stenometer/auth"
)

// A cookie is marked Secure by what we or a proxy of ours know, never by what a client claims.
func TestSecureBelievesOnlyOurProxies(t *testing.T) {
	t.Parallel()
	for about, row := range map[string]struct {
		count int
		peer  string
		proto []string
		tls   bool
		want  bool
	}{
		"TLS with us":                {peer: "203.0.113.9:1", tls: true, want: true},
		"plain":                      {peer: "203.0.113.9:1"},
		"claimed, no proxy trusted":  {peer: "10.0.0.1:1", proto: []string{"https"}},
		"claimed by a stranger":      {count: 1, peer: "203.0.113.9:1", proto: []string{"https"}},
		"said by our proxy":          {count: 1, peer: "10.0.0.1:1", proto: []string{"HTTPS"}, want: true},
		"plain says our proxy":       {count: 1, peer: "10.0.0.1:1", proto: []string{"http"}},
		"nothing said by our proxy":  {count: 1, peer: "10.0.0.1:1"},
		"claimed before our proxy":   {count: 1, peer: "10.0.0.1:1", proto: []string{"https, http"}},
		"the outer one of two":       {count: 2, peer: "10.0.0.1:1", proto: []string{"https", "http"}, want: true},
		"two proxies, one word":      {count: 2, peer: "10.0.0.1:1", proto: []string{"https"}, want: true},
		"claimed before two proxies": {count: 2, peer: "10.0.0.1:1", proto: []string{"https,http,http"}},
	} {
		addresses := auth.NewAddresses(auth.AddressOptions{
			TrustedProxies: row.count, TrustedNetworks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
			Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		})
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		request.RemoteAddr = row.peer
		request.Header["X-Forwarded-Proto"] = row.proto
		if row.tls {
			request.TLS = &tls.ConnectionState{}
		}
		if got := addresses.Secure(request); got != row.want {
			t.Errorf("%s: Secure is %v", about, got)
		}
	}
}
