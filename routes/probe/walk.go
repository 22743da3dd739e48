package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
)

// walk is one walk under way.
type walk struct {
	ctx     context.Context
	target  Target
	report  Report
	err     error
	address int

	tokens           map[wish]string
	sessions         map[Caller]string
	expired, revoked string
	integration      string
	key              []byte
}

// wish is a token that checks have asked for.
type wish struct {
	scopes string
	by     Caller
}

func (w *walk) prepare() (err error) {
	if w.expired, err = w.target.Credentials.Expired(); err != nil {
		return err
	}
	w.revoked, err = w.target.Credentials.Revoked()
	return err
}

// minted is a live token of the caller with these scopes. Counters begin anew with each built table, so that one token
// serves many checks.
func (w *walk) minted(scopes string, by Caller) string {
	wish := wish{scopes, by}
	if plain, ok := w.tokens[wish]; ok {
		return plain
	}
	plain, err := w.target.Credentials.Live(scopes, by)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("make a token with the scopes %q of %+v: %w", scopes, by, err)
	}
	w.tokens[wish] = plain
	return plain
}

// signedIn is the cookie of the caller's browser.
func (w *walk) signedIn(by Caller) string {
	if cookie, ok := w.sessions[by]; ok {
		return cookie
	}
	cookie, err := w.target.Credentials.Session(by)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("sign in as %+v: %w", by, err)
	}
	w.sessions[by] = cookie
	return cookie
}

func (w *walk) fault(method, path, check, detail string) {
	w.report.Faults = append(w.report.Faults, Fault{method, path, check, detail})
}

// newAddress gives each check an address of its own, so that no answer is hidden by a 429 of another.
func (w *walk) newAddress() string {
	w.address++
	return fmt.Sprintf("10.%d.%d.%d:4711", w.address>>16&255, w.address>>8&255, w.address&255)
}

// subject is one row under one method.
type subject struct {
	*walk

	row    routes.Row
	method string
	path   string
}

// trial is one request to be made.
type trial struct {
	bearer, cookie, query string
	headers               map[string]string
	// declared and sent are the length that the request claims and the bytes that it sends; declared -1 claims none.
	declared, sent int64
	from           string
	// secret is the field before the file of a form; signed is a delivery.
	secret string
	signed *delivery
}

// result is what came of a trial.
type result struct {
	status  int
	reached bool
	code    string
	header  http.Header
	body    map[string]any
}

func (r result) String() string {
	if r.reached {
		return "the handler was reached"
	}
	return fmt.Sprintf("%d %s", r.status, r.code)
}

// handler builds the table anew, with these figures.
func (s *subject) handler(figures limits.Figures) http.Handler {
	return s.target.Build(figures).Handler()
}

// try makes one request.
func (s *subject) try(handler http.Handler, t trial) result {
	target := s.path
	if t.query != "" {
		target += "?token=" + t.query
	}
	request := httptest.NewRequestWithContext(s.ctx, s.method, target, nil)
	request.RemoteAddr = t.from
	if t.from == "" {
		request.RemoteAddr = s.newAddress()
	}
	if t.declared != 0 || t.sent != 0 {
		request.ContentLength = t.declared
		request.Body = io.NopCloser(io.LimitReader(zeros{}, t.sent))
	}
	if t.secret != "" {
		t.form(request)
	}
	if t.signed != nil {
		t.signed.onto(request)
	}
	if t.bearer != "" {
		request.Header.Set("Authorization", "Bearer "+t.bearer)
	}
	if t.cookie != "" {
		request.AddCookie(&http.Cookie{Name: auth.SessionCookie, Value: t.cookie})
	}
	for name, value := range t.headers {
		request.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	r := result{status: recorder.Code, header: recorder.Header()}
	r.reached = r.status == http.StatusNoContent && r.header.Get("X-Reached") == s.row.Path
	if json.Unmarshal(recorder.Body.Bytes(), &r.body) == nil {
		if routes.SpeaksOpenAI(s.row.Path) { // a refusal in another form has no code here
			r.body, _ = r.body["error"].(map[string]any)
		}
		r.code, _ = r.body["code"].(string)
	}
	return r
}

// expect counts one check and notes a fault when it does not hold.
func (s *subject) expect(check string, holds bool, got fmt.Stringer) {
	s.report.Checks++
	if !holds {
		s.fault(s.method, s.row.Path, check, got.String())
	}
}

// refused expects a status and a code.
func (s *subject) refused(check string, r result, status int, code string) {
	s.expect(check, r.status == status && r.code == code, r)
}

// allowed expects the handler.
func (s *subject) allowed(check string, r result) { s.expect(check, r.reached, r) }

// text is a Stringer.
type text string

func (t text) String() string { return string(t) }

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// scopeNames is the row's scopes as a token holds them.
func (s *subject) scopeNames() string {
	names := make([]string, 0, len(s.row.Scopes))
	for _, scope := range s.row.Scopes {
		if scope != auth.AnyToken {
			names = append(names, scope.Name())
		}
	}
	if len(names) == 0 {
		return auth.Share.Name()
	}
	return strings.Join(names, " ")
}

// otherScopes is every scope that the row does not ask for.
func (s *subject) otherScopes() string {
	var names []string
	for _, other := range auth.Scopes() {
		wanted := false
		for _, scope := range s.row.Scopes {
			wanted = wanted || scope == other.Scope
		}
		if !wanted {
			names = append(names, other.Scope.Name())
		}
	}
	return strings.Join(names, " ")
}

func (s *subject) anyToken() bool {
	return len(s.row.Scopes) == 1 && s.row.Scopes[0] == auth.AnyToken
}

// good is a trial that the row must let in: by token where tokens may enter, else by session.
func (s *subject) good() trial {
	if s.row.Door == routes.DoorAccount {
		return trial{cookie: s.session()}
	}
	return trial{bearer: s.token(s.scopeNames())}
}

// caller is who the row is for: an administrator where it asks for one, else the least role that it lets in.
func (s *subject) caller() Caller {
	if s.row.Administration {
		return Caller{auth.RoleAdmin, true, s.row.InstanceWide}
	}
	if s.row.Needs != (auth.Verb{}) && !auth.RoleMay(auth.RoleEditor, s.row.Needs) {
		return Caller{Role: auth.RoleAdmin}
	}
	return Caller{Role: auth.RoleEditor}
}

func (s *subject) token(scopes string) string { return s.minted(scopes, s.caller()) }

func (s *subject) session() string { return s.signedIn(s.caller()) }
