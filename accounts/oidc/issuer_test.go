package oidc_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenometer/stenometer/accounts/oidc"
	"github.com/stenometer/stenometer/outbound"
)

// forger is an issuer that answers what a test tells it to: no real one lies.
type forger struct {
	*httptest.Server
	key, other *rsa.PrivateKey
	// answers says what the next code is traded for.
	claims map[string]any
	header map[string]any
	signer *rsa.PrivateKey
	status int
	// asked counts discoveries; down makes them fail.
	asked atomic.Int64
	down  atomic.Bool
	form  url.Values
	// said is what it answers who asks for more than the token says; nil refuses.
	said map[string]any
}

const client = "notes"

func newForger(t *testing.T) *forger {
	t.Helper()
	f := &forger{header: map[string]any{"alg": "RS256", "kid": "1"}, status: http.StatusOK}
	var err error
	if f.key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	if f.other, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	f.signer = f.key
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	f.claims = map[string]any{
		"email": "ada@example.org", "groups": []any{},
		"iss": f.URL, "sub": "ada", "aud": client, "nonce": "the nonce", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
	}
	return f
}

func (f *forger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		f.asked.Add(1)
		if f.down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": f.URL, "authorization_endpoint": f.URL + "/auth", "token_endpoint": f.URL + "/token", "jwks_uri": f.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"}, "userinfo_endpoint": f.URL + "/userinfo",
		})
	case "/userinfo":
		if f.said == nil || r.Header.Get("Authorization") != "Bearer x" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(f.said)
	case "/keys":
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "kid": "1", "use": "sig", "alg": "RS256", "n": base64.RawURLEncoding.EncodeToString(f.key.N.Bytes()),
			"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(f.key.E)).Bytes()),
		}}})
	case "/token":
		_ = r.ParseForm()
		f.form = r.Form
		w.WriteHeader(f.status)
		if f.status != http.StatusOK {
			fmt.Fprint(w, `{"error":"invalid_grant","error_description":"a secret of the issuer"}`)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": f.token()})
	}
}

