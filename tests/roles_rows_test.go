package tests

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/routes/probe"
	"github.com/stenometer/stenometer/server"
	"github.com/stenometer/stenometer/tokens"
)

// roleColumns are the columns that hold a role, each with its constraint and the roles that it may hold.
func roleColumns() []struct {
	table, constraint string
	roles             []string
} {
	var all []string
	for _, role := range auth.Roles() {
		all = append(all, role.Name)
	}
	return []struct {
		table, constraint string
		roles             []string
	}{
		{"users", "users_role", all},
		{"team_invites", "team_invites_role", auth.AssignableRoles()},
	}
}

var roleInCheck = regexp.MustCompile(`'([^']*)'`)

// Rule: the roles that a database takes are those of the one table, for accounts all of them, for invites those that may
// be assigned.
func TestTheDatabasesTakeTheRolesOfTheTable(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		for _, column := range roleColumns() {
			var definition string
			query, name := "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = ?", column.constraint
			if db.Dialect == models.SQLite {
				query, name = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", column.table
			}
			if err := db.Read.Raw(query, name).Scan(&definition).Error; err != nil {
				t.Fatal(err)
			}
			if db.Dialect == models.SQLite {
				_, definition, _ = strings.Cut(definition, "CONSTRAINT "+column.constraint+" CHECK")
				definition, _, _ = strings.Cut(definition, "))")
			}
			var taken []string
			for _, found := range roleInCheck.FindAllStringSubmatch(definition, -1) {
				taken = append(taken, found[1])
			}
			slices.Sort(taken)
			want := slices.Sorted(slices.Values(column.roles))
			if !slices.Equal(taken, want) {
				t.Errorf("%s.role takes %q, want %q", column.table, taken, want)
			}
		}
	})
}

// byHand are roles that somebody writes into a row by hand, and whether there is such a role.
func byHand() map[string]bool {
	return map[string]bool{"owner": true, "approver": true, "ADMIN": false, "": false, "admin ": false, "superuser": false, "Owner": false}
}

// setRole writes a role into a row by hand.
func setRole(tx *gorm.DB, user int64, role string) error {
	return tx.Model(&models.User{}).Where("id = ?", user).UpdateColumn("role", role).Error
}

