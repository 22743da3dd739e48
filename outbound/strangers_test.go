package outbound_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenometer/stenometer/outbound"
)

// quiet is a server on loopback that counts who connects.
type quiet struct {
	*httptest.Server

	port        string
	connections atomic.Int64
}

func newQuiet(t testing.TB, handler http.Handler) *quiet {
	t.Helper()
	q := &quiet{Server: httptest.NewUnstartedServer(handler)}
	q.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			q.connections.Add(1)
		}
	}
	q.Start()
	t.Cleanup(q.Close)
	_, q.port, _ = net.SplitHostPort(q.Listener.Addr().String())
	return q
}

func (q *quiet) untouched(t testing.TB) {
	t.Helper()
	if n := q.connections.Load(); n > 0 {
		t.Errorf("%d connections were made to a server that must not be called", n)
	}
}

func post(t testing.TB, client *http.Client, address string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader("{}"))
	if err != nil {
		t.Fatalf("no request can be made of %q: %v", address, err)
	}
	return client.Do(request)
}

// forbidden are spellings of addresses that nobody may make the server call; PORT is that of a server on loopback.
var forbidden = map[string]outbound.Reason{
	// Loopback, as people who want to get past a check write it.
	"http://127.0.0.1:PORT/":                 outbound.AddressRefused,
	"http://127.0.0.2:PORT/":                 outbound.AddressRefused,
	"http://127.255.255.254:PORT/":           outbound.AddressRefused,
	"http://localhost:PORT/":                 outbound.AddressRefused,
	"http://LOCALHOST:PORT/":                 outbound.AddressRefused,
	"http://127.1:PORT/":                     outbound.HostInvalid,
	"http://127.0.1:PORT/":                   outbound.HostInvalid,
	"http://2130706433:PORT/":                outbound.HostInvalid,
	"http://017700000001:PORT/":              outbound.HostInvalid,
	"http://0x7f000001:PORT/":                outbound.HostInvalid,
	"http://0x7f.1:PORT/":                    outbound.HostInvalid,
	"http://0x7f.0x0.0x0.0x1:PORT/":          outbound.HostInvalid,
	"http://0177.0.0.1:PORT/":                outbound.HostInvalid,
	"http://0177.0.0.01:PORT/":               outbound.HostInvalid,
	"http://127.0.0.1.:PORT/":                outbound.HostInvalid,
	"http://127.0.0.0x1:PORT/":               outbound.HostInvalid,
	"http://00000127.0.0.1:PORT/":            outbound.HostInvalid,
	"http://127.00.00.1:PORT/":               outbound.HostInvalid,
	"http://①②⑦.⓪.⓪.①:PORT/":                 outbound.HostInvalid,
	"http://127。0。0。1:PORT/":                 outbound.HostInvalid,
	"http://１２７.０.０.１:PORT/":                 outbound.HostInvalid,
	"http://ⓛocalhost:PORT/":                 outbound.HostInvalid,
	"http://0:PORT/":                         outbound.HostInvalid,
	"http://0.0.0.0:PORT/":                   outbound.AddressRefused,
	"http://[::1]:PORT/":                     outbound.AddressRefused,
	"http://[::]:PORT/":                      outbound.AddressRefused,
	"http://[0:0:0:0:0:0:0:1]:PORT/":         outbound.AddressRefused,
	"http://[::ffff:127.0.0.1]:PORT/":        outbound.AddressRefused,
	"http://[::ffff:7f00:1]:PORT/":           outbound.AddressRefused,
	"http://[::127.0.0.1]:PORT/":             outbound.AddressRefused,
	"http://[::1%25lo]:PORT/":                outbound.HostInvalid,
	"http://[fe80::1%25eth0]:PORT/":          outbound.HostInvalid,
	"http://[64:ff9b::7f00:1]:PORT/":         outbound.AddressRefused,
	"http://[64:ff9b:1::7f00:1]:PORT/":       outbound.AddressRefused,
	"http://[2002:7f00:1::]:PORT/":           outbound.AddressRefused,
	"http://user@127.0.0.1:PORT/":            outbound.URLInvalid,
	"http://user:password@example.org:PORT/": outbound.URLInvalid,
	"http://example.org\\@127.0.0.1:PORT/":   outbound.URLInvalid,
	"http://127.0.0.1:PORT\t/":               outbound.URLInvalid,
	"http://%31%32%37.0.0.1:PORT/":           outbound.URLInvalid,
	// Networks that are not the public internet.
	"http://10.0.0.1/":                  outbound.AddressRefused,
	"http://172.16.0.1/":                outbound.AddressRefused,
	"http://172.31.255.255/":            outbound.AddressRefused,
	"http://192.168.0.1/":               outbound.AddressRefused,
	"http://100.64.0.1/":                outbound.AddressRefused,
	"http://169.254.169.254/latest/":    outbound.AddressRefused,
	"http://[fd00:ec2::254]/latest/":    outbound.AddressRefused,
	"http://[::ffff:169.254.169.254]/":  outbound.AddressRefused,
	"http://[::ffff:10.0.0.1]/":         outbound.AddressRefused,
	"http://[2002:a9fe:a9fe::]/":        outbound.AddressRefused,
	"http://192.0.2.1/":                 outbound.AddressRefused,
	"http://198.51.100.1/":              outbound.AddressRefused,
	"http://203.0.113.1/":               outbound.AddressRefused,
	"http://198.18.0.1/":                outbound.AddressRefused,
	"http://224.0.0.1/":                 outbound.AddressRefused,
	"http://240.0.0.1/":                 outbound.AddressRefused,
	"http://255.255.255.255/":           outbound.AddressRefused,
	"http://[fc00::1]/":                 outbound.AddressRefused,
	"http://[fe80::1]/":                 outbound.AddressRefused,
	"http://[fec0::1]/":                 outbound.AddressRefused,
	"http://[ff02::1]/":                 outbound.AddressRefused,
	"http://[2001:db8::1]/":             outbound.AddressRefused,
	"http://[2001:0:4136:e378:8000::]/": outbound.AddressRefused,
	// What is no address of the web.
	"ftp://example.org/":                      outbound.SchemeRefused,
	"file:///etc/passwd":                      outbound.SchemeRefused,
	"gopher://127.0.0.1:PORT/":                outbound.SchemeRefused,
	"//127.0.0.1:PORT/":                       outbound.SchemeRefused,
	"127.0.0.1:PORT":                          outbound.URLInvalid,
	"http:127.0.0.1:PORT":                     outbound.URLInvalid,
	"http:///path":                            outbound.HostInvalid,
	"http://example..org/":                    outbound.HostInvalid,
	"http://example.org:0/":                   outbound.URLInvalid,
	"http://example.org:/":                    outbound.URLInvalid,
	"http://example.org:70000/":               outbound.URLInvalid,
	"":                                        outbound.SchemeRefused,
	"http://a/" + strings.Repeat("x", 2048):   outbound.URLInvalid,
	"http://nothing.invalid/":                 outbound.NameUnknown,
	"http://" + strings.Repeat("a", 64) + "/": outbound.HostInvalid,
}

