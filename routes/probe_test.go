package routes_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/routes/probe"
	"github.com/stenometer/stenometer/spool"
)

// callers makes the credentials of a walk.
type callers struct {
	finder *authtest.Finder
	last   int64
	keys   *keyring
}

func (c *callers) mint(token auth.Token) (string, error) {
	c.last++
	token.ID, token.UserID, token.OrganizationID = c.last, 100+c.last, 1000+c.last
	return c.finder.Mint(token), nil
}

func (c *callers) Live(scopes string, by probe.Caller) (string, error) {
	return c.mint(auth.Token{Scopes: auth.ParseScopes(scopes), Role: by.Role, Administration: by.Administration, Instance: by.Instance})
}

func (c *callers) Expired() (string, error) {
	past := time.Now().Add(-time.Minute)
	return c.mint(auth.Token{Scopes: auth.FullScopes(), ExpiresAt: &past})
}

func (c *callers) Revoked() (string, error) {
	return c.mint(auth.Token{Scopes: auth.FullScopes(), Revoked: true})
}

func (c *callers) Session(by probe.Caller) (string, error) {
	c.last++
	return c.finder.SignIn(auth.Session{UserID: 100 + c.last, OrganizationID: 1000 + c.last, Role: by.Role, Instance: by.Instance}), nil
}

func (c *callers) Key() (string, []byte, error) {
	c.last++
	integration, secret := fmt.Sprintf("integration-%d", c.last), []byte(fmt.Sprintf("key %d", c.last))
	c.keys.add(integration, auth.SignedKey{
		IntegrationID: c.last, Secrets: [][]byte{[]byte("the next"), secret},
		Signer: auth.Signer{UserID: 100 + c.last, OrganizationID: 1000 + c.last, Role: auth.RoleEditor},
	})
	return integration, secret, nil
}

// keyring knows integrations.
type keyring struct {
	mu    sync.Mutex // guards known
	known map[string]auth.SignedKey
}

func (k *keyring) add(integration string, key auth.SignedKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = map[string]auth.SignedKey{}
	}
	k.known[integration] = key
}

func (k *keyring) remove(integration string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, integration)
}

func (k *keyring) FindKey(_ context.Context, integration string) (auth.SignedKey, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, ok := k.known[integration]
	return key, ok, nil
}

// without takes something away from a row's guard.
type without func(guard *auth.Guard, row routes.Row, mounted echo.MiddlewareFunc) echo.MiddlewareFunc

func target(t *testing.T, leaveOut without, manage bool) probe.Target {
	finder, keys := authtest.NewFinder(), &keyring{}
	signing := routes.Signing{Keys: keys, Spool: spool.New(t.TempDir(), 1<<20), Window: time.Minute}
	return probe.Target{
		Credentials: &callers{finder: finder, keys: keys}, TokensManageByToken: manage,
		Build: func(figures limits.Figures) *routes.Table {
			o := authtest.GuardOptions(finder, figures, limits.NewMemory(time.Now))
			o.AllowQueryToken, o.TokensManageByToken = true, manage
			guard := auth.NewGuard(o)
			options := routes.Options{
				Guard: guard, Bounds: routes.Bounds{JSON: 4 << 10, Upload: 4 << 10},
				Metrics: noMetrics{}, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Dry: true, Signing: signing,
			}
			if leaveOut != nil {
				options = routes.LeaveOut(options, func(row routes.Row, mounted echo.MiddlewareFunc) echo.MiddlewareFunc {
					return leaveOut(guard, row, mounted)
				})
			}
			table := routes.New(options)
			declareAll(table, nil)
			return table
		},
	}
}

