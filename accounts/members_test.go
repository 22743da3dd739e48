package accounts_test

import (
	"strings"
	"testing"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
)

// Rule: a list of accounts is narrowed by what is asked, pages, and reads no sign of a pattern in a text.
func TestMembersAreListed(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		v := newTown(t, db)
		if err := v.alter(accounts.Operator(), v.mel, disabled(true)); err != nil {
			t.Fatal(err)
		}
		yes, no := true, false
		for about, row := range map[string]struct {
			asked accounts.Members
			want  string
			total int64
		}{
			"all":               {accounts.Members{}, "ann ada bob eve mel", 5},
			"of one":            {accounts.Members{OrganizationID: v.eve.OrganizationID}, "eve mel", 2},
			"by text":           {accounts.Members{Text: " A"}, "ann ada bob eve mel", 5}, // example.com
			"by a name":         {accounts.Members{Text: "AD"}, "ada", 1},
			"by a pattern":      {accounts.Members{Text: "%"}, "", 0},
			"by another":        {accounts.Members{Text: "b_b"}, "", 0},
			"by role":           {accounts.Members{Role: "admin", OrganizationID: v.ann.OrganizationID}, "ann ada", 2},
			"disabled":          {accounts.Members{Disabled: &yes}, "mel", 1},
			"enabled":           {accounts.Members{Disabled: &no}, "ann ada bob eve", 4},
			"all that":          {accounts.Members{Disabled: &no, Text: "bob", OrganizationID: v.eve.OrganizationID}, "", 0},
			"a second page":     {accounts.Members{Page: 2, PerPage: 2}, "bob eve", 5},
			"a page beyond all": {accounts.Members{Page: 9, PerPage: 2}, "", 5},
		} {
			if row.asked.Page == 0 {
				row.asked.Page, row.asked.PerPage = 1, 10
			}
			page, total, err := v.store.Members(t.Context(), row.asked)
			var names []string
			for _, user := range page {
				names = append(names, user.Username)
			}
			if err != nil || total != row.total || strings.Join(names, " ") != row.want {
				t.Errorf("%s: %v of %d, %v; want %s", about, names, total, err, row.want)
			}
		}
		for _, text := range []string{strings.Repeat("x", 101), "a\x00b", "a\xffb"} {
			_, _, err := v.store.Members(t.Context(), accounts.Members{Text: text, Page: 1, PerPage: 1})
			expectProblem(t, err, problems.InvalidParameter, "a text that is none")
		}
	})
}

// Rule: an administrator makes accounts in the own organization, with no role beyond the own one; the instance's in any.
// Without a password nobody signs in.
func TestMembersAreMade(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		v, ctx := newTown(t, db), t.Context()
		asked := wish("new")
		asked.Password = ""
		made, err := v.store.CreateMember(ctx, by(v.ada), asked)
		if err != nil || made.OrganizationID != v.ada.OrganizationID || made.Role != "editor" || made.InstanceAdmin {
			t.Fatalf("made is %+v, %v", made, err)
		}
		_, err = verify(t, v.store, "new", "")
		expectProblem(t, err, problems.InvalidCredentials, "without a password")
		abroad := wish("abroad")
		abroad.OrganizationID = v.eve.OrganizationID
		_, err = v.store.CreateMember(ctx, by(v.ada), abroad)
		expectProblem(t, err, problems.NotFound, "in another organization")
		if made, err = v.store.CreateMember(ctx, by(v.ann), abroad); err != nil || made.OrganizationID != v.eve.OrganizationID {
			t.Errorf("by the instance's: %+v, %v", made, err)
		}
		for about, row := range map[string]struct {
			who  accounts.By
			wish func(*accounts.NewUser)
			kind problems.Kind
		}{
			"by an editor":            {by(v.bob), func(*accounts.NewUser) {}, problems.InsufficientPermission},
			"with no assignable role": {by(v.ann), func(w *accounts.NewUser) { w.Role = "owner" }, problems.InvalidParameter},
			"nowhere":                 {by(v.ann), func(w *accounts.NewUser) { w.OrganizationID = 99_999 }, problems.NotFound},
			"with a taken name":       {by(v.ann), func(w *accounts.NewUser) { w.Username = "bob" }, problems.Conflict},
			"with a short password":   {by(v.ann), func(w *accounts.NewUser) { w.Password = "short" }, problems.InvalidParameter},
		} {
			asked := wish("other")
			row.wish(&asked)
			_, err := v.store.CreateMember(ctx, row.who, asked)
			expectProblem(t, err, row.kind, about)
		}
	})
}
