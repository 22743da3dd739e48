package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"code.dny.dev/ssrf"
)

// Reason says why an address that a user chose is not called; empty for one that is.
type Reason string

// The reasons. The list is closed: programs branch on it, and the user guide has it.
const (
	URLInvalid     Reason = "url_invalid"
	SchemeRefused  Reason = "scheme_not_allowed"
	HostInvalid    Reason = "host_invalid"
	NameUnknown    Reason = "name_not_resolved"
	AddressRefused Reason = "address_not_allowed"
	noReason       Reason = ""
)

// MaxStrangersURL is how many characters an address may have: signed links are long. Who takes shorter ones alone says so.
const MaxStrangersURL = 2048

// Meaning is the reason's sentence, as users read it.
func (r Reason) Meaning() string {
	switch r {
	case URLInvalid:
		return "it must be an absolute address without user, password and spaces, and not too long"
	case SchemeRefused:
		return "it must begin with https://, or with http:// where that is allowed for it"
	case HostInvalid:
		return "its host must be a name in ASCII, or an IP address in its usual form"
	case NameUnknown:
		return "its host has no address"
	case AddressRefused:
		return "its host has an address that is not on the public internet, or is this server's own"
	case noReason:
	}
	return ""
}

// Refused is the error of a call that was not made because of where it would have gone.
type Refused struct{ Reason Reason }

// Error implements error.
func (r *Refused) Error() string { return "the address is not called: " + string(r.Reason) }

// StrangersOptions say what Strangers calls beyond the public internet, and what it never does.
type StrangersOptions struct {
	// Intranet is matched with the whole host, in lower case: such a host may be in a private network, or on this machine.
	// Nil matches none.
	Intranet *regexp.Regexp
	// Own are the addresses on which this server listens, each "host:port" or ":port". They are never called.
	Own []string
	// Resolver is nil for the machine's.
	Resolver *net.Resolver
}

// Strangers calls addresses that users chose. Every call goes to the public internet: a name is resolved for each new
// connection, all of its addresses must be public, and the connection is made to one that was checked, whatever the name
// leads to a moment later. Redirects are answers like others; proxies of the environment are not used; certificates are
// verified.
type Strangers struct {
	options          StrangersOptions
	public, intranet *ssrf.Guardian
	own              []ownAddress
}

// NewStrangers makes one.
func NewStrangers(o StrangersOptions) *Strangers {
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	return &Strangers{
		options: o, own: ownAddresses(o.Own),
		public:   ssrf.New(ssrf.WithAnyPort()),
		intranet: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(intranetV4()...), ssrf.WithAllowedV6Prefixes(intranetV6()...)),
	}
}

// intranetV4 and intranetV6 are what a host of the intranet may have besides public addresses. Link-local ones are not
// among them: there the metadata of clouds is served, keys included.
func intranetV4() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
		netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("127.0.0.0/8"),
	}
}

func intranetV6() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("::1/128")}
}

// Judge says why an address would not be called now, or nothing. It resolves the name, and what it says is true for this
// moment only: the same is judged again for each connection.
func (s *Strangers) Judge(ctx context.Context, address string, allowHTTP bool) Reason {
	parsed, reason := parseStranger(address, allowHTTP)
	if reason != noReason {
		return reason
	}
	_, reason = s.resolve(ctx, parsed.Hostname(), portOf(parsed))
	return reason
}

// parseStranger judges what can be judged without resolving anything.
func parseStranger(address string, allowHTTP bool) (*url.URL, Reason) {
	if utf8.RuneCountInString(address) > MaxStrangersURL || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return nil, URLInvalid
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Opaque != "" || parsed.User != nil {
		return nil, URLInvalid
	}
	if parsed.Scheme != "https" && (parsed.Scheme != "http" || !allowHTTP) {
		return nil, SchemeRefused
	}
	if port := parsed.Port(); strings.HasSuffix(parsed.Host, ":") || port == "0" || len(port) > 5 {
		return nil, URLInvalid
	}
	if !plainHost(parsed.Hostname()) {
		return nil, HostInvalid
	}
	return parsed, noReason
}

// plainHost reports whether a host is an IP address in its usual form, or a name that no resolver takes for one: what
// ends in a number is an address to some of them (127.1, 0x7f.1, 2130706433, 017700000001).
func plainHost(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Zone() == ""
	}
	name := strings.TrimSuffix(host, ".")
	if name == "" || len(name) > 253 {
		return false
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	last := strings.ToLower(labels[len(labels)-1])
	return strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}

