package config

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const smtpAllowed = "smtp://user:password@host:587 or smtps://host:465; smtp://host:25?starttls=off where it is next door and takes no password" //nolint:gosec // an example

// parseSMTP refuses a password that would cross a network in the clear.
func parseSMTP(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "smtp" && u.Scheme != "smtps") || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.Fragment != "" {
		return "", errAllowed
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", errAllowed
		}
	}
	switch u.RawQuery {
	case "":
	case "starttls=off":
		if u.Scheme != "smtp" || u.User != nil {
			return "", errors.New("must not switch STARTTLS off beside a user or smtps://: the password would be readable on its way")
		}
	default:
		return "", errAllowed
	}
	return text, nil
}

// parseMailAddress keeps one address, with a name or without.
func parseMailAddress(text string) (string, error) {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return "", errAllowed
	}
	address, err := mail.ParseAddress(text)
	if err != nil {
		return "", errAllowed
	}
	return address.String(), nil
}

// parseIssuer keeps the address to the letter: issuers that end in a slash and those that do not are two.
func parseIssuer(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || !isHTTP(u) || u.User != nil || u.RawQuery != "" || u.Fragment != "" || len(text) > maxIssuer {
		return "", errAllowed
	}
	return text, nil
}

const (
	// maxIssuer is in bytes.
	maxIssuer     = 500
	maxOIDCScopes = 20
	maxOIDCScope  = 100
	maxRoleMap    = 100
	maxRoleValue  = 200
)

func parseOIDCScopes(text string) (string, error) {
	scopes := strings.Fields(text)
	if len(scopes) > maxOIDCScopes || !slices.Contains(scopes, "openid") {
		return "", errAllowed
	}
	for _, scope := range scopes {
		if _, err := parseAPIKey(scope); err != nil || len(scope) > maxOIDCScope {
			return "", errAllowed
		}
	}
	return strings.Join(scopes, " "), nil
}

// RoleMap says which value of a claim gives which role.
type RoleMap struct{ roles map[string]string }

// IsSet reports whether there is a table at all: without one claims give no roles.
func (m RoleMap) IsSet() bool { return len(m.roles) > 0 }

// Of is the role that a value gives; empty for none.
func (m RoleMap) Of(value string) string { return m.roles[value] }

// MappedRoles are those that a table may give. They are the assignable ones of package auth, which this one is below of;
// a test compares the two.
func MappedRoles() []string { return []string{"admin", "editor", "viewer"} }

const roleMapAllowed = "pairs such as idp-admins=admin,staff=editor of admin, editor and viewer"

// ParseRoleMap reads pairs of a claim's value and a role. What stands before the last = of a pair is the value, which may
// hold one itself.
func ParseRoleMap(text string) (RoleMap, error) {
	roles := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		at := strings.LastIndexByte(pair, '=')
		if at < 0 {
			return RoleMap{}, errAllowed
		}
		value, role := strings.TrimSpace(pair[:at]), strings.TrimSpace(pair[at+1:])
		if _, err := parseModel(value); err != nil || value == "" || len(value) > maxRoleValue {
			return RoleMap{}, errAllowed
		}
		if !slices.Contains(MappedRoles(), role) {
			return RoleMap{}, fmt.Errorf("%s is no role that can be given; it must be %s", shown(role), oneOf(strings.Join(MappedRoles(), "|")))
		}
		if _, twice := roles[value]; twice {
			return RoleMap{}, fmt.Errorf("%s stands in it twice", shown(value))
		}
		roles[value] = role
	}
	if len(roles) > maxRoleMap {
		return RoleMap{}, fmt.Errorf("must be at most %d pairs", maxRoleMap)
	}
	return RoleMap{roles}, nil
}

// checkSignIn makes sure that mail and OpenID Connect have what they need.
func (l *loader) checkSignIn(c *Config) {
	if c.SMTPURL.IsSet() && c.MailFrom == "" && l.good("SMTP_URL", "MAIL_FROM") {
		l.fault("MAIL_FROM", "", "is required with SMTP_URL: "+textRules["mail-address"].allowed)
	}
	if c.SMTPURL.IsSet() && c.PublicURL == "" && l.good("SMTP_URL", "PUBLIC_URL") {
		l.warn("SMTP_URL", "is not used without PUBLIC_URL: the links in mails lead there")
	}
	if c.OIDCIssuer == "" || !l.good("OIDC_ISSUER", "OIDC_CLIENT_ID", "PUBLIC_URL") {
		return
	}
	if c.OIDCClientID == "" {
		l.fault("OIDC_CLIENT_ID", "", "is required with OIDC_ISSUER")
	}
	if c.PublicURL == "" {
		l.fault("PUBLIC_URL", "", "is required with OIDC_ISSUER, which sends browsers back there: "+textRules["public-url"].allowed)
	}
	if strings.HasPrefix(c.OIDCIssuer, "http://") {
		l.warn("OIDC_ISSUER", "is not https: whoever is on the way to it can sign in as anybody")
	}
}