// Rule: no spelling of an address that is not public is accepted, and none makes a connection.
func TestForbiddenAddressesAreNeverCalled(t *testing.T) {
	t.Parallel()
	if len(forbidden) < 40 {
		t.Errorf("%d spellings, want 40 or more", len(forbidden))
	}
	loopback := newQuiet(t, http.NotFoundHandler())
	strangers := outbound.NewStrangers(outbound.StrangersOptions{Resolver: nameServer(t, map[string][]string{"localhost.": {"127.0.0.1"}})})
	client := strangers.Client(5 * time.Second)
	for spelled, want := range forbidden {
		address := strings.ReplaceAll(spelled, "PORT", loopback.port)
		if got := strangers.Judge(t.Context(), address, true); got != want {
			t.Errorf("%q is judged %q, want %q", address, got, want)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader("{}"))
		if err != nil {
			continue // not even a request
		}
		answer, err := client.Do(request)
		if err == nil {
			answer.Body.Close()
			t.Errorf("%q was called", address)
		}
	}
	loopback.untouched(t)
}

// Rule: every reason has its sentence, for who reads why an address was refused.
func TestReasonsHaveMeanings(t *testing.T) {
	t.Parallel()
	for _, reason := range forbidden {
		if reason.Meaning() == "" {
			t.Errorf("%s has no meaning", reason)
		}
	}
}

// Rule: http is for addresses for which it is allowed.
func TestPlainHTTPIsAllowedByWish(t *testing.T) {
	t.Parallel()
	strangers := outbound.NewStrangers(outbound.StrangersOptions{})
	for address, want := range map[string]outbound.Reason{"http://8.8.8.8/": outbound.SchemeRefused, "https://8.8.8.8/": "", "HTTPS://8.8.8.8:8443/a?b=c": ""} {
		if got := strangers.Judge(t.Context(), address, false); got != want {
			t.Errorf("%s is judged %q, want %q", address, got, want)
		}
	}
	if got := strangers.Judge(t.Context(), "http://8.8.8.8/", true); got != "" {
		t.Errorf("judged %q", got)
	}
}

// Rule: a name that was public when it was judged is judged again for each connection: one that leads to loopback then, or
// to both, is not called (H-051).
func TestANameThatTurnsPrivateIsNotCalled(t *testing.T) {
	t.Parallel()
	loopback := newQuiet(t, http.NotFoundHandler())
	names := map[string][]string{"turns.test.": {"8.8.8.8", "127.0.0.1"}, "mixed.test.": {"8.8.8.8 127.0.0.1"}, "six.test.": {"::ffff:127.0.0.1"}}
	strangers := outbound.NewStrangers(outbound.StrangersOptions{Resolver: nameServer(t, names)})
	if got := strangers.Judge(t.Context(), "http://turns.test:"+loopback.port, true); got != "" {
		t.Fatalf("judged %q while it was public", got)
	}
	for _, host := range []string{"turns.test", "mixed.test", "six.test"} {
		answer, err := post(t, strangers.Client(5*time.Second), "http://"+host+":"+loopback.port)
		if err == nil {
			answer.Body.Close()
		}
		var refused *outbound.Refused
		if !errors.As(err, &refused) || refused.Reason != outbound.AddressRefused {
			t.Errorf("%s: %v, want it refused by its address", host, err)
		}
	}
	loopback.untouched(t)
}

