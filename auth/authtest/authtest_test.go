package authtest_test

import (
	"testing"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
)

func TestPrincipalsAreWhatAGuardMakes(t *testing.T) {
	t.Parallel()
	p := authtest.ByToken(t, 7, 3, 11, "read upload")
	if p.UserID() != 7 || p.OrganizationID() != 3 || p.TokenID() != 11 || p.Via() != auth.ViaHeader {
		t.Errorf("by token: %+v", p)
	}
	if !p.Scopes().Has(auth.Upload) || p.Scopes().Has(auth.Delete) || !p.MayRead() {
		t.Errorf("scopes %v", p.Scopes().Names())
	}
	s := authtest.BySession(t, 7, 3)
	if s.UserID() != 7 || s.TokenID() != 0 || s.Via() != auth.ViaSession || !s.Scopes().Full() {
		t.Errorf("by session: %+v", s)
	}
	if zero := (auth.Principal{}); zero.MayRead() || zero.UserID() != 0 {
		t.Error("the zero principal may read")
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	if got := auth.AssignableRoles(); len(got) != 3 || len(auth.Roles()) != 7 {
		t.Errorf("%v of %d roles", got, len(auth.Roles()))
	}
}