func portOf(address *url.URL) string {
	if port := address.Port(); port != "" {
		return port
	}
	if address.Scheme == "http" {
		return "80"
	}
	return "443"
}

// resolve lists the addresses of a host, all of which may be called: one that may not refuses the host.
func (s *Strangers) resolve(ctx context.Context, host, port string) ([]netip.AddrPort, Reason) {
	if !plainHost(host) {
		return nil, HostInvalid
	}
	var number uint16
	if _, err := fmt.Sscanf(port, "%d", &number); err != nil {
		return nil, URLInvalid
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	found, err := s.lookup(ctx, host)
	if err != nil || len(found) == 0 {
		return nil, NameUnknown
	}
	addresses := make([]netip.AddrPort, 0, len(found))
	for _, address := range found {
		target := netip.AddrPortFrom(address, number)
		if !s.callable(host, target) {
			return nil, AddressRefused
		}
		addresses = append(addresses, target)
	}
	return addresses, noReason
}

// resolveTimeout bounds the answer of a name server that somebody else runs.
const resolveTimeout = 5 * time.Second

func (s *Strangers) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if address, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{address}, nil
	}
	found, err := s.options.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("resolve the host: %w", err)
	}
	for i := range found {
		found[i] = found[i].Unmap() // the resolver gives IPv4 in either form
	}
	return found, nil
}

// callable judges one address of a host.
func (s *Strangers) callable(host string, target netip.AddrPort) bool {
	return s.guardian(host).SafeAddrPort(target) == nil && !s.isOwn(target)
}

func (s *Strangers) guardian(host string) *ssrf.Guardian {
	if s.options.Intranet != nil && s.options.Intranet.MatchString(strings.ToLower(host)) {
		return s.intranet
	}
	return s.public
}

// Client makes a client that calls what may be called; a call takes at most timeout, its body included. A call that may
// not be made fails with *Refused. Read answers with ReadAll.
func (s *Strangers) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: toStrangers{oneProtocol{&http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				// The transport lets a dial go on when its request has ended.
				ctx, cancel := context.WithTimeout(ctx, timeout)
				defer cancel()
				return s.dial(ctx, network, address)
			},
			ForceAttemptHTTP2:      true,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    timeout,
			ResponseHeaderTimeout:  timeout,
			IdleConnTimeout:        strangersIdle,
			MaxIdleConns:           idleInAll,
			MaxIdleConnsPerHost:    idlePerHost,
			MaxResponseHeaderBytes: headersBytes,
			ReadBufferSize:         bufferBytes,
			WriteBufferSize:        bufferBytes,
			DisableCompression:     true, // a small answer may be large when it is unpacked
		}}},
	}
}

// strangersIdle is short: how long a checked connection stands is how long a name's change goes unnoticed.
const strangersIdle = 10 * time.Second

// toStrangers judges what stands in the address before a connection that is open already could be used for it.
type toStrangers struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t toStrangers) RoundTrip(request *http.Request) (*http.Response, error) {
	if _, reason := parseStranger(request.URL.String(), true); reason != noReason {
		if request.Body != nil {
			return nil, errors.Join(&Refused{reason}, request.Body.Close())
		}
		return nil, &Refused{reason}
	}
	return t.next.RoundTrip(request) //nolint:wrapcheck // a RoundTripper stands in for the transport's own
}

// dial resolves, judges and connects to what was judged. The hook on the socket judges once more where the connection
// really goes: nothing between the two may choose another address.
func (s *Strangers) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("read the address: %w", err)
	}
	targets, reason := s.resolve(ctx, host, port)
	if reason != noReason {
		return nil, &Refused{reason}
	}
	dialer := &net.Dialer{Control: func(network, address string, _ syscall.RawConn) error {
		target, err := netip.ParseAddrPort(address)
		if err != nil || !s.callable(host, target) {
			return &Refused{AddressRefused}
		}
		return s.guardian(host).Safe(network, address, nil)
	}}
	var faults []error
	for i, target := range targets {
		connection, err := dialOne(ctx, dialer, network, target, len(targets)-i)
		if err == nil {
			return connection, nil
		}
		faults = append(faults, err)
	}
	return nil, errors.Join(faults...)
}

// dialOne leaves time for the addresses that are still to be tried.
func dialOne(ctx context.Context, dialer *net.Dialer, network string, target netip.AddrPort, remaining int) (net.Conn, error) {
	if deadline, bounded := ctx.Deadline(); bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(remaining))
		defer cancel()
	}
	connection, err := dialer.DialContext(ctx, network, target.String())
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return connection, nil
}
