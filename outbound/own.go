package outbound

import (
	"net"
	"net/netip"
	"strconv"
)

// ownAddress is where this server listens: on one address, or on every one of the machine.
type ownAddress struct {
	host netip.Addr // invalid for every one
	port uint16
}

// ownAddresses reads listening addresses. What cannot be read, a name for instance, stands for every address of the
// machine: to refuse too much is the safe side.
func ownAddresses(listening []string) []ownAddress {
	var own []ownAddress
	for _, address := range listening {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			continue
		}
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			continue
		}
		at := ownAddress{port: uint16(number)}
		if parsed, err := netip.ParseAddr(host); err == nil && !parsed.IsUnspecified() {
			at.host = parsed.Unmap()
		}
		own = append(own, at)
	}
	return own
}

// isOwn reports whether a connection would reach this server.
func (s *Strangers) isOwn(target netip.AddrPort) bool {
	address := target.Addr().Unmap()
	for _, own := range s.own {
		if own.port == target.Port() && (own.host == address || !own.host.IsValid() && ofThisMachine(address)) {
			return true
		}
	}
	return false
}

// ofThisMachine asks each time, since interfaces come and go. When it cannot be told, everything is: the call is refused.
func ofThisMachine(address netip.Addr) bool {
	if address.IsLoopback() {
		return true
	}
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, found := range interfaces {
		if network, ok := found.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(network.IP); ok && ip.Unmap() == address {
				return true
			}
		}
	}
	return false
}
