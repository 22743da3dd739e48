package config

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxOrigins is more than anybody's list of sites; a longer one is a list of something else.
const maxOrigins = 100

// parseOrigins reads exact origins, and tells of every one that is none. An origin that no browser ever sends would
// allow nobody, in silence, so that each must be written as browsers write it.
func parseOrigins(text string) ([]string, error) {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	if len(parts) == 0 {
		return nil, errAllowed
	}
	if len(parts) > maxOrigins {
		return nil, errors.New("must be at most " + strconv.Itoa(maxOrigins) + " origins")
	}
	var faults []string
	for _, part := range parts {
		if fault := originFault(part); fault != "" {
			faults = append(faults, shown(part)+" "+fault)
		}
	}
	if len(faults) > 0 {
		return nil, errors.New(strings.Join(faults, "; "))
	}
	return parts, nil
}

// originFault says what is wrong with an origin; "" for nothing.
func originFault(text string) string {
	const wanted = "is not an origin such as https://app.example.org or http://localhost:5173: scheme, host and port, and nothing behind them"
	if strings.Contains(text, "*") {
		return "has a wildcard; list each origin, because every one of them can use the tokens that its pages hold"
	}
	u, err := url.Parse(text)
	if err != nil || !isHTTP(u) || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return wanted
	}
	written, ok := writtenOrigin(u)
	if !ok {
		return wanted
	}
	if written != text {
		return "is written " + written + " by browsers"
	}
	return ""
}

// writtenOrigin is how browsers write the origin of an address: in lower case, without the scheme's own port.
func writtenOrigin(u *url.URL) (string, bool) {
	host := strings.ToLower(u.Hostname())
	if address, err := netip.ParseAddr(host); err == nil {
		if host = address.String(); address.Is6() {
			host = "[" + host + "]"
		}
		if address.Zone() != "" || address.Is4In6() {
			return "", false
		}
	} else if strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "" {
		return "", false
	}
	port := u.Port()
	if port == "" {
		return u.Scheme + "://" + host, !strings.HasSuffix(u.Host, ":")
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return "", false
	}
	if u.Scheme == "http" && number == 80 || u.Scheme == "https" && number == 443 {
		return u.Scheme + "://" + host, true
	}
	return u.Scheme + "://" + host + ":" + strconv.FormatUint(number, 10), true
}
