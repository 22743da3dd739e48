package sealed_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/sealed"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func keys(t testing.TB, secretKey string) *sealed.Keys {
	t.Helper()
	k, err := sealed.New(secretKey)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func seal(t testing.TB, k *sealed.Keys, purpose string, row int64, text string) string {
	t.Helper()
	text, err := k.Seal(purpose, row, text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Rule: what was sealed is read again with the same key, and does not show what is inside, nor that two are the same.
func TestWhatIsSealedOpens(t *testing.T) {
	t.Parallel()
	k := keys(t, "a key of the operator")
	for _, text := range []string{secret, "", "Ünïcode\x00", strings.Repeat("x", 10_000)} {
		first, second := seal(t, k, "webhooks", 7, text), seal(t, k, "webhooks", 7, text)
		if first == second {
			t.Error("the same text is sealed the same twice")
		}
		if text != "" && strings.Contains(first, text) {
			t.Errorf("%q shows what is inside", first)
		}
		if got, err := keys(t, "a key of the operator").Open("webhooks", 7, first); err != nil || got != text {
			t.Errorf("opened %q, %v, want %q", got, err, text)
		}
	}
}

// Rule: a secret opens only with its key, for its purpose and its row, and as it was sealed.
func TestNothingElseOpens(t *testing.T) {
	t.Parallel()
	k := keys(t, "a key of the operator")
	whole := seal(t, k, "webhooks", 7, secret)
	changed := []byte(whole)
	changed[len(changed)/2] ^= 1
	for name, attempt := range map[string]func() (string, error){
		"another key":     func() (string, error) { return keys(t, "another key of it").Open("webhooks", 7, whole) },
		"another purpose": func() (string, error) { return k.Open("oidc", 7, whole) },
		"another row":     func() (string, error) { return k.Open("webhooks", 8, whole) },
		"a changed byte":  func() (string, error) { return k.Open("webhooks", 7, string(changed)) },
		"cut short":       func() (string, error) { return k.Open("webhooks", 7, whole[:10]) },
		"no version":      func() (string, error) { return k.Open("webhooks", 7, strings.TrimPrefix(whole, "v1.")) },
		"a later version": func() (string, error) { return k.Open("webhooks", 7, "v2."+strings.TrimPrefix(whole, "v1.")) },
		"a plain text":    func() (string, error) { return k.Open("webhooks", 7, secret) },
		"nothing":         func() (string, error) { return k.Open("webhooks", 7, "") },
	} {
		got, err := attempt()
		if !errors.Is(err, sealed.ErrCannotOpen) || got != "" {
			t.Errorf("%s: %q, %v", name, got, err)
			continue
		}
		if strings.Contains(err.Error(), "whsec_") {
			t.Errorf("%s: the error shows a secret: %v", name, err)
		}
	}
	if _, err := sealed.New(""); err == nil {
		t.Error("an empty key is taken")
	}
}

func FuzzOpen(f *testing.F) {
	k := keys(f, "a key of the operator")
	f.Add("v1.")
	f.Add(seal(f, k, "other", 7, secret))
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := k.Open("webhooks", 7, text); !errors.Is(err, sealed.ErrCannotOpen) {
			t.Errorf("%q opened: %v", text, err)
		}
	})
}
