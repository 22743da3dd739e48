package handlers

import (
	"net/url"
	"strings"
	"testing"
)

// Rule: a browser goes on at a path of this server or at its beginning.
func TestWhereABrowserGoesOn(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"/", "/recordings/7", "/a?b=c&d=%2F#e", "/a//b", "/%5Cevil.example", "/ü"} {
		if got := localPath(good); got != good {
			t.Errorf("%q became %q", good, got)
		}
	}
	for _, bad := range []string{
		"", "recordings", "//evil.example", "/\\evil.example", "\\/evil.example", "https://evil.example", "/\tevil", "/\n/evil.example", "/a\x00b", "/ a",
		"/a\x7f", "/%zz", "/" + strings.Repeat("a", maxNext), "/\u2028", "/a\xff", " /a", "javascript:alert(1)", "/\\\\evil.example",
	} {
		if got := localPath(bad); got != "/" {
			t.Errorf("%q leads to %q", bad, got)
		}
	}
	if got := withNotice("/a?b=c#d", "x"); got != "/a?b=c&notice=x#d" {
		t.Errorf("with a notice it is %q", got)
	}
}

// Whatever is asked for, a browser resolves what is answered to an address of the same host, as do older ones that read
// backslashes as slashes and leave out tabs and line breaks.
func FuzzWhereABrowserGoesOn(f *testing.F) {
	for _, seed := range []string{"/", "//evil.example", "/\\evil.example", "/\t/evil.example", "https://evil.example", "/a?b#c", "/%2F%2Fevil"} {
		f.Add(seed)
	}
	here, err := url.Parse("https://notes.example.org/api/auth/oidc/callback")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, next string) {
		for _, path := range []string{localPath(next), withNotice(localPath(next), "x")} {
			lenient := strings.NewReplacer("\\", "/", "\t", "", "\n", "", "\r", "").Replace(path)
			for _, read := range []string{path, lenient} {
				at, err := here.Parse(read)
				if err != nil || at.Host != here.Host || at.Scheme != here.Scheme || strings.HasPrefix(read, "//") {
					t.Errorf("%q became %q, which leads to %v, %v", next, path, at, err)
				}
			}
		}
	})
}
