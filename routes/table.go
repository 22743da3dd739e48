// Package routes is the door: every route is one row of a typed table, and a row cannot be written without the
// guard that its door mounts. It owns the router; nothing is served that the table does not show.
package routes

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/idempotency"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/streams"
)

// Door is how a row is entered.
type Door string

// The doors.
const (
	DoorPublic  Door = "public"
	DoorToken   Door = "token"
	DoorUpload  Door = "upload"
	DoorPaid    Door = "paid"
	DoorHearing Door = "hearing"
	DoorAnswer  Door = "answer"
	DoorAccount Door = "account"
	DoorLate    Door = "late"
	DoorSigned  Door = "signed"
)

// Bounds are the most bytes of a request's body.
type Bounds struct {
	// JSON bounds every body but those of upload rows. 0 means DefaultJSONBound.
	JSON int64
	// Upload bounds the file part of an upload; the frame around it has uploadFrame besides.
	Upload int64
}

// DefaultJSONBound is the most bytes of a JSON body.
const DefaultJSONBound = 2 << 20

// uploadFrame is what the boundaries, part headers and small fields of an upload may take besides its file.
const uploadFrame = 3 << 20

// Bound names one of the configured bounds on the row of an upload.
type Bound uint8

// MaxUpload is Bounds.Upload and the frame around the file.
const MaxUpload Bound = 1

// Timeouts bound how long a request may keep the server waiting. 0 means the default of each.
type Timeouts struct {
	// Handler is the whole time of a row that answers JSON, its body's arrival included; 30 s.
	Handler time.Duration
	// Model is the same of a row that answers when a model has; 150 s.
	Model time.Duration
	// Agent is the same of a row whose model looks things up first; 270 s.
	Agent time.Duration
	// BodyStall is how long a body may send no byte; 30 s.
	BodyStall time.Duration
	// BodyLeast is how many bytes of a body must come in a second, on average beyond BodyStall; 0 for any number.
	BodyLeast int64
	// WriteStall is how long a client may take no byte of the answer; 30 s.
	WriteStall time.Duration
}

// Metrics counts what was answered.
type Metrics interface {
	// Request counts one answer. route is the row's pattern, never the path that was sent.
	Request(method, route string, status int, took time.Duration)
}

// Options is what a Table is made of. Guard, Metrics, Logger and Now are required.
type Options struct {
	Guard    *auth.Guard
	Bounds   Bounds
	Timeouts Timeouts
	Metrics  Metrics
	Logger   *slog.Logger
	Now      func() time.Time
	// Origins are those whose pages may call from a browser, each as browsers write it.
	Origins []string
	// Keys remember answers of costly requests; nil in tables of which no handler is called.
	Keys *idempotency.Keys
	// Purses open those of callers; the zero value in tables of which no handler is called.
	Purses budgets.Purses
	// Streams are those that Answer rows open; nil in tables of which no handler is called.
	Streams *streams.Streams
	// Auditor keeps what is done on rows of administration, which without one answer 500: nothing is done unseen.
	Auditor Auditor
	// Signing judges signed deliveries; the zero value, in tables of which no handler is called, lets none in.
	Signing Signing
	// Dry replaces each row's handler by one that answers 204 with X-Reached, behind the same guards: the probe
	// walks such a table.
	Dry bool

	// leaveOut lets the tests of this package take one guard away and see that the probe notices.
	leaveOut func(row Row, guard echo.MiddlewareFunc) echo.MiddlewareFunc
}

// Row is what the table tells of a route.
type Row struct {
	Method, Path string
	Door         Door
	Operation    Operation
	// Scopes is empty for public and account rows.
	Scopes []auth.Scope
	// Category is empty for public rows.
	Category auth.Category
	// Needs is the verb that the caller's role must have; zero for rows that are open to every role.
	Needs auth.Verb
	// Administration rows let a token in only with the mark, InstanceWide ones administrators of the instance alone.
	Administration, InstanceWide bool
	// Action is what the audit log calls a row of administration; empty for others.
	Action string
	// Stack is every limit that the guard takes, in the order in which ties are settled.
	Stack []auth.Stacked
	// Taken are limits that the story takes itself, with their figures.
	Taken []auth.Stacked
	// Reason says why a public row asks for no credential.
	Reason string
	// Body is the most bytes that the body may have.
	Body int64
	// Price is what the row can make the server pay for; empty for most rows. Later rows are never refused for money.
	Price budgets.Price
	Later bool
	// AwaitsModel rows answer when a model has: they may take Timeouts.Model.
	AwaitsModel bool
	// AwaitsAgent rows may take Timeouts.Agent.
	AwaitsAgent bool
	// Streams is true of rows that can answer with a stream, in one of the organization's slots and by its clocks.
	Streams bool
	// LongAnswer rows may answer for longer than Timeouts.Handler; a client that takes nothing is still cut off.
	LongAnswer bool
	// Weighs is the member of the body whose distinct ids are the request's weight; empty for rows that weigh one.
	Weighs string
	// Idempotent rows work a request with an Idempotency-Key once.
	Idempotent bool
	// Uncounted rows are probes: no limit applies.
	Uncounted bool
}

