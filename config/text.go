package config

import (
	"errors"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// textRule is what one kind of text may be.
type textRule struct {
	allowed string
	// parse returns the text as it is kept.
	parse func(string) (string, error)
}

// textRules are the rules by the name that a field's tag gives.
var textRules = map[string]textRule{
	"address":        {"an address and port such as 127.0.0.1:8899 or :8899", parseAddress},
	"address-or-off": {"an address and port such as 127.0.0.1:9100, or off", parseAddressOrOff},
	"public-url":     {"an address such as https://notes.example.org, without user, query or fragment", parsePublicURL},
	"directory":      {"a path", parsePath},
	"file":           {"a path", parsePath},
	"database":       {"sqlite:///absolute/path.db, sqlite://relative/path.db or postgres://user:password@host/database", parseDatabase},
	"files":          {"file:///absolute/path or s3://bucket?region=…", parseFiles},
	"secret-key":     {"at least 16 bytes", parseSecretKey},
	"limits":         {limitsAllowed, parseLimits},
	"networks":       {"networks such as 10.0.0.0/8 or addresses, separated by commas", nil},
	"origins":        {"origins such as https://app.example.org, separated by commas", nil},
	"http":           {"an address that begins with http:// or https://, without query or fragment", parseHTTP},
	"api-key":        {"printable ASCII without spaces", parseAPIKey},
	"model":          {"at most 200 printable characters", parseModel},
	"smtp":           {smtpAllowed, parseSMTP},
	"mail-address":   {"an address such as notes@example.org or Notes <notes@example.org>", parseMailAddress},
	"issuer":         {"an address that begins with https:// or http://, without user, query or fragment", parseIssuer},
	"oidc-scopes":    {"at most 20 scopes, separated by spaces, openid among them", parseOIDCScopes},
	"models":         {"at most 100 names of at most 200 printable characters each, separated by commas", nil},
}

func parseText(rule, text string) (string, error) {
	if strings.Contains(rule, "|") {
		word := strings.ToLower(text)
		if slices.Contains(strings.Split(rule, "|"), word) {
			return word, nil
		}
		return "", errAllowed
	}
	return textRules[rule].parse(text)
}

func parseAddress(text string) (string, error) {
	_, _, err := splitAddress(text)
	return text, err
}

func parseAddressOrOff(text string) (string, error) {
	if strings.EqualFold(text, "off") {
		return "", nil
	}
	return parseAddress(text)
}

// splitAddress returns the host, "" for every interface, and the port of a listening address.
func splitAddress(text string) (host string, port int, err error) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return "", 0, errAllowed
	}
	number, err := strconv.ParseUint(text[colon+1:], 10, 16)
	if err != nil {
		return "", 0, errAllowed
	}
	host = text[:colon]
	bare := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if address, err := netip.ParseAddr(bare); err == nil {
		if address.Is6() != strings.HasPrefix(host, "[") {
			return "", 0, errAllowed
		}
		if address.IsUnspecified() {
			bare = ""
		}
	} else if strings.ContainsAny(host, "[]:/ @") {
		return "", 0, errAllowed
	}
	return bare, int(number), nil
}

func parsePublicURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || !isHTTP(u) || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errAllowed
	}
	return strings.TrimRight(text, "/"), nil
}

func parseHTTP(text string) (string, error) {
	// Speakr cuts these at "#", so that a comment behind the value may be carried over.
	text, _, _ = strings.Cut(text, "#")
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil || !isHTTP(u) || u.RawQuery != "" {
		return "", errAllowed
	}
	return strings.TrimRight(text, "/"), nil
}

func isHTTP(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Opaque == ""
}

// parsePath makes the path absolute: the addresses made of it must not change with the working directory.
func parsePath(text string) (string, error) {
	path, err := filepath.Abs(text)
	if err != nil {
		return "", errAllowed
	}
	return path, nil
}

// parseDatabase takes the path behind sqlite:// as it stands: a percent sign in it is one.
func parseDatabase(text string) (string, error) {
	if path, ok := strings.CutPrefix(text, "sqlite://"); ok {
		if path == "" || strings.HasSuffix(path, "/") || strings.Contains(path, ":memory:") || strings.Contains(path, "?") {
			return "", errors.New("must name a file and nothing else: sqlite:///absolute/path.db or sqlite://relative/path.db")
		}
		return text, nil
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") || (u.Host == "" && u.Query().Get("host") == "") {
		return "", errAllowed
	}
	return text, nil
}

func parseFiles(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" {
		return "", errAllowed
	}
	if (u.Scheme == "file" && u.Host == "" && len(u.Path) > 1) || (u.Scheme == "s3" && u.Host != "") {
		return text, nil
	}
	return "", errAllowed
}

func parseLimits(text string) (string, error) {
	_, err := ParseLimitsStorage(text)
	return text, err
}

func parseSecretKey(text string) (string, error) {
	if len(text) < 16 {
		return "", errAllowed
	}
	return text, nil
}

func parseAPIKey(text string) (string, error) {
	for _, r := range text {
		if r <= ' ' || r > '~' {
			return "", errAllowed
		}
	}
	return text, nil
}

func parseModel(text string) (string, error) {
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > 200 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", errAllowed
	}
	return text, nil
}

// oneOf writes the words of a rule "a|b|c" as a sentence does.
func oneOf(rule string) string {
	words := strings.Split(rule, "|")
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// maxModels is more than anybody offers.
const maxModels = 100

// parseModels reads names of models, separated by commas: a name may have a space in it.
func parseModels(text string) ([]string, error) {
	var names []string
	for _, part := range strings.Split(text, ",") {
		name, err := parseModel(strings.TrimSpace(part))
		if err != nil || name == "" || len(names) == maxModels {
			return nil, errAllowed
		}
		names = append(names, name)
	}
	return names, nil
}