func (f *forger) token() string {
	part := func(v any) string {
		written, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(written)
	}
	signed := part(f.header) + "." + part(f.claims)
	if f.header["alg"] == "none" {
		return signed + "."
	}
	sum := sha256.Sum256([]byte(signed))
	signature, _ := rsa.SignPKCS1v15(rand.Reader, f.signer, crypto.SHA256, sum[:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func (f *forger) issuer(now func() time.Time) *oidc.Issuer {
	return oidc.New(oidc.Options{
		Issuer: f.URL, ClientID: client, Scopes: []string{"openid"}, RedirectURL: "https://notes.example.org/back", RoleClaim: "groups",
		Client: outbound.Operator(5 * time.Second), Now: now,
	})
}

// Rule: a browser is sent with state, nonce and the digest of the verifier, and the verifier goes with the code alone.
func TestACodeIsProvedOurs(t *testing.T) {
	t.Parallel()
	f := newForger(t)
	issuer := f.issuer(time.Now)
	address, err := issuer.Begin(context.Background(), "the state", "the nonce", "the verifier")
	if err != nil {
		t.Fatal(err)
	}
	sent, _ := url.Parse(address)
	digest := sha256.Sum256([]byte("the verifier"))
	want := url.Values{
		"client_id": {client}, "response_type": {"code"}, "scope": {"openid"}, "redirect_uri": {"https://notes.example.org/back"},
		"state": {"the state"}, "nonce": {"the nonce"}, "code_challenge_method": {"S256"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(digest[:])},
	}
	if got := sent.Query(); got.Encode() != want.Encode() || !strings.HasPrefix(address, f.URL+"/auth?") {
		t.Errorf("sent is %s", address)
	}
	f.claims["email"], f.claims["email_verified"], f.claims["preferred_username"] = "ada@example.org", false, "ada"
	f.claims["groups"] = []any{"staff", 7, "bosses"}
	who, err := issuer.Finish(context.Background(), "the code", "the nonce", "the verifier")
	if err != nil || who.Issuer != f.URL || who.Subject != "ada" || who.Email != "ada@example.org" || !who.EmailDenied || who.Name != "ada" ||
		!slices.Equal(who.Values, []string{"staff", "bosses"}) {
		t.Errorf("it is %+v, %v", who, err)
	}
	if f.form.Get("code_verifier") != "the verifier" || f.form.Get("code") != "the code" {
		t.Errorf("traded was %v", f.form)
	}
}

// Rule: what is not signed by the issuer's key, for this client, for this sign-in, by this issuer and in time is nobody.
func TestForgeriesAreRefused(t *testing.T) {
	t.Parallel()
	for about, forge := range map[string]func(*forger){
		"another key":          func(f *forger) { f.signer = f.other },
		"no signature":         func(f *forger) { f.header = map[string]any{"alg": "none"} },
		"another key's name":   func(f *forger) { f.header["kid"], f.signer = "2", f.other },
		"a key turned around":  func(f *forger) { f.header["alg"] = "HS256" },
		"another sign-in":      func(f *forger) { f.claims["nonce"] = "another" },
		"no nonce":             func(f *forger) { delete(f.claims, "nonce") },
		"another issuer":       func(f *forger) { f.claims["iss"] = "https://evil.example.org" },
		"another client":       func(f *forger) { f.claims["aud"] = "another" },
		"one that has expired": func(f *forger) { f.claims["exp"] = time.Now().Add(-time.Minute).Unix() },
		"one of later":         func(f *forger) { f.claims["nbf"] = time.Now().Add(time.Hour).Unix() },
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			f := newForger(t)
			f.claims = maps.Clone(f.claims)
			forge(f)
			if _, err := f.issuer(time.Now).Finish(context.Background(), "the code", "the nonce", "v"); !errors.Is(err, oidc.ErrForged) {
				t.Errorf("it is %v", err)
			}
		})
	}
	f := newForger(t)
	f.claims["nonce"] = ""
	if _, err := f.issuer(time.Now).Finish(context.Background(), "the code", "", "v"); !errors.Is(err, oidc.ErrForged) {
		t.Errorf("without a nonce on either side it is %v", err)
	}
}

// Rule: what the token does not say the issuer is asked for; of another subject nothing is believed, and what the token
// says stands.
func TestFurtherClaims(t *testing.T) {
	t.Parallel()
	f := newForger(t)
	delete(f.claims, "groups")
	f.said = map[string]any{"sub": "ada", "email": "eve@example.org", "groups": []any{"staff"}, "preferred_username": "ada"}
	who, err := f.issuer(time.Now).Finish(context.Background(), "c", "the nonce", "v")
	if err != nil || who.Email != "ada@example.org" || who.Name != "ada" || !slices.Equal(who.Values, []string{"staff"}) {
		t.Errorf("it is %+v, %v", who, err)
	}
	f.said["sub"] = "eve"
	if _, err := f.issuer(time.Now).Finish(context.Background(), "c", "the nonce", "v"); !errors.Is(err, oidc.ErrForged) {
		t.Errorf("of somebody else: %v", err)
	}
	f.said = nil
	if _, err := f.issuer(time.Now).Finish(context.Background(), "c", "the nonce", "v"); !errors.Is(err, oidc.ErrUnavailable) {
		t.Errorf("refused: %v", err)
	}
}

// Rule: a code that the issuer refuses is told from an issuer that is not there, and its words are not passed on.
func TestARefusedCode(t *testing.T) {
	t.Parallel()
	f := newForger(t)
	f.status = http.StatusBadRequest
	_, err := f.issuer(time.Now).Finish(context.Background(), "an old code", "the nonce", "v")
	if !errors.Is(err, oidc.ErrRefused) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "old code") {
		t.Errorf("refused: %v", err)
	}
	f.status = http.StatusInternalServerError
	if _, err := f.issuer(time.Now).Finish(context.Background(), "c", "the nonce", "v"); !errors.Is(err, oidc.ErrUnavailable) {
		t.Errorf("broken: %v", err)
	}
}

// Rule: an issuer that is down is asked again, though not by everybody at once, and its word is asked for once.
func TestAnIssuerThatIsDownComesBack(t *testing.T) {
	t.Parallel()
	f := newForger(t)
	f.down.Store(true)
	now := time.Now()
	issuer := f.issuer(func() time.Time { return now })
	for range 3 {
		if _, err := issuer.Begin(context.Background(), "s", "n", "v"); !errors.Is(err, oidc.ErrUnavailable) {
			t.Errorf("down: %v", err)
		}
	}
	if asked := f.asked.Load(); asked != 1 {
		t.Errorf("it was asked %d times within its pause", asked)
	}
	f.down.Store(false)
	now = now.Add(time.Second)
	for range 3 {
		if _, err := issuer.Begin(context.Background(), "s", "n", "v"); err != nil {
			t.Errorf("back: %v", err)
		}
	}
	if asked := f.asked.Load(); asked != 2 {
		t.Errorf("it was asked %d times", asked)
	}
}
