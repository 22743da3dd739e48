package auth

import (
	"context"

	"github.com/labstack/echo/v4"
)

// Signer is the account in whose name a delivery was signed, as it is now.
type Signer struct {
	UserID, OrganizationID int64
	Role                   string
}

// SignedKey is what the deliveries of an integration are signed with, and whose they are.
type SignedKey struct {
	IntegrationID int64
	// Name is what its owner calls it.
	Name string
	// Secrets are those that count now: during a rotation two.
	Secrets [][]byte
	Signer  Signer
}

// Whose tells, whenever it is asked, in whose name a delivery was signed; ok is false where its signature counts no more.
type Whose func(ctx context.Context) (signer Signer, ok bool, err error)

// RequireSignature is the middleware of a row whose requests are signed: the size that is declared and what the address
// may still send are judged before a byte is read, then verify says whose the signature is, and the rest is that of
// RequireScope for a credential of that account with these scopes. Whatever verify does not know (nil) is one identical
// 401; its error is what was wrong with the body besides, or that it could not be told. Whose it is, is asked when the body
// is here, and again by Principal.Present: an account may be disabled while its delivery arrives.
func (g *Guard) RequireSignature(row Row, verify func(echo.Context) (Whose, error), scopes ...Scope) echo.MiddlewareFunc {
	rule := g.lateRule(row, SessionCallers, scopes)
	granted := grantedBy(scopes)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			v := g.visit(c)
			v.rule = &rule
			if err := checkSize(c.Request(), row); err != nil {
				return err
			}
			if err := g.admitAddress(c, v); err != nil {
				return err
			}
			whose, err := verify(c)
			if err != nil {
				return err
			}
			present := func(ctx context.Context) (Principal, error) { return g.signedBy(ctx, c, whose, granted) }
			p, err := present(c.Request().Context())
			if err != nil {
				return err
			}
			// Not before: an encoding that is not signed decides nothing about the bytes that are.
			if err := checkEncoding(c.Request()); err != nil {
				return err
			}
			p.present = present
			if err := g.admitLate(c, v, p); err != nil {
				return err
			}
			return next(c)
		}
	}
}

func grantedBy(scopes []Scope) ScopeSet {
	text := make([]byte, 0, len(scopes)*8)
	for _, scope := range scopes {
		text = append(append(text, ' '), scope.name...)
	}
	return ParseScopes(string(text))
}

// signedBy is who a delivery is of now, or the one refusal.
func (g *Guard) signedBy(ctx context.Context, c echo.Context, whose Whose, granted ScopeSet) (Principal, error) {
	v := visitOf(c)
	if whose == nil {
		return Principal{}, g.strange(c, v)
	}
	signer, ok, err := whose(ctx)
	if err != nil {
		return Principal{}, err
	}
	p := Principal{userID: signer.UserID, orgID: signer.OrganizationID, role: signer.Role, scopes: granted, via: ViaSignature}
	if !ok || signer.UserID == 0 || g.authorize(p, *v.rule) != nil {
		return Principal{}, g.strange(c, v)
	}
	return p, nil
}