// Rule: a redirect is an answer; where it points is not called (H-050).
func TestStrangersRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	loopback := newQuiet(t, http.NotFoundHandler())
	for _, status := range []int{301, 302, 303, 307, 308} {
		redirects := newQuiet(t, http.RedirectHandler("http://localhost:"+loopback.port+"/", status))
		answer, err := post(t, intranet("127\\.0\\.0\\.1").Client(5*time.Second), redirects.URL)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != status {
			t.Errorf("status %d, want %d", answer.StatusCode, status)
		}
	}
	loopback.untouched(t)
}

func intranet(pattern string, own ...string) *outbound.Strangers {
	return outbound.NewStrangers(outbound.StrangersOptions{Intranet: regexp.MustCompile("^(?:" + pattern + ")$"), Own: own})
}

// Rule: the operator can open the intranet, host by host, but never the metadata of a cloud, nor this server itself.
func TestTheIntranetIsOpenedByHost(t *testing.T) {
	t.Parallel()
	loopback := newQuiet(t, http.NotFoundHandler())
	open := intranet(`127\.0\.0\.1|169\.254\.169\.254|10\.0\.0\.1|0\.0\.0\.0|\[?::1\]?`)
	for address, want := range map[string]outbound.Reason{
		loopback.URL: "", "http://10.0.0.1/": "", "http://10.0.0.2/": outbound.AddressRefused, "http://[::1]/": "",
		"http://169.254.169.254/": outbound.AddressRefused, "http://0.0.0.0/": outbound.AddressRefused,
		"http://127.0.0.1.evil.invalid/": outbound.NameUnknown,
	} {
		if got := open.Judge(t.Context(), address, true); got != want {
			t.Errorf("%s is judged %q, want %q", address, got, want)
		}
	}
	answer, err := post(t, open.Client(5*time.Second), loopback.URL)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	for _, own := range []string{":" + loopback.port, "127.0.0.1:" + loopback.port, "0.0.0.0:" + loopback.port, "localhost:" + loopback.port} {
		if got := intranet(`.*`, own).Judge(t.Context(), loopback.URL, true); got != outbound.AddressRefused {
			t.Errorf("the server's own address %s is judged %q", own, got)
		}
	}
}

// Rule: the environment's proxy is not used: it would call in the server's place what the server may not.
func TestNoProxyIsUsed(t *testing.T) { //nolint:paralleltest // the environment
	proxy := newQuiet(t, http.NotFoundHandler())
	for _, variable := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(variable, proxy.URL)
	}
	receiver := newQuiet(t, http.NotFoundHandler())
	answer, err := post(t, intranet(`127\.0\.0\.1`).Client(5*time.Second), receiver.URL)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	proxy.untouched(t)
}

// Rule: a receiver holds a call no longer than its time, however slowly it sends, and no more headers than the bound.
func TestStrangersAreBounded(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(context.Background())
	service := newQuiet(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/headers":
			w.Header().Set("X-Long", strings.Repeat("x", 128<<10))
		case "/drip":
			_, _ = io.WriteString(w, "a")
			_ = http.NewResponseController(w).Flush()
			<-ended.Done()
		default:
			<-ended.Done()
		}
	}))
	t.Cleanup(end)
	client := intranet(`127\.0\.0\.1`).Client(300 * time.Millisecond)
	for _, path := range []string{"/headers", "/silent"} {
		if answer, err := post(t, client, service.URL+path); err == nil {
			answer.Body.Close()
			t.Errorf("%s: no error", path)
		}
	}
	answer, err := post(t, client, service.URL+"/drip")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.ReadAll(answer.Body); err == nil {
		t.Error("no error though the answer never ended")
	}
}

// Rule: certificates are verified.
func TestStrangersCertificatesAreVerified(t *testing.T) {
	t.Parallel()
	service := httptest.NewTLSServer(http.NotFoundHandler())
	defer service.Close()
	if answer, err := post(t, intranet(`127\.0\.0\.1`).Client(5*time.Second), service.URL); err == nil {
		answer.Body.Close()
		t.Error("a certificate that nobody vouches for is taken")
	} else if !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
}

// No text makes the judge panic, or lets it call what is written as an address of this machine.
func FuzzJudge(f *testing.F) {
	for spelled := range forbidden {
		f.Add(spelled)
	}
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no names") }}
	strangers := outbound.NewStrangers(outbound.StrangersOptions{Resolver: resolver})
	f.Fuzz(func(t *testing.T, address string) {
		if reason := strangers.Judge(t.Context(), address, true); reason == "" && (strings.Contains(address, "//127.") || strings.Contains(address, "//10.")) {
			t.Errorf("%q would be called", address)
		}
	})
}
