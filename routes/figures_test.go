package routes_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
)

// own are figures of one token and one account.
type own map[*limits.Plan]map[int64][]limits.Rate

func (o own) Rates(plan *limits.Plan, id int64) ([]limits.Rate, bool) {
	rates, found := o[plan][id]
	return rates, found
}

// Rule: what an administrator gave one token holds for it and for no other; what its owner wants less for it holds
// besides, and never raises anything.
func TestFiguresOfOneTokenHoldForItAlone(t *testing.T) {
	t.Parallel()
	h := open(t, plan{
		figures:   limits.Figures{limits.TokenRead: perMinute(5), limits.AccountRead: nil},
		overrides: own{limits.TokenRead: {2: perMinute(3), 3: perMinute(3), 4: {{Limit: 0, Period: time.Minute}}}},
	})
	token := func(id int64, lowered []limits.Rate) string {
		return h.finder.Mint(auth.Token{
			ID: id, UserID: 1, OrganizationID: 10, Role: auth.RoleEditor, Scopes: auth.FullScopes(),
			RateLimits: limits.Figures{limits.TokenRead: lowered},
		})
	}
	for _, row := range []struct {
		about string
		token string
		want  int
	}{
		{"configured", token(1, nil), 5},
		{"given by the administrator", token(2, nil), 3},
		{"given by the administrator, less wanted by the owner", token(3, perMinute(2)), 2},
		{"switched off by the administrator", token(4, nil), 20},
		{"switched off by the administrator, wanted by the owner", token(4, perMinute(4)), 4},
		{"less wanted by the owner", token(5, perMinute(1)), 1},
		{"more wanted by the owner", token(6, perMinute(9)), 5},
		{"another window wanted by the owner", token(7, []limits.Rate{{Limit: 2, Period: time.Hour}}), 2},
	} {
		admitted := 0
		for admitted < 20 && h.call("GET", "/api/v1/recordings", bearer(row.token)).StatusCode == http.StatusOK {
			admitted++
		}
		if admitted != row.want {
			t.Errorf("%s: %d were admitted, want %d", row.about, admitted, row.want)
		}
	}
}
