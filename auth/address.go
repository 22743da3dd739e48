package auth

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Addresses tells which address a request came from. It believes a forwarding header only as far as the
// operator vouches for the proxies that wrote it.
type Addresses struct {
	count    int
	networks []netip.Prefix
	now      func() time.Time
	logger   *slog.Logger
	ignored  func()

	mu     sync.Mutex // protects warned
	warned time.Time
}

// AddressOptions configures Addresses.
type AddressOptions struct {
	// TrustedProxies is how many proxies of ours stand in front; 0 means none, and no header is believed.
	TrustedProxies int
	// TrustedNetworks are where those proxies connect from; a header from any other peer is not believed.
	TrustedNetworks []netip.Prefix
	Now             func() time.Time
	Logger          *slog.Logger
	// Ignored is called each time a warning is written that a header was not believed; nil calls nothing.
	Ignored func()
}

// NewAddresses makes an Addresses.
func NewAddresses(o AddressOptions) *Addresses {
	return &Addresses{
		count: o.TrustedProxies, networks: o.TrustedNetworks, now: o.Now, logger: o.Logger, ignored: o.Ignored,
	}
}

const forwardedFor = "X-Forwarded-For"

// Of is the client's address: without port and zone, a mapped IPv4 address as IPv4. It is the zero Addr only
// when the peer has none, as on a socket that is not of the internet.
func (a *Addresses) Of(r *http.Request) netip.Addr {
	peer, _ := parseHop(r.RemoteAddr)
	lines := r.Header[forwardedFor]
	if a.count == 0 {
		if len(lines) > 0 || r.Header["Forwarded"] != nil || r.Header["X-Real-Ip"] != nil {
			a.warn("no proxy is trusted: TRUSTED_PROXY_COUNT is 0")
		}
		return peer
	}
	if !a.trusts(peer) {
		if len(lines) > 0 {
			a.warn("the peer is not in TRUSTED_PROXY_NETWORKS")
		}
		return peer
	}
	hop, ok := hopFromRight(lines, a.count)
	if !ok {
		a.warn("X-Forwarded-For has fewer hops than TRUSTED_PROXY_COUNT")
		return peer
	}
	client, ok := parseHop(hop)
	if !ok {
		a.warn("the hop of X-Forwarded-For that TRUSTED_PROXY_COUNT points at is not an address")
		return peer
	}
	return client
}

// translated is how a translator shows IPv4 clients to a server that has IPv6 alone.
var translated = netip.MustParsePrefix("64:ff9b::/96")

// Counted is the address as limits count it: an IPv6 address stands for its whole /64, which one household or
// one machine commands. An IPv4 address that was translated stands for itself: all of them share one /64.
func Counted(addr netip.Addr) netip.Addr {
	if !addr.Is6() {
		return addr
	}
	if translated.Contains(addr) {
		whole := addr.As16()
		return netip.AddrFrom4([4]byte(whole[12:]))
	}
	prefix, err := addr.Prefix(64)
	if err != nil {
		return addr
	}
	return prefix.Addr()
}

func (a *Addresses) trusts(peer netip.Addr) bool {
	for _, network := range a.networks {
		if network.Contains(peer) {
			return true
		}
	}
	return false
}

// warn tells the operator, at most once a minute, that clients may be counted under the wrong address. The
// header's text is a stranger's and is not logged.
func (a *Addresses) warn(reason string) {
	now := a.now()
	a.mu.Lock()
	due := a.warned.IsZero() || now.Sub(a.warned) >= time.Minute
	if due {
		a.warned = now
	}
	a.mu.Unlock()
	if !due {
		return
	}
	a.logger.Warn("a forwarding header was not believed; the client counts as its peer", "reason", reason)
	if a.ignored != nil {
		a.ignored()
	}
}

// hopFromRight is the n-th element from the right of all lines joined; ok is false when there are fewer.
func hopFromRight(lines []string, n int) (hop string, ok bool) {
	for i := len(lines) - 1; i >= 0; i-- {
		rest := lines[i]
		for {
			comma := strings.LastIndexByte(rest, ',')
			n--
			if n == 0 {
				return rest[comma+1:], true
			}
			if comma < 0 {
				break
			}
			rest = rest[:comma]
		}
	}
	return "", false
}

// parseHop reads an address with or without port, brackets and zone.
func parseHop(hop string) (netip.Addr, bool) {
	hop = strings.TrimSpace(hop)
	if withPort, err := netip.ParseAddrPort(hop); err == nil { // first: so is every peer written
		return withPort.Addr().WithZone("").Unmap(), true
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(hop, "["), "]"))
	if err != nil {
		return netip.Addr{}, false
	}
	return addr.WithZone("").Unmap(), true
}
