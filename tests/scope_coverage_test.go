package tests

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/integrations"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/routes/probe"
	"github.com/stenometer/stenometer/sealed"
	"github.com/stenometer/stenometer/server"
	"github.com/stenometer/stenometer/spool"
	"github.com/stenometer/stenometer/tests/golden"
	"github.com/stenometer/stenometer/tokens"
)

// leastRows is the floor of the table's size: a walk over an empty table would find nothing. Each release raises it.
const leastRows = 156

func defaults(t testing.TB) *config.Config {
	t.Helper()
	return configured(t)
}

func configured(t testing.TB, settings ...string) *config.Config {
	t.Helper()
	cfg, _, err := config.Load(append([]string{"DATA_DIR=" + t.TempDir()}, settings...), "")
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// liveTable is the route table of the default configuration.
func liveTable(t testing.TB) *routes.Table { return server.RouteTable(defaults(t)) }

// callers makes real accounts, tokens and sessions in a database of its own.
type callers struct {
	t        testing.TB
	db       *models.DB
	accounts *accounts.Accounts
	tokens   *tokens.Tokens
	made     atomic.Int64

	integrations *integrations.Integrations
}

func newCallers(t testing.TB) *callers {
	db := modelstest.SQLite(t)
	keys, err := sealed.New(strings.Repeat("k", 32))
	if err != nil {
		t.Fatal(err)
	}
	return &callers{
		t: t, db: db,
		accounts:     accounts.New(db, accounts.Options{}),
		tokens:       tokens.New(db, tokens.Options{MaxPerUser: 10}),
		integrations: integrations.New(db, keys, time.Now),
	}
}

// account is a new account of a new organization, which may administer it. Nobody signs in to it by a password, whose
// hash is most of what an account costs.
func (c *callers) account() (accounts.User, error) {
	name := "caller" + strconv.FormatInt(c.made.Add(1), 10)
	email := name + "@example.org"
	organization := models.Organization{Slug: name, Name: name, TimeZone: "UTC"}
	err := c.db.Transaction(c.t.Context(), func(tx *gorm.DB) error {
		if err := tx.Create(&organization).Error; err != nil {
			return err
		}
		return tx.Create(&models.User{OrganizationID: organization.ID, Email: email, Username: name, Role: auth.RoleAdmin}).Error
	})
	if err != nil {
		return accounts.User{}, err
	}
	return c.accounts.ByEmail(c.t.Context(), email)
}

// become makes an account who it is to be: not every role can be given to a new one, and a mark outlives the role that gave it.
func (c *callers) become(user accounts.User, by probe.Caller) error {
	return c.db.Transaction(c.t.Context(), func(tx *gorm.DB) error {
		return tx.Model(&models.User{}).Where("id = ?", user.ID).
			UpdateColumns(map[string]any{"role": by.Role, "instance_admin": by.Instance}).Error
	})
}

func (c *callers) Live(scopes string, by probe.Caller) (string, error) {
	user, err := c.account()
	if err != nil {
		return "", err
	}
	plain, _, err := c.tokens.Create(c.t.Context(), tokens.Wish{
		UserID: user.ID, Scopes: strings.Fields(scopes), Administration: by.Administration,
	})
	if err != nil {
		return "", err
	}
	return plain, c.become(user, by)
}

func (c *callers) Expired() (string, error) {
	return c.spoiled(func(row *models.APIToken) { expired := time.Now().Add(-time.Minute); row.ExpiresAt = &expired })
}

func (c *callers) Revoked() (string, error) {
	return c.spoiled(func(row *models.APIToken) { now := time.Now(); row.RevokedAt = &now })
}

func (c *callers) spoiled(spoil func(*models.APIToken)) (string, error) {
	user, err := c.account()
	if err != nil {
		return "", err
	}
	plain, made, err := c.tokens.Create(c.t.Context(), tokens.Wish{UserID: user.ID})
	if err != nil {
		return "", err
	}
	return plain, c.db.Transaction(c.t.Context(), func(tx *gorm.DB) error {
		var row models.APIToken
		if err := tx.First(&row, made.ID).Error; err != nil {
			return err
		}
		spoil(&row)
		return tx.Save(&row).Error
	})
}

func (c *callers) Key() (string, []byte, error) {
	user, err := c.account()
	if err != nil {
		return "", nil, err
	}
	made, secret, err := c.integrations.Create(c.t.Context(), authtest.BySession(c.t, user.ID, user.OrganizationID), integrations.Wish{Name: "probe"})
	return made.PublicID, []byte(secret), err
}

func (c *callers) Session(by probe.Caller) (string, error) {
	user, err := c.account()
	if err != nil {
		return "", err
	}
	if err := c.become(user, by); err != nil {
		return "", err
	}
	cookie, _, err := c.accounts.OpenSession(c.t.Context(), "", user, accounts.Browser{})
	return cookie, err
}

func target(t testing.TB) probe.Target {
	c := newCallers(t)
	// With query tokens switched on, that a scoped token in the query opens nothing is a check that can fail.
	cfg := configured(t, "API_ALLOW_QUERY_TOKEN=true")
	signing := routes.Signing{Keys: c.integrations, Spool: spool.New(t.TempDir(), 1<<20), Window: cfg.HookWindow}
	// To build the table costs far more than to ask it: one with the same figures is built once, and then given counters
	// at nothing.
	type built struct {
		table    *routes.Table
		counters *renewed
	}
	tables := map[string]built{}
	return probe.Target{
		Credentials: c,
		Build: func(figures limits.Figures) *routes.Table {
			key := ""
			for _, plan := range limits.Plans() {
				key += fmt.Sprintln(plan.Name, figures[plan])
			}
			known, ok := tables[key]
			if !ok {
				known.counters = &renewed{}
				known.table = server.DryTable(cfg, server.Callers{Tokens: c.tokens, Sessions: c.accounts, Figures: figures, Counters: known.counters, Signing: signing})
				tables[key] = known
			}
			known.counters.Store = limits.NewMemory(time.Now)
			return known.table
		},
	}
}

// renewed is a store whose counts can be forgotten.
type renewed struct{ limits.Store }

// Rule: each guard is mounted on every live route, proved by behavior: no credential is 401, a token without the
// scope 403, each limit of the stack in turn 429 with the others untouched, and the exact scope reaches the handler.
func TestEveryGuardBitesOnEveryRoute(t *testing.T) {
	t.Parallel()
	report, err := probe.Walk(t.Context(), target(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range report.Faults {
		t.Error(fault)
	}
	for _, skipped := range report.Skipped {
		t.Log("skipped: ", skipped)
	}
	if report.Rows < leastRows {
		t.Errorf("the walk saw %d rows, want at least %d", report.Rows, leastRows)
	}
	t.Logf("%d rows, %d checks", report.Rows, report.Checks)
}

// Rule: the table is what the router serves, and the walk can fail. A route that is added to the router beside the
// table stops the start and is named.
func TestRouteTableIsTraversable(t *testing.T) {
	t.Parallel()
	table := liveTable(t)
	served := map[string]bool{}
	for _, live := range table.Live() {
		served[live] = true
	}
	rows := table.Rows()
	if len(rows) < leastRows {
		t.Errorf("the table has %d rows, want at least %d", len(rows), leastRows)
	}
	for _, row := range rows {
		if !served[row.Method+" "+row.Path] {
			t.Errorf("%s %s is a row and is not served", row.Method, row.Path)
		}
		delete(served, row.Method+" "+row.Path)
		if row.Method == http.MethodGet {
			delete(served, http.MethodHead+" "+row.Path)
		}
	}
	for live := range served {
		t.Errorf("%s is served and is no row", live)
	}
}

// Rule: what the walk cannot know. An unsafe method never carries only the read scope, a GET starts no paid work,
// and every public row says why.
func TestScopesSuitTheirMethods(t *testing.T) {
	t.Parallel()
	for _, row := range liveTable(t).Rows() {
		safe := row.Method == http.MethodGet
		for _, scope := range row.Scopes {
			if !safe && scope == auth.Read {
				t.Errorf("%s %s changes something and asks for read", row.Method, row.Path)
			}
			if safe && scope == auth.Process {
				t.Errorf("%s %s is a GET that starts paid work", row.Method, row.Path)
			}
		}
		if row.Door == routes.DoorPublic && row.Reason == "" {
			t.Errorf("%s %s is public and says not why", row.Method, row.Path)
		}
	}
}

// Rule: any change of a guard is a diff that a reviewer sees.
func TestGoldenRouteTable(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	if err := liveTable(t).WriteText(&got); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join("testdata", "routes.golden"), got.String())
}
