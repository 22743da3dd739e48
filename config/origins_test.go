package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/config"
)

// Origins are exact and as browsers write them; what no browser would send is a fault, and each of them is named.
func TestOrigins(t *testing.T) {
	t.Parallel()
	good := []string{"https://app.example.org", "http://localhost:5173", "http://127.0.0.1:3000", "https://[2001:db8::1]:8443", "https://xn--mnchen-3ya.example", "http://notes"}
	if got := load(t, "CORS_ALLOWED_ORIGINS= "+strings.Join(good, ", ")+" ").AllowedOrigins; !slices.Equal(got, good) {
		t.Errorf("got %q, want %q", got, good)
	}
	if got := load(t, "CORS_ALLOWED_ORIGINS=").AllowedOrigins; got != nil {
		t.Errorf("without the setting %q are allowed", got)
	}
	bad := map[string]string{
		"*": "wildcard", "https://*.example.org": "wildcard", "null": "not an origin", "app.example.org": "not an origin", "//app.example.org": "not an origin",
		"https://": "not an origin", "ftp://app.example.org": "not an origin", "https://app.example.org/path": "not an origin",
		"https://app.example.org?q": "not an origin", "https://app.example.org/": "is written https://app.example.org by",
		"https://App.Example.org": "is written https://app.example.org by", "HTTPS://app.example.org": "is written https://app.example.org by",
		"https://app.example.org:443": "is written https://app.example.org by", "http://app.example.org:80": "is written http://app.example.org by",
		"http://a:08080": "is written http://a:8080 by", "https://a:": "not an origin", "https://a:0": "not an origin", "https://a:65536": "not an origin",
		"https://münchen.example": "not an origin", "https://[fe80::1%25eth0]": "not an origin", "https://[::ffff:10.0.0.1]": "not an origin",
		"https://[2001:DB8:0::1]": "is written https://[2001:db8::1] by", "https://a#": "is written https://a by", "https://a?": "is written https://a by",
		"https://a%20b": "not an origin", "javascript:alert(1)": "not an origin", "https:app.example.org": "not an origin",
	}
	for text, want := range bad {
		_, _, err := config.Load([]string{"CORS_ALLOWED_ORIGINS=https://good.example," + text}, "")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), `"https://good.example" `) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	_, _, err := config.Load([]string{"CORS_ALLOWED_ORIGINS=https://anna:hunter2@a.example,https://b.example/,ftp://c"}, "")
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "https://b.example/") || !strings.Contains(err.Error(), "ftp://c") {
		t.Errorf("three faults: %v", err)
	}
	if _, _, err := config.Load([]string{"CORS_ALLOWED_ORIGINS=" + strings.Repeat("https://a.example,", 101)}, ""); err == nil || !strings.Contains(err.Error(), "100") {
		t.Errorf("101 origins: %v", err)
	}
}