func walked(t *testing.T, target probe.Target) probe.Report {
	t.Helper()
	report, err := probe.Walk(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestTheProbeFindsNothingWhereAllGuardsStand(t *testing.T) {
	t.Parallel()
	for _, manage := range []bool{false, true} {
		report := walked(t, target(t, nil, manage))
		for _, fault := range report.Faults {
			t.Error(fault)
		}
		if report.Rows != 21 || report.Checks < 500 {
			t.Errorf("%d checks of %d rows: the walk did not try", report.Checks, report.Rows)
		}
		if len(report.Skipped) != 4 {
			t.Errorf("skipped: %v", report.Skipped)
		}
	}
}

// ignoring mounts a guard whose refusals of one kind change nothing: present, and inert.
func ignoring(refusals func(error) bool) without {
	return func(_ *auth.Guard, _ routes.Row, mounted echo.MiddlewareFunc) echo.MiddlewareFunc {
		return func(next echo.HandlerFunc) echo.HandlerFunc {
			guarded := mounted(next)
			return func(c echo.Context) error {
				err := guarded(c)
				if err != nil && !c.Response().Committed && refusals(err) {
					return next(c)
				}
				return err
			}
		}
	}
}

func kind(kinds ...problems.Kind) func(error) bool {
	return func(err error) bool {
		for _, kind := range kinds {
			if problems.Is(err, kind) {
				return true
			}
		}
		return false
	}
}

func refusedBy(plan *limits.Plan) func(error) bool {
	return func(err error) bool {
		var refusal *limits.Refusal
		return errors.As(err, &refusal) && refusal.Decision.States[refusal.Decision.Binding].Plan == plan
	}
}

// early are the rows whose credential is known before their body.
func early(row routes.Row) bool { return notPublic(row) && !row.AdmitsLate() }

// anotherGuard looks for a credential where those of early rows stand.
func anotherGuard(guard *auth.Guard, row routes.Row, mounted echo.MiddlewareFunc) echo.MiddlewareFunc {
	if !row.AdmitsLate() {
		return mounted
	}
	return guard.RequireScope(auth.Row{Method: row.Method, Path: row.Path, Body: row.Body}, row.Scopes...)
}

// notPublic are the rows that have a credential to check.
func notPublic(row routes.Row) bool { return row.Door != routes.DoorPublic }

func counted(plan *limits.Plan) func(routes.Row) bool {
	return func(row routes.Row) bool {
		for _, stacked := range row.Stack {
			if stacked.Plan == plan && (row.Door != routes.DoorAccount || stacked.Callers != auth.TokenCallers) {
				return true
			}
		}
		return false
	}
}

// The probe of the probe: with each guard left out in turn, every row that should carry it is at fault.
func TestTheProbeFindsEachGuardThatIsLeftOut(t *testing.T) {
	t.Parallel()
	everywhere := func(routes.Row) bool { return true }
	cases := map[string]struct {
		without without
		rows    func(routes.Row) bool
	}{
		"the whole guard": {
			func(*auth.Guard, routes.Row, echo.MiddlewareFunc) echo.MiddlewareFunc {
				return func(next echo.HandlerFunc) echo.HandlerFunc { return next }
			}, notUncounted,
		},
		"authentication": {ignoring(kind(problems.InvalidToken, problems.AuthenticationRequired)), notPublic},
		"the scope": {ignoring(kind(problems.InsufficientScope)), func(row routes.Row) bool {
			return early(row) && (len(row.Scopes) == 0 || row.Scopes[0] != auth.AnyToken)
		}},
		"permission":         {ignoring(kind(problems.InsufficientPermission)), needsVerb},
		"the verb":           {forgetting(func(row *auth.Row) { row.Needs, row.Administration, row.InstanceWide = auth.Verb{}, false, false }), needsVerb},
		"another verb":       {forgetting(func(row *auth.Row) { row.Needs = another(row.Needs) }), needsVerb},
		"the mark":           {forgetting(func(row *auth.Row) { row.Administration, row.InstanceWide = false, false }), administers},
		"the instance":       {forgetting(func(row *auth.Row) { row.InstanceWide = false }), instanceWide},
		"same-origin proof":  {ignoring(kind(problems.CrossOrigin)), func(row routes.Row) bool { return early(row) && row.Method != "GET" }},
		"the declared bound": {ignoring(kind(problems.PayloadTooLarge)), everywhere},
		"encoded bodies":     {ignoring(kind(problems.UnsupportedMediaType)), notPublic},
		"the limit of 401s":  {ignoring(refusedBy(limits.AuthFailures)), notPublic},
		"positive control":   {refusingAll, everywhere},
		"another scope":      {anotherScope, func(row routes.Row) bool { return withScopes(row) }},
		"size before caller": {sizeFirst, early},
		"another credential": {anotherGuard, routes.Row.AdmitsLate},
		"headers":            {withoutHeaders, early},
	}
	for _, plan := range limits.Plans() {
		if plan != limits.AuthFailures && plan != limits.LoginFailures && plan != limits.Register && plan != limits.TokenCreate {
			cases["the limit "+plan.Name] = struct {
				without without
				rows    func(routes.Row) bool
			}{ignoring(refusedBy(plan)), counted(plan)}
		}
	}
	for name, row := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := target(t, row.without, false)
			faults := map[string][]string{}
			for _, fault := range walked(t, target).Faults {
				at := fault.Method + " " + fault.Path
				faults[at] = append(faults[at], fault.Check)
			}
			found := 0
			for _, declared := range target.Build(probe.Ample()).Rows() {
				at := declared.Method + " " + declared.Path
				switch carries := row.rows(declared); {
				case carries && len(faults[at]) == 0:
					t.Errorf("%s: left out and not found", at)
				case carries:
					found++
				case len(faults[at]) > 0 && strings.HasPrefix(name, "the limit "):
					t.Errorf("%s does not carry it and is at fault: %v", at, faults[at])
				}
				if declared.Method == "GET" && row.rows(declared) && len(faults["HEAD "+declared.Path]) == 0 {
					t.Errorf("HEAD %s: left out and not found", declared.Path)
				}
			}
			if found == 0 {
				t.Error("no row carries it: this case proves nothing")
			}
		})
	}
}

