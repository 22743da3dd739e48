package oidc

import gooidc "github.com/coreos/go-oidc/v3/oidc"

// maxValues is how many texts of the role claim are looked at.
const maxValues = 1000

// claims are what an issuer says of somebody. What has another form than it should counts for nothing.
type claims map[string]any

func (c claims) has(name string) bool { return c[name] != nil }

func (c claims) text(name string) string {
	value, _ := c[name].(string)
	return value
}

// who reads the claims that count.
func (c claims) who(token *gooidc.IDToken, roleClaim string) Who {
	who := Who{Issuer: token.Issuer, Subject: token.Subject, Email: c.text("email"), Name: c.text("preferred_username")}
	if who.Name == "" {
		who.Name = c.text("name")
	}
	switch verified := c["email_verified"].(type) {
	case bool:
		who.EmailDenied = !verified
	case string: // some issuers write it as a text
		who.EmailDenied = verified != "true"
	}
	switch value := c[roleClaim].(type) {
	case string:
		who.Values = []string{value}
	case []any:
		for _, one := range value[:min(len(value), maxValues)] {
			if text, is := one.(string); is {
				who.Values = append(who.Values, text)
			}
		}
	}
	return who
}
