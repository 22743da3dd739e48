package auth

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func request(peer string, lines ...string) *http.Request {
	r := &http.Request{RemoteAddr: peer, Header: http.Header{}}
	for _, line := range lines {
		r.Header.Add("X-Forwarded-For", line)
	}
	return r
}

func addresses(count int, networks ...string) (*Addresses, *bytes.Buffer) {
	var log bytes.Buffer
	o := AddressOptions{TrustedProxies: count, Now: time.Now, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	for _, network := range networks {
		o.TrustedNetworks = append(o.TrustedNetworks, netip.MustParsePrefix(network))
	}
	return NewAddresses(o), &log
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	const proxy = "10.0.0.1:4711"
	for _, row := range []struct {
		name  string
		count int
		peer  string
		lines []string
		want  string
		warns bool
	}{
		{"no proxy, no header", 0, "192.0.2.9:1", nil, "192.0.2.9", false},
		{"no proxy, a header", 0, "192.0.2.9:1", []string{"203.0.113.5"}, "192.0.2.9", true},
		{"one proxy, the client's own header", 1, proxy, []string{"198.51.100.7, 203.0.113.5"}, "203.0.113.5", false},
		{"one proxy, a victim's address", 1, proxy, []string{"192.0.2.1,203.0.113.5"}, "203.0.113.5", false},
		{"a header from a stranger", 1, "192.0.2.9:1", []string{"203.0.113.5"}, "192.0.2.9", true},
		{"two proxies over two lines", 2, proxy, []string{"198.51.100.7", "203.0.113.5", "10.0.0.2"}, "203.0.113.5", false},
		{"two proxies over one line and a half", 2, proxy, []string{"198.51.100.7, 203.0.113.5", "10.0.0.2"}, "203.0.113.5", false},
		{"fewer hops than proxies", 2, proxy, []string{"203.0.113.5"}, "10.0.0.1", true},
		{"no hop at all", 1, proxy, nil, "10.0.0.1", true},
		{"a hop that is no address", 1, proxy, []string{"203.0.113.5, unknown"}, "10.0.0.1", true},
		{"an empty hop", 1, proxy, []string{"203.0.113.5,"}, "10.0.0.1", true},
		{"a port", 1, proxy, []string{"203.0.113.5:8080"}, "203.0.113.5", false},
		{"brackets and a port", 1, proxy, []string{"[2001:db8::5]:443"}, "2001:db8::5", false},
		{"brackets", 1, proxy, []string{"[2001:db8::5]"}, "2001:db8::5", false},
		{"a zone", 1, proxy, []string{"fe80::1%eth0"}, "fe80::1", false},
		{"a mapped address", 1, proxy, []string{"::ffff:203.0.113.5"}, "203.0.113.5", false},
		{"a mapped peer", 1, "[::ffff:10.0.0.1]:9", []string{"203.0.113.5"}, "203.0.113.5", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a, log := addresses(row.count, "10.0.0.1/32")
			if got := a.Of(request(row.peer, row.lines...)).String(); got != row.want {
				t.Errorf("address %s, want %s", got, row.want)
			}
			if warned := log.Len() > 0; warned != row.warns {
				t.Errorf("warned %v, want %v: %s", warned, row.warns, log)
			}
		})
	}
}

func TestOtherForwardingHeadersAreNotBelieved(t *testing.T) {
	t.Parallel()
	a, log := addresses(0)
	for _, name := range []string{"X-Real-IP", "Forwarded"} {
		r := request("192.0.2.9:1")
		r.Header.Set(name, "203.0.113.5")
		if got := a.Of(r).String(); got != "192.0.2.9" {
			t.Errorf("%s was believed: %s", name, got)
		}
	}
	if got := strings.Count(log.String(), "\n"); got != 1 {
		t.Errorf("%d warnings, want one a minute", got)
	}
}

func TestWarnsOnceAMinute(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	var log bytes.Buffer
	warnings := 0
	a := NewAddresses(AddressOptions{
		Now: func() time.Time { return now }, Logger: slog.New(slog.NewTextHandler(&log, nil)), Ignored: func() { warnings++ },
	})
	for range 100 {
		a.Of(request("192.0.2.9:1", "198.51.100.1"))
	}
	if warnings != 1 {
		t.Fatalf("%d warnings within a minute", warnings)
	}
	now = now.Add(time.Minute)
	a.Of(request("192.0.2.9:1", "198.51.100.1"))
	if warnings != 2 || strings.Count(log.String(), "\n") != 2 {
		t.Fatalf("%d warnings after a minute, want 2:\n%s", warnings, &log)
	}
	if strings.Contains(log.String(), "198.51.100.1") {
		t.Error("the stranger's header stands in the log")
	}
}

func TestCountedAddress(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ a, b string }{
		{"2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"},
		{"192.0.2.7", "192.0.2.7"},
	} {
		if Counted(netip.MustParseAddr(row.a)) != Counted(netip.MustParseAddr(row.b)) {
			t.Errorf("%s and %s must count as one", row.a, row.b)
		}
	}
	if Counted(netip.MustParseAddr("2001:db8:1:2::1")) == Counted(netip.MustParseAddr("2001:db8:1:3::1")) {
		t.Error("two /64 must not count as one")
	}
	if Counted(netip.MustParseAddr("64:ff9b::192.0.2.7")) != netip.MustParseAddr("192.0.2.7") {
		t.Error("a translated IPv4 address must count as itself: a server that has IPv6 alone sees all of them in one /64")
	}
	if Counted(netip.MustParseAddr("192.0.2.7")) == Counted(netip.MustParseAddr("192.0.2.8")) {
		t.Error("two IPv4 addresses must not count as one")
	}
}

func FuzzForwardedFor(f *testing.F) {
	for _, seed := range []string{"", ",", "1.2.3.4", "a, 1.2.3.4:80", "[::1%25eth0]:1", "::ffff:1.2.3.4", "fe80::1%eth0,,", "[[", "%"} {
		f.Add(seed, "10.0.0.1:1", 1)
	}
	f.Fuzz(func(t *testing.T, header, peer string, count int) {
		a, _ := addresses(count%5, "10.0.0.0/8")
		r := request(peer, header)
		got := a.Of(r)
		if got.Is4In6() || got.Zone() != "" {
			t.Fatalf("address %s keeps a zone or is mapped", got)
		}
		trusted, _ := parseHop(peer)
		if got != trusted && (count%5 <= 0 || !a.trusts(trusted)) {
			t.Fatalf("%q from the peer %q was believed", header, peer)
		}
		if counted := Counted(got); Counted(counted) != counted {
			t.Fatalf("the counted address of %s is not stable", got)
		}
	})
}