func withScopes(row routes.Row) bool {
	return row.Door == routes.DoorToken || row.Door == routes.DoorUpload || row.SpendsNow()
}

func needsVerb(row routes.Row) bool { return row.Needs != auth.Verb{} }

func administers(row routes.Row) bool { return row.Administration }

func instanceWide(row routes.Row) bool { return row.InstanceWide }

// another is a verb that other roles have.
func another(verb auth.Verb) auth.Verb {
	if verb == auth.Publish {
		return auth.ManageTeamBilling
	}
	return auth.Publish
}

// forgetting mounts the guard of a row that needs a verb as of another row.
func forgetting(forget func(*auth.Row)) without {
	return func(guard *auth.Guard, row routes.Row, mounted echo.MiddlewareFunc) echo.MiddlewareFunc {
		if !needsVerb(row) {
			return mounted
		}
		other := auth.Row{
			Method: row.Method, Path: row.Path, Body: row.Body, Needs: row.Needs,
			Administration: row.Administration, InstanceWide: row.InstanceWide,
		}
		forget(&other)
		return guard.RequireScope(other, row.Scopes...)
	}
}

func notUncounted(row routes.Row) bool { return !row.Uncounted }

func refusingAll(*auth.Guard, routes.Row, echo.MiddlewareFunc) echo.MiddlewareFunc {
	return func(echo.HandlerFunc) echo.HandlerFunc {
		return func(echo.Context) error { return problems.New(problems.NotFound, "no") }
	}
}

func anotherScope(guard *auth.Guard, row routes.Row, mounted echo.MiddlewareFunc) echo.MiddlewareFunc {
	if !withScopes(row) {
		return mounted
	}
	return guard.RequireScope(auth.Row{Method: row.Method, Path: row.Path, Body: row.Body}, auth.Settings)
}

func sizeFirst(_ *auth.Guard, row routes.Row, mounted echo.MiddlewareFunc) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		guarded := mounted(next)
		return func(c echo.Context) error {
			if c.Request().ContentLength > row.Body {
				return problems.New(problems.PayloadTooLarge, "too large")
			}
			return guarded(c)
		}
	}
}

func withoutHeaders(_ *auth.Guard, _ routes.Row, mounted echo.MiddlewareFunc) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		guarded := mounted(next)
		return func(c echo.Context) error {
			err := guarded(c)
			for _, name := range []string{"RateLimit", "Cache-Control", "Vary"} {
				c.Response().Header().Del(name)
			}
			return err
		}
	}
}

func TestARouteBesideTheTableIsFound(t *testing.T) {
	t.Parallel()
	trip := func(name string, add func(*routes.Table)) {
		h := open(t, plan{})
		defer func() {
			if text := fmt.Sprint(recover()); !strings.Contains(text, "GET") || !strings.Contains(text, "/api/v1/bare") {
				t.Errorf("%s: the panic does not name the route: %s", name, text)
			}
		}()
		add(h.table)
	}
	trip("on the router", func(table *routes.Table) { routes.AddBare(table, "GET", "/api/v1/bare") })
	trip("on a host", func(table *routes.Table) { routes.AddBareOnHost(table, "other.example", "GET", "/api/v1/bare") })

	for name, add := range map[string]func(*routes.Table){
		"GET /api/v1/bare":              func(table *routes.Table) { routes.AddBare(table, "GET", "/api/v1/bare") },
		"GET other.example/api/v1/bare": func(table *routes.Table) { routes.AddBareOnHost(table, "other.example", "GET", "/api/v1/bare") },
	} {
		target := target(t, nil, false)
		build := target.Build
		target.Build = func(figures limits.Figures) *routes.Table {
			table := build(figures)
			routes.CutTripwire(table)
			add(table)
			return table
		}
		report := walked(t, target)
		if len(report.Faults) != 1 || report.Faults[0].Method+" "+report.Faults[0].Path != name {
			t.Errorf("%s: faults %v", name, report.Faults)
		}
	}
}

// What the probe walks has the rows and routes of what is served.
func TestTheDryTableIsTheRealOne(t *testing.T) {
	t.Parallel()
	dry, wet := target(t, nil, false).Build(probe.Ample()).Live(), open(t, plan{}).table.Live()
	slices.Sort(dry)
	slices.Sort(wet)
	if !slices.Equal(dry, wet) || len(wet) != 30 {
		t.Errorf("dry %v\nreal %v", dry, wet)
	}
}