// unchecked makes a change with the constraint of roles out of the way, as nothing but a hand in the database does.
func unchecked(t *testing.T, db *models.DB, change func(tx *gorm.DB) error) {
	t.Helper()
	err := db.Transaction(t.Context(), func(tx *gorm.DB) error {
		if db.Dialect == models.Postgres {
			if err := tx.Exec("ALTER TABLE users DROP CONSTRAINT IF EXISTS users_role").Error; err != nil {
				return err
			}
			return change(tx)
		}
		if err := tx.Exec("PRAGMA ignore_check_constraints = ON").Error; err != nil {
			return err
		}
		defer tx.Exec("PRAGMA ignore_check_constraints = OFF")
		return change(tx)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// household is the live table over accounts of a real database.
type household struct {
	*callers

	handler http.Handler
}

func newHousehold(t *testing.T, db *models.DB) *household {
	t.Helper()
	c := &callers{t: t, db: db, accounts: accounts.New(db, accounts.Options{}), tokens: tokens.New(db, tokens.Options{MaxPerUser: 10})}
	table := server.DryTable(defaults(t), server.Callers{Tokens: c.tokens, Sessions: c.accounts, Figures: authtest.NoFigures()})
	return &household{c, table.Handler()}
}

// credentials are a session and a full token made for administration, of one new account that administers the instance.
func (h *household) credentials(t *testing.T) (user accounts.User, cookie, token string) {
	t.Helper()
	user, err := h.account()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.become(user, probe.Caller{Role: auth.RoleAdmin, Instance: true}); err != nil {
		t.Fatal(err)
	}
	if cookie, _, err = h.accounts.OpenSession(t.Context(), "", user, accounts.Browser{}); err != nil {
		t.Fatal(err)
	}
	return user, cookie, h.mint(t, user.ID)
}

// mint makes a further full token for administration of an account that may have one. What a process remembers of a token
// is a moment old, so that each state of the account is asked of with a token that nobody has used.
func (h *household) mint(t *testing.T, user int64) string {
	t.Helper()
	token, _, err := h.tokens.Create(t.Context(), tokens.Wish{UserID: user, Administration: true})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// call makes a request by session and by token, and gives the statuses and the codes.
func (h *household) call(t *testing.T, method, path, cookie, token string) (byCookie, byToken *httptest.ResponseRecorder) {
	t.Helper()
	answers := [2]*httptest.ResponseRecorder{}
	for i := range answers {
		request := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		if i == 0 {
			request.AddCookie(&http.Cookie{Name: auth.SessionCookie, Value: cookie})
		} else {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answers[i] = httptest.NewRecorder()
		h.handler.ServeHTTP(answers[i], request)
	}
	return answers[0], answers[1]
}

// Rule (H-048, issue line 1): a role written by hand that is one has the verbs that the table says; the database refuses
// the others, and with its constraint out of the way they have no verb and no administration, and keep their own work.
func TestARoleWrittenByHand(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		h := newHousehold(t, db)
		user, cookie, _ := h.credentials(t)
		unused := map[string]string{}
		for role := range byHand() {
			unused[role] = h.mint(t, user.ID)
		}
		for role, exists := range byHand() {
			err := db.Transaction(t.Context(), func(tx *gorm.DB) error { return setRole(tx, user.ID, role) })
			if (err == nil) != exists {
				t.Errorf("the database was told the role %q: %v", role, err)
			}
		}
		for role := range byHand() {
			unchecked(t, db, func(tx *gorm.DB) error { return setRole(tx, user.ID, role) })
			for row, verb := range map[string]auth.Verb{
				"GET /api/v1/recordings":                    {},
				"POST /api/v1/recordings/1/share":           auth.Publish,
				"POST /api/v1/recordings/1/summary/approve": auth.Approve,
				"GET /api/v1/admin/organizations/1/budget":  auth.ManageTeamBilling,
				"PUT /api/v1/admin/organizations/1/budget":  auth.ManageTeamBilling,
				"PATCH /api/v1/recordings/1":                {},
				"POST /api/v1/recordings/1/transcribe":      {},
			} {
				method, path, _ := strings.Cut(row, " ")
				bySession, byToken := h.call(t, method, path, cookie, unused[role])
				want, code := http.StatusNoContent, ""
				if verb != (auth.Verb{}) && !auth.RoleMay(role, verb) {
					want, code = http.StatusForbidden, "insufficient_permission"
				}
				for name, answer := range map[string]*httptest.ResponseRecorder{"session": bySession, "token": byToken} {
					if answer.Code != want || !strings.Contains(answer.Body.String(), code) {
						t.Errorf("role %q, %s: %s %s is %d %s, want %d %s", role, name, method, path, answer.Code, answer.Body, want, code)
					}
				}
			}
		}
	})
}

// Rule (H-048, issue line 2): while the account's row cannot be read, a credential that nobody remembers is answered 503
// with a time to come again, and opens nothing: neither administration nor its own work, by session or by token.
func TestAnUnreadableAccountOpensNothing(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		h := newHousehold(t, db)
		_, cookie, token := h.credentials(t)
		rename := func(from, to string) {
			t.Helper()
			if err := db.Transaction(t.Context(), func(tx *gorm.DB) error { return tx.Exec("ALTER TABLE " + from + " RENAME TO " + to).Error }); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(status int) {
			t.Helper()
			for _, path := range []string{"/api/v1/admin/organizations/1/budget", "/api/v1/recordings", "/api/v1/users/me"} {
				bySession, byToken := h.call(t, http.MethodGet, path, cookie, token)
				for name, answer := range map[string]*httptest.ResponseRecorder{"session": bySession, "token": byToken} {
					unavailable := strings.Contains(answer.Body.String(), "database_unavailable") && answer.Header().Get("Retry-After") != ""
					if answer.Code != status || unavailable != (status == http.StatusServiceUnavailable) {
						t.Errorf("%s: %s is %d %s, want %d", name, path, answer.Code, answer.Body, status)
					}
				}
			}
		}
		rename("users", "users_elsewhere")
		expect(http.StatusServiceUnavailable)
		rename("users_elsewhere", "users")
		expect(http.StatusNoContent)
	})
}
