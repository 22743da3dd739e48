// Package oidc asks an issuer of OpenID Connect who somebody is: by the code flow with PKCE and a nonce, over discovery that
// happens when it is first needed, so that an issuer that is down keeps nobody from starting the server.
package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	// maxAnswer bounds what the issuer answers, in bytes.
	maxAnswer = 1 << 20
	// pause is how long an issuer that could not be reached is not asked again: its callers are answered at once.
	pause = time.Second
)

// Options name the issuer and this server's place at it.
type Options struct {
	// Issuer is exactly what the issuer calls itself.
	Issuer string
	// ClientID and ClientSecret are ours; the secret may be empty.
	ClientID, ClientSecret string
	// Scopes are asked for, openid among them.
	Scopes []string
	// RedirectURL is where browsers come back to.
	RedirectURL string
	// RoleClaim is the claim whose texts are Who.Values.
	RoleClaim string
	// Client calls the issuer, and bounds how long.
	Client *http.Client
	// Now is the clock by which tokens expire.
	Now func() time.Time
}

// Issuer is one issuer. It is safe for concurrent use.
type Issuer struct {
	options Options

	mu       sync.Mutex // protects what follows
	provider *gooidc.Provider
	failed   error
	askAgain time.Time
}

// New makes an Issuer without calling it.
func New(o Options) *Issuer {
	client := *o.Client
	client.Transport = bounded{client.Transport}
	o.Client = &client
	return &Issuer{options: o}
}

// Who is whom the issuer vouches for.
type Who struct {
	Issuer, Subject, Email, Name string
	// EmailDenied is true where the issuer says that the address was not verified.
	EmailDenied bool
	// Values are the texts of the role claim.
	Values []string
}

// The errors of a sign-in. ErrUnavailable may pass, the others do not.
var (
	ErrUnavailable = errors.New("the issuer cannot be reached")
	ErrRefused     = errors.New("the issuer does not accept the code")
	ErrForged      = errors.New("what the issuer answered does not prove who it is")
)

// Begin is the address at the issuer to which a browser is sent.
func (i *Issuer) Begin(ctx context.Context, state, nonce, verifier string) (string, error) {
	provider, err := i.discovered(ctx)
	if err != nil {
		return "", err
	}
	return i.config(provider).AuthCodeURL(state, gooidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), nil
}

// Finish trades the code for who somebody is. Signature, issuer, audience, expiry and nonce are verified.
func (i *Issuer) Finish(ctx context.Context, code, nonce, verifier string) (Who, error) {
	provider, err := i.discovered(ctx)
	if err != nil {
		return Who{}, err
	}
	token, err := i.config(provider).Exchange(gooidc.ClientContext(ctx, i.options.Client), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return Who{}, exchangeFailed(err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return Who{}, fmt.Errorf("finish a sign-in: %w: there is no id_token", ErrForged)
	}
	verified, err := provider.Verifier(&gooidc.Config{ClientID: i.options.ClientID, Now: i.options.Now}).
		Verify(gooidc.ClientContext(ctx, i.options.Client), raw)
	if err != nil {
		return Who{}, fmt.Errorf("finish a sign-in: %w: %w", ErrForged, err)
	}
	if nonce == "" || subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(nonce)) != 1 {
		return Who{}, fmt.Errorf("finish a sign-in: %w: it answers another sign-in", ErrForged)
	}
	claims := claims{}
	if err := verified.Claims(&claims); err != nil {
		return Who{}, fmt.Errorf("read a sign-in's claims: %w: %w", ErrForged, err)
	}
	if err := i.complete(ctx, provider, token, verified.Subject, claims); err != nil {
		return Who{}, err
	}
	return claims.who(verified, i.options.RoleClaim), nil
}

// complete asks the issuer for what its token does not say, which is the rule where it also gives one for asking. What the
// token says stands, and what is said of somebody else counts for nothing.
func (i *Issuer) complete(ctx context.Context, provider *gooidc.Provider, token *oauth2.Token, subject string, known claims) error {
	if known.has("email") && known.has(i.options.RoleClaim) || provider.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := provider.UserInfo(gooidc.ClientContext(ctx, i.options.Client), oauth2.StaticTokenSource(token))
	if err != nil {
		return fmt.Errorf("ask for a sign-in's claims: %w: %w", ErrUnavailable, err)
	}
	more := claims{}
	if info.Subject != subject || info.Claims(&more) != nil {
		return fmt.Errorf("ask for a sign-in's claims: %w: they are of somebody else, or no object", ErrForged)
	}
	for name, value := range more {
		if !known.has(name) {
			known[name] = value
		}
	}
	return nil
}

// exchangeFailed tells an issuer's no from an issuer that is not there. What it wrote besides its code is not passed on.
func exchangeFailed(err error) error {
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) && answer.Response != nil && answer.Response.StatusCode < http.StatusInternalServerError {
		return fmt.Errorf("trade a code: %w: %q", ErrRefused, answer.ErrorCode)
	}
	return fmt.Errorf("trade a code: %w", ErrUnavailable)
}

func (i *Issuer) config(provider *gooidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: i.options.ClientID, ClientSecret: i.options.ClientSecret, Endpoint: provider.Endpoint(),
		RedirectURL: i.options.RedirectURL, Scopes: i.options.Scopes,
	}
}

// discovered is what the issuer says of itself, asked for once.
func (i *Issuer) discovered(ctx context.Context) (*gooidc.Provider, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.provider != nil {
		return i.provider, nil
	}
	if i.failed != nil && i.options.Now().Before(i.askAgain) {
		return nil, i.failed
	}
	// Its keys are fetched by the same client whenever they change, long after this request.
	provider, err := gooidc.NewProvider(gooidc.ClientContext(context.WithoutCancel(ctx), i.options.Client), i.options.Issuer)
	if err != nil {
		i.failed, i.askAgain = fmt.Errorf("discover the issuer: %w: %w", ErrUnavailable, err), i.options.Now().Add(pause)
		return nil, i.failed
	}
	i.provider = provider
	return provider, nil
}

// bounded cuts answers off that are longer than any that an issuer has reason to give.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxAnswer)
	}
	return response, err //nolint:wrapcheck // a RoundTripper stands in for the transport's own
}