// SpendsNow reports whether the row's request itself is what its caller pays for, and is refused when nothing is left.
func (r Row) SpendsNow() bool {
	return r.Door == DoorPaid || r.Door == DoorHearing || r.Door == DoorAnswer
}

// TakesFile reports whether the body has the bound of uploads, and no time but that it keeps coming.
func (r Row) TakesFile() bool { return r.Door == DoorUpload || r.Door == DoorHearing || r.AdmitsLate() }

// AdmitsLate reports whether the credential comes with the body: nobody is known before it is read.
func (r Row) AdmitsLate() bool { return r.Door == DoorLate || r.Door == DoorSigned }

// Table is every route of the server.
type Table struct {
	echo     *echo.Echo
	guard    *auth.Guard
	bounds   Bounds
	timeouts Timeouts
	metrics  Metrics
	logger   *slog.Logger
	now      func() time.Time
	cors     *cors
	keys     *idempotency.Keys
	purses   budgets.Purses
	streams  *streams.Streams
	auditor  Auditor
	signing  Signing
	dry      bool
	leaveOut func(row Row, guard echo.MiddlewareFunc) echo.MiddlewareFunc

	rows []Row
	// literal holds the methods of each path without parameters: such a path is never a value of a parameter.
	literal map[string][]string
	// shapes holds the path first declared for each shape, parameters' names taken out.
	shapes   map[string]string
	declared map[string]bool
	// quiet holds the paths of probes, whose good answers would drown the log.
	quiet    map[string]bool
	mounting bool
}

// New makes a Table without rows.
func New(o Options) *Table {
	t := &Table{
		echo: echo.New(), guard: o.Guard, metrics: o.Metrics, logger: o.Logger, now: o.Now,
		cors: newCORS(o.Origins), keys: o.Keys, purses: o.Purses, streams: o.Streams, auditor: o.Auditor, signing: o.Signing, dry: o.Dry, leaveOut: o.leaveOut,
		bounds: o.Bounds, timeouts: o.Timeouts.withDefaults(),
		literal: make(map[string][]string), shapes: make(map[string]string), declared: make(map[string]bool),
		quiet: make(map[string]bool),
	}
	if t.bounds.JSON == 0 {
		t.bounds.JSON = DefaultJSONBound
	}
	t.echo.HideBanner = true
	t.echo.Use(t.every)
	t.echo.OnAddRouteHandler = func(host string, route echo.Route, _ echo.HandlerFunc, _ []echo.MiddlewareFunc) {
		if !t.mounting {
			panic(fmt.Sprintf("routes: %s %s%s was added beside the table; declare it as a row", route.Method, host, route.Path))
		}
	}
	return t
}

func (t Timeouts) withDefaults() Timeouts {
	for _, d := range []*time.Duration{&t.Handler, &t.BodyStall, &t.WriteStall} {
		if *d == 0 {
			*d = 30 * time.Second
		}
	}
	if t.Model == 0 {
		t.Model = 150 * time.Second
	}
	if t.Agent == 0 {
		t.Agent = 270 * time.Second
	}
	return t
}

// Handler serves the table.
func (t *Table) Handler() http.Handler { return http.HandlerFunc(t.echo.ServeHTTP) }

// Rows lists the rows in the order in which they were declared. A row of GET also serves HEAD.
func (t *Table) Rows() []Row { return append([]Row(nil), t.rows...) }

// Live lists "METHOD path" of everything that the router itself knows, on every host, for comparison with Rows.
func (t *Table) Live() []string {
	var live []string
	routers := map[string]*echo.Router{"": t.echo.Router()}
	for host, router := range t.echo.Routers() {
		routers[host] = router
	}
	for host, router := range routers {
		for _, route := range router.Routes() {
			live = append(live, route.Method+" "+host+route.Path)
		}
	}
	return live
}

// mount is the one place that adds to the router, for the real table and the dry one alike.
func (t *Table) mount(row Row, guard echo.MiddlewareFunc, final echo.HandlerFunc) {
	t.check(row)
	if t.dry {
		final = reached
	}
	if t.leaveOut != nil {
		guard = t.leaveOut(row, guard)
	}
	guarded := guard(final)
	if row.Administration && !t.dry {
		guarded = t.audited(row, guard, final)
	}
	handler := t.entered(row, guarded)
	t.mounting = true
	defer func() { t.mounting = false }()
	t.echo.Add(row.Method, row.Path, handler)
	if row.Method == http.MethodGet {
		t.echo.Add(http.MethodHead, row.Path, handler)
	}
	if row.Uncounted {
		t.quiet[row.Path] = true
	}
	t.rows = append(t.rows, row)
}

// stacked is how a plan that a story takes itself shows in the table.
func (t *Table) stacked(plans []*limits.Plan) []auth.Stacked {
	taken := make([]auth.Stacked, 0, len(plans))
	for _, plan := range plans {
		taken = append(taken, t.guard.Stacked(plan))
	}
	return taken
}
