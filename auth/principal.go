package auth

import (
	"context"
	"net/netip"
	"time"

	"github.com/stenometer/stenometer/limits"
)

// Via is where a credential stood.
type Via string

// The places.
const (
	ViaHeader  Via = "header"
	ViaQuery   Via = "query"
	ViaSession Via = "session"
	// ViaSecret is a field of the body, ViaSignature what signs it.
	ViaSecret    Via = "secret"
	ViaSignature Via = "signature"
)

// Principal is who is asking and what the credential may do. Only a Guard makes one; the zero value owns
// nothing and may do nothing.
type Principal struct {
	userID, orgID, tokenID int64
	role                   string
	scopes                 ScopeSet
	via                    Via
	// administration is false for tokens without the mark.
	administration bool
	// instance is true of administrators of the whole instance.
	instance bool
	// lowered are the figures below those in force that the token's owner wants for it.
	lowered limits.Figures
	// present looks the credential up again; nil where nobody does.
	present func(context.Context) (Principal, error)
}

// Present is the caller as it is now, or why it may not go on: a credential may have ended since it came in, or been
// narrowed. One that a Guard did not make for asking again stays what it is.
func (p Principal) Present(ctx context.Context) (Principal, error) {
	if p.present == nil {
		return p, nil
	}
	return p.present(ctx)
}

// UserID is the account's id; 0 for the zero Principal.
func (p Principal) UserID() int64 { return p.userID }

// OrganizationID is the id of the account's organization.
func (p Principal) OrganizationID() int64 { return p.orgID }

// TokenID is the token's id; 0 for a session.
func (p Principal) TokenID() int64 { return p.tokenID }

// Role is the account's role as stored; unknown roles have no verb.
func (p Principal) Role() string { return p.role }

// Scopes is what the credential may do.
func (p Principal) Scopes() ScopeSet { return p.scopes }

// Via is where the credential stood.
func (p Principal) Via() Via { return p.via }

// MayRead reports whether titles and texts may stand in an answer to this caller: content follows its scope.
func (p Principal) MayRead() bool { return p.userID != 0 && p.scopes.Has(Read) }

// AdministersInstance reports whether the caller administers the whole instance, and not only its own organization: its
// role must say so too, and of a token the mark.
func (p Principal) AdministersInstance() bool {
	return p.instance && p.administration && p.May(AdministerMembers)
}

// May reports whether the caller's role has a verb.
func (p Principal) May(verb Verb) bool { return p.userID != 0 && RoleMay(p.role, verb) }

// Token is what a TokenFinder knows of a credential and its owner. Validity is judged by the Guard at each
// request, never remembered.
type Token struct {
	ID             int64
	UserID         int64
	OrganizationID int64
	Role           string
	Scopes         ScopeSet
	ExpiresAt      *time.Time
	Revoked        bool
	OwnerDisabled  bool
	// Administration is the mark without which a token opens no row of administration, whatever its scopes.
	Administration bool
	// Instance is true where the owner administers the whole instance.
	Instance bool
	// RateLimits are figures that its owner wants for this token besides those in force; nil for none.
	RateLimits limits.Figures
}

// TokenFinder looks tokens up by the SHA-256 of their plaintext. ok is false when there is none; an error
// means that it could not be told, and is never read as "none".
type TokenFinder interface {
	FindToken(ctx context.Context, hash [32]byte) (token Token, ok bool, err error)
	// Changes is the number of changes that may have ended or narrowed a credential anywhere, as of at most
	// one second ago; an error when that cannot be told.
	Changes(ctx context.Context) (int64, error)
	// Used notes that a token was used; it returns at once and writes later.
	Used(tokenID int64, at time.Time, address netip.Addr)
}

// Session is a signed-in browser.
type Session struct {
	UserID         int64
	OrganizationID int64
	Role           string
	// Instance is true where the account administers the whole instance.
	Instance bool
}

// SessionFinder resolves the value of the session cookie. ok is false when it opens nothing.
type SessionFinder interface {
	FindSession(ctx context.Context, cookie string) (session Session, ok bool, err error)
}
