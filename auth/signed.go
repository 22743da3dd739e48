package auth

import (
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

// RequireSignature is the middleware of a row whose requests are signed: the size that is declared and what the address
// may still send are judged before a byte is read, then verify says whose the signature is, and the rest is that of
// RequireScope for a credential of that account with these scopes. Whatever verify does not know is one identical 401;
// its error is what was wrong with the body besides, or that it could not be told.
func (g *Guard) RequireSignature(
	row Row, verify func(echo.Context) (signer Signer, ok bool, err error), scopes ...Scope,
) echo.MiddlewareFunc {
	rule := g.lateRule(row, SessionCallers, scopes)
	granted := make([]byte, 0, len(scopes)*8)
	for _, scope := range scopes {
		granted = append(append(granted, ' '), scope.name...)
	}
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
			signer, ok, err := verify(c)
			if err != nil {
				return err
			}
			if !ok || signer.UserID == 0 {
				return g.strange(c, v)
			}
			// Not before: an encoding that is not signed decides nothing about the bytes that are.
			if err := checkEncoding(c.Request()); err != nil {
				return err
			}
			p := Principal{
				userID: signer.UserID, orgID: signer.OrganizationID, role: signer.Role,
				scopes: ParseScopes(string(granted)), via: ViaSignature,
			}
			if g.authorize(p, rule) != nil {
				return g.strange(c, v)
			}
			if err := g.admitLate(c, v, p); err != nil {
				return err
			}
			return next(c)
		}
	}
}
