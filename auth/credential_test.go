package auth

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
)

func TestBearerToken(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		line, token string
		bearer      bool
	}{
		{"Bearer abc", "abc", true},
		{"bearer abc", "abc", true},
		{"BEARER  abc", "abc", true},
		{"BeArEr\tabc", "abc", true},
		{"Bearer \t abc \n", "abc", true},
		{" Bearer abc", "abc", true},
		{"Bearer", "", true},
		{"Bearer ", "", true},
		{"Basic abc", "", false},
		{"Bearerabc", "", false},
		{"abc", "", false},
		{"", "", false},
	} {
		if token, bearer := bearerToken(row.line); token != row.token || bearer != row.bearer {
			t.Errorf("bearerToken(%q) = %q, %v, want %q, %v", row.line, token, bearer, row.token, row.bearer)
		}
	}
}

// sent is as much of a request's context as readCredential touches.
type sent struct {
	echo.Context

	request *http.Request
}

func (s *sent) Request() *http.Request  { return s.request }
func (s *sent) QueryParams() url.Values { return s.request.URL.Query() }

func FuzzBearer(f *testing.F) {
	for _, seed := range []string{"Bearer abc", "bearer  abc", "Basic x", "Bearer", "BEARER\t\x00", "Bearer a b", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		token, bearer := bearerToken(line)
		if !bearer && token != "" {
			t.Fatalf("%q is not Bearer and has the token %q", line, token)
		}
		if token != strings.TrimSpace(token) || !strings.Contains(line, token) {
			t.Fatalf("%q has the token %q", line, token)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["Authorization"] = []string{line}
		cred := readCredential(&sent{request: r}, false)
		if cred.presented != bearer || cred.foreign == bearer {
			t.Fatalf("%q: presented %v, foreign %v", line, cred.presented, cred.foreign)
		}
		if cred.presented && cred.fault == "" && !Check(cred.token) {
			t.Fatalf("%q would be looked up", line)
		}
	})
}

func FuzzToken(f *testing.F) {
	f.Add("stn_")
	f.Add("stn_" + strings.Repeat("0", 43) + Checksum(strings.Repeat("0", 43)))
	f.Fuzz(func(t *testing.T, plain string) {
		if !Check(plain) {
			return
		}
		if plain == "" || len(plain) > 512 || strings.ContainsAny(plain, " \r\n\t\x00") {
			t.Fatalf("%q would be looked up", plain)
		}
		if rest, ours := strings.CutPrefix(plain, "stn_"); ours && Checksum(rest[:43]) != rest[43:] {
			t.Fatalf("%q has a wrong checksum", plain)
		}
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	random := "4fZq0000000000000000000000000000000000000aB"
	good := "stn_" + random + Checksum(random)
	if len(good) != 53 || !Check(good) {
		t.Fatalf("%q must be well formed", good)
	}
	for i := range len(good) {
		changed := []byte(good)
		changed[i] ^= 1
		if i >= len("stn_") && Check(string(changed)) {
			t.Errorf("one character changed at %d goes unnoticed", i)
		}
	}
	swapped := good[:len(good)-1] + strings.ToUpper(good[len(good)-1:])
	if lower := good[:len(good)-1] + strings.ToLower(good[len(good)-1:]); swapped == good {
		swapped = lower
	}
	if swapped != good && Check(swapped) {
		t.Error("the last character's case changed goes unnoticed")
	}
	for _, bad := range []string{"", "stn_", good + "0", good[:52], strings.Repeat("x", 10_000), "with space", "tab\t", "\xc3\xa9"} {
		if Check(bad) {
			t.Errorf("%.60q is worth no look-up", bad)
		}
	}
	if imported := "Zx-_9kJimported-from-elsewhere"; !Check(imported) {
		t.Errorf("%q was made elsewhere and must be looked up", imported)
	}
}
