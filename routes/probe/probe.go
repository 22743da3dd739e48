// Package probe walks a built route table over real requests and reports every guard that does not bite. It trusts
// nothing that the table says of itself but its rows: what a row must refuse follows from its door and its scopes,
// and whether it does is seen from the answers alone.
package probe

import (
	"context"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"time"

	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
)

// Target is a table that can be built again and again.
type Target struct {
	// Build makes the dry table with these figures, counters at nothing, and the credentials of Credentials. Clients
	// are counted by the address of their connection.
	Build func(limits.Figures) *routes.Table
	// Credentials makes credentials that every built table knows.
	Credentials Credentials
	// TokensManageByToken is whether the built tables let full tokens through the door of accounts.
	TokensManageByToken bool
}

// Caller is the account behind a credential, whether it administers the whole instance, and whether a token was made for
// administration.
type Caller struct {
	Role           string
	Administration bool
	Instance       bool
}

// Credentials makes callers. Each call makes a new account of a new organization.
type Credentials interface {
	// Live is a valid token of the caller with these scopes, as stored. A mark that the caller's role could not give
	// any more is on it all the same: roles change.
	Live(scopes string, by Caller) (string, error)
	// Expired and Revoked are tokens that were valid and are no longer.
	Expired() (string, error)
	Revoked() (string, error)
	// Key is the address of an integration of a new account, and the secret by which it signs.
	Key() (integration string, secret []byte, err error)
	// Session is the cookie of a signed-in browser of the caller.
	Session(by Caller) (string, error)
}

// Fault is one guard that did not bite.
type Fault struct {
	Method, Path string
	// Check says what was tried.
	Check string
	// Detail says what came of it.
	Detail string
}

func (f Fault) String() string {
	return fmt.Sprintf("%s %s: %s: %s", f.Method, f.Path, f.Check, f.Detail)
}

// Report is what a walk found.
type Report struct {
	Faults []Fault
	// Rows and Checks are how many there were; a walk that tried nothing found nothing.
	Rows, Checks int
	// Skipped names checks that a row cannot be put to, and why.
	Skipped []string
}

// Walk puts every row, and the HEAD of every GET, to every check that its door and scopes call for. The error is
// that of a target which cannot be built; faults are no errors.
func Walk(ctx context.Context, target Target) (Report, error) {
	w := &walk{ctx: ctx, target: target, tokens: map[wish]string{}, sessions: map[Caller]string{}}
	if err := w.prepare(); err != nil {
		return Report{}, fmt.Errorf("make the credentials of the walk: %w", err)
	}
	table := target.Build(Ample())
	w.compareSets(table)
	for _, row := range table.Rows() {
		w.report.Rows++
		w.row(row, row.Method)
		if row.Method == http.MethodGet {
			w.row(row, http.MethodHead)
		}
	}
	return w.report, w.err
}

// Ample are figures that no single request runs into.
func Ample() limits.Figures {
	figures := make(limits.Figures)
	for _, plan := range limits.Plans() {
		figures[plan] = []limits.Rate{{Limit: 1000, Period: time.Minute}}
	}
	return figures
}

// compareSets finds what the router serves and the table does not show, and the other way round.
func (w *walk) compareSets(table *routes.Table) {
	declared := map[string]int{}
	for _, row := range table.Rows() {
		declared[row.Method+" "+row.Path]++
		if row.Method == http.MethodGet {
			declared[http.MethodHead+" "+row.Path]++
		}
	}
	for _, live := range table.Live() {
		declared[live]--
	}
	names := make([]string, 0, len(declared))
	for name := range declared {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		method, path, _ := strings.Cut(name, " ")
		w.report.Checks++
		switch count := declared[name]; {
		case count < 0:
			w.fault(method, path, "the router serves what the table shows", "the route is not a row of the table")
		case count > 0:
			w.fault(method, path, "the router serves what the table shows", "the row is not served")
		}
	}
}

// row puts one row to its checks under one method.
func (w *walk) row(row routes.Row, method string) {
	s := &subject{walk: w, row: row, method: method, path: concrete(row.Path)}
	if row.Door == routes.DoorPublic {
		s.public()
		return
	}
	if row.AdmitsLate() {
		s.late()
		return
	}
	s.credentials()
	s.scope()
	s.permission()
	s.admitted()
	s.body()
	s.order()
	s.crossOrigin()
	s.failures()
	s.layers()
}

// concrete puts an id in the place of each parameter. No handler runs, so that any will do.
func concrete(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ":") {
			parts[i] = "1"
		}
	}
	return strings.Join(parts, "/")
}
