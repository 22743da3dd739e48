package routes_test

import (
	"net/http"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// audited is a house with rows of administration, and the log that they are kept in.
func audited(t *testing.T, handler func(echo.Context, auth.Principal) error) (*house, *audit.Log, *models.DB) {
	t.Helper()
	db := modelstest.SQLite(t)
	log := audit.New(db, audit.Options{})
	h := open(t, plan{auditor: log, declare: func(table *routes.Table, _ *house) {
		table.Token("GET", "/api/v1/admin/users/:user", auth.Settings, handler, said, routes.Administration(auth.AdministerMembers, "user.show"))
		table.Token("PATCH", "/api/v1/admin/users/:user", auth.Settings, handler, said, routes.Administration(auth.AdministerMembers, "user.alter"))
		table.Token("POST", "/api/v1/admin/users", auth.Settings, handler, said, routes.Administration(auth.AdministerMembers, "user.create"))
		table.Token("GET", "/api/v1/tags", auth.Read, handler, said)
	}})
	return h, log, db
}

func (h *house) administrator(instance bool) change {
	h.tokens++
	return bearer(h.finder.Mint(auth.Token{
		ID: h.tokens, UserID: 3, OrganizationID: 30, Role: auth.RoleAdmin, Scopes: auth.FullScopes(), Administration: true, Instance: instance,
	}))
}

func newest(t *testing.T, log *audit.Log) audit.Stored {
	t.Helper()
	list, err := log.List(t.Context(), audit.Query{Limit: 1})
	if err != nil || len(list) == 0 {
		t.Fatalf("the log has %v, %v", list, err)
	}
	return list[0]
}

// Rule: every call of a row of administration is in the audit log: who, from where, what, on what, how it ended, and the
// request. What changes something is there before its handler runs; what is no id in the path is not written.
func TestAdministrationIsAudited(t *testing.T) {
	t.Parallel()
	var log *audit.Log
	handler := func(c echo.Context, _ auth.Principal) error {
		if c.Request().Method != http.MethodGet {
			if began := newest(t, log); began.Outcome != "" || began.Action != "user.alter" && began.Action != "user.create" {
				t.Errorf("in the handler the log ends with %+v", began)
			}
		}
		switch c.QueryParam("do") {
		case "conflict":
			return problems.New(problems.Conflict, "No.")
		case "panic":
			panic("secret of the handler")
		case "make":
			routes.Made(c, "user", 12)
			return c.NoContent(http.StatusCreated)
		}
		return c.NoContent(http.StatusOK)
	}
	h, log, _ := audited(t, handler)
	for _, row := range []struct{ method, target, action, object, outcome string }{
		{"PATCH", "/api/v1/admin/users/7", "user.alter", "user 7", "200"},
		{"PATCH", "/api/v1/admin/users/7?do=conflict", "user.alter", "user 7", "409 conflict"},
		{"PATCH", "/api/v1/admin/users/7?do=panic", "user.alter", "user 7", "500 internal"},
		{"PATCH", "/api/v1/admin/users/stn_secret", "user.alter", "", "200"},
		{"POST", "/api/v1/admin/users?do=make", "user.create", "", "201 user 12"},
		{"GET", "/api/v1/admin/users/7", "user.show", "user 7", "200"},
		{"GET", "/api/v1/admin/users/7?do=conflict", "user.show", "user 7", "409 conflict"},
	} {
		h.call(row.method, row.target, h.administrator(false), header("X-Request-Id", "of-this-test"), from("203.0.113.7:99"))
		got := newest(t, log)
		want := audit.Entry{
			At: got.At, ActorID: 3, TokenID: h.tokens, OrganizationID: 30, Address: "203.0.113.7", Action: row.action, Object: row.object,
			Outcome: row.outcome, RequestID: "of-this-test",
		}
		if got.Entry != want {
			t.Errorf("%s %s is in the log as %+v, want %+v", row.method, row.target, got.Entry, want)
		}
	}
}

// Rule: who is not let in is in the log too, as the organization's that the caller is of, whatever the path names; what was
// refused for another reason, and rows that are no administration, are not.
func TestRefusalsAreAudited(t *testing.T) {
	t.Parallel()
	h, log, _ := audited(t, func(c echo.Context, _ auth.Principal) error { return c.NoContent(http.StatusOK) })
	h.want(h.call("PATCH", "/api/v1/admin/users/7"), 401, "authentication_required")
	h.want(h.call("GET", "/api/v1/tags", h.administrator(false)), 200, "")
	if list, err := log.List(t.Context(), audit.Query{Limit: 9}); err != nil || len(list) != 0 {
		t.Errorf("the log has %+v, %v", list, err)
	}
	h.want(h.call("PATCH", "/api/v1/admin/users/7", bearer(h.token(5, "full"))), 403, "insufficient_permission")
	if got := newest(t, log); got.Outcome != "403 insufficient_permission" || got.ActorID != 5 || got.OrganizationID != 50 || got.Object != "user 7" {
		t.Errorf("a refusal is in the log as %+v", got)
	}
	h.want(h.call("GET", "/api/v1/admin/users/7", bearer(h.token(5, "read"))), 403, "insufficient_scope")
	if got := newest(t, log); got.Outcome != "403 insufficient_scope" || got.Action != "user.show" {
		t.Errorf("a refusal is in the log as %+v", got)
	}
}

// Rule: the entry of what an administrator of the instance does is its object's organization's.
func TestWhatTheInstanceDoesIsSeenByWhomItIsDoneTo(t *testing.T) {
	t.Parallel()
	h, log, _ := audited(t, func(c echo.Context, _ auth.Principal) error { return c.NoContent(http.StatusOK) })
	h.want(h.call("PATCH", "/api/v1/admin/users/7", h.administrator(true)), 200, "")
	if got := newest(t, log); got.OrganizationID != 0 { // nobody has the accounts of this test; audit's tests have some
		t.Errorf("it is in the log as %+v", got)
	}
}

// Rule: what cannot be audited is not done: 503, and the handler is not reached. What only looks is answered.
func TestWhatCannotBeAuditedIsNotDone(t *testing.T) {
	t.Parallel()
	reached := 0
	h, _, db := audited(t, func(c echo.Context, _ auth.Principal) error { reached++; return c.NoContent(http.StatusOK) })
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	h.want(h.call("PATCH", "/api/v1/admin/users/7", h.administrator(false)), 503, "database_unavailable")
	if reached != 0 {
		t.Error("it was done")
	}
	h.want(h.call("GET", "/api/v1/admin/users/7", h.administrator(false)), 200, "")
}

// A table without an auditor does nothing administrative, and a row says what it is called.
func TestAdministrationTakesAnAuditorAndAnAction(t *testing.T) {
	t.Parallel()
	reached := false
	row := func(action string) func(*routes.Table, *house) {
		return func(table *routes.Table, _ *house) {
			table.Token("PATCH", "/api/v1/admin/users/:user", auth.Settings, func(c echo.Context, _ auth.Principal) error {
				reached = true
				return c.NoContent(http.StatusOK)
			}, said, routes.Administration(auth.AdministerMembers, action))
		}
	}
	h := open(t, plan{declare: row("user.alter")})
	h.want(h.call("PATCH", "/api/v1/admin/users/7", h.administrator(false)), 500, "internal")
	if reached {
		t.Error("it was done without an auditor")
	}
	for _, action := range []string{"", "alter", "User.alter", "user alter", "user."} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a row whose action is %q is taken", action)
				}
			}()
			open(t, plan{declare: row(action)})
		}()
	}
}
