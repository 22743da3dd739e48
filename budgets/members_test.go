package budgets_test

import (
	"testing"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

// Rule: the accounts of an organization are told by what they spent, with their own budgets and those that spent nothing.
func TestMembersOfAMonth(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		r := newRig(t, db, nil)
		r.spend(1, 50)
		r.spend(0, 20)
		r.set(r.account(0), budgets.SetTokens(new(int64(900))))
		month, err := r.budgets.Month(t.Context(), r.org, "")
		if err != nil {
			t.Fatal(err)
		}
		list, total, err := r.budgets.Members(t.Context(), r.org, month, 1, 2)
		if err != nil || total != int64(len(r.users)) || len(list) != 2 {
			t.Fatalf("the members are %+v of %d, %v", list, total, err)
		}
		if list[0].UserID != r.users[1] || list[0].Money.Spent != 50 || list[0].Tokens.Budget != nil {
			t.Errorf("first is %+v", list[0])
		}
		if list[1].UserID != r.users[0] || list[1].Tokens.Spent != 20 || *list[1].Tokens.Budget != 900 || list[1].Money.Held != 0 {
			t.Errorf("second is %+v", list[1])
		}
		if rest, _, err := r.budgets.Members(t.Context(), r.org, month, 2, 2); err != nil || len(rest) > 0 && rest[0].Money.Spent != 0 {
			t.Errorf("the rest is %+v, %v", rest, err)
		}
	})
}
