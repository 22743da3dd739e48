package probe

import (
	"fmt"
	"net/http"
	"sort"
	"strings"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
)

const (
	unauthorized = http.StatusUnauthorized
	forbidden    = http.StatusForbidden
	tooLarge     = http.StatusRequestEntityTooLarge
)

// unknownToken has our form and is nobody's.
func unknownToken() string {
	random := strings.Repeat("q", auth.TokenRandom)
	return auth.TokenPrefix + random + auth.Checksum(random)
}

// credentials: nobody and every dead credential are 401.
func (s *subject) credentials() {
	h := s.handler(Ample())
	scoped := s.token(s.scopeNames())
	none := s.try(h, trial{})
	s.refused("no credential", none, unauthorized, "authentication_required")
	s.expect("a 401 names its scheme", none.header.Get("WWW-Authenticate") == "Bearer", text(none.header.Get("WWW-Authenticate")))
	s.refused("an unknown token", s.try(h, trial{bearer: unknownToken()}), unauthorized, "invalid_token")
	s.refused("an expired token", s.try(h, trial{bearer: s.expired}), unauthorized, "invalid_token")
	s.refused("a revoked token", s.try(h, trial{bearer: s.revoked}), unauthorized, "invalid_token")
	s.refused("a scoped token in the query string", s.try(h, trial{query: scoped}), unauthorized, "invalid_token")
	s.refused("a dead session", s.try(h, trial{cookie: "nobody"}), unauthorized, "invalid_token")
	s.refused("a bad token beside a good session", s.try(h, trial{bearer: unknownToken(), cookie: s.session()}), unauthorized, "invalid_token")
}

// scope: a token with every other scope is 403, naming what is missing.
func (s *subject) scope() {
	if s.anyToken() {
		s.report.Skipped = append(s.report.Skipped, s.method+" "+s.row.Path+": any valid token may enter, so that no scope is missing")
		return
	}
	r := s.try(s.handler(Ample()), trial{bearer: s.token(s.otherScopes())})
	s.refused("a token with every other scope", r, forbidden, "insufficient_scope")
	required := []string{}
	names, _ := r.body["required_scopes"].([]any)
	for _, name := range names {
		required = append(required, fmt.Sprint(name))
	}
	var want []string
	if s.row.Door != routes.DoorAccount {
		want = strings.Fields(s.scopeNames())
	}
	sort.Strings(want)
	s.expect("the 403 names the scope that is missing", strings.Join(required, " ") == strings.Join(want, " "), text(strings.Join(required, " ")))
}

// permission: on a row that needs a verb every role without it is 403, and every role that has it comes in. On a row of
// administration a token without the mark is 403, a full one too, and on one of the instance everybody who does not
// administer that.
func (s *subject) permission() {
	if s.row.Needs == (auth.Verb{}) {
		return
	}
	h, marked := s.handler(Ample()), s.row.Administration
	if marked {
		unmarked := s.caller()
		unmarked.Administration = false
		s.forbidden("a token without the mark", s.try(h, trial{bearer: s.minted(s.scopeNames(), unmarked)}))
		s.forbidden("a full token without the mark", s.try(h, trial{bearer: s.minted(auth.FullName, unmarked)}))
	}
	for _, role := range auth.Roles() {
		caller := Caller{role.Name, marked, s.row.InstanceWide}
		byToken := s.try(h, trial{bearer: s.minted(s.scopeNames(), caller)})
		bySession := s.try(h, trial{cookie: s.signedIn(caller)})
		if role.May(s.row.Needs) {
			s.allowed("a token of the role "+role.Name, byToken)
			s.allowed("a session of the role "+role.Name, bySession)
			continue
		}
		s.forbidden("a token of the role "+role.Name, byToken)
		s.forbidden("a session of the role "+role.Name, bySession)
		s.expect("a refusal by role consults no limit", byToken.header.Get("RateLimit") == "", text(byToken.header.Get("RateLimit")))
	}
	if s.row.InstanceWide {
		of := Caller{auth.RoleAdmin, true, false}
		s.forbidden("a token of an administrator of one organization", s.try(h, trial{bearer: s.minted(s.scopeNames(), of)}))
		s.forbidden("a session of an administrator of one organization", s.try(h, trial{cookie: s.signedIn(of)}))
	}
}

func (s *subject) forbidden(who string, r result) {
	s.refused(who, r, forbidden, "insufficient_permission")
}

// admitted: the positive control. A row that refuses everybody must not pass for one that is guarded.
func (s *subject) admitted() {
	h := s.handler(Ample())
	s.allowed("a session", s.try(h, trial{cookie: s.session()}))
	r := s.try(h, s.good())
	s.allowed("exactly the row's scope", r)
	vary := strings.Join(r.header.Values("Vary"), ", ")
	private := strings.Contains(r.header.Get("Cache-Control"), "private") && strings.Contains(vary, "Authorization")
	s.expect("no shared cache keeps the answer", private, text(r.header.Get("Cache-Control")+"; "+vary))
	if s.row.Door != routes.DoorAccount {
		return
	}
	full := s.try(h, trial{bearer: s.token(auth.FullName)})
	if s.target.TokensManageByToken {
		s.allowed("a full token where those may manage tokens", full)
		return
	}
	s.refused("a full token where those may not manage tokens", full, forbidden, "insufficient_scope")
}

// largestBody is what the probe sends in full; larger bounds are proved by what is declared.
const largestBody = 8 << 20

// body: one byte over is 413, declared or not, and an encoded body is 415.
func (s *subject) body() {
	h := s.handler(Ample())
	over := s.good()
	over.declared = s.row.Body + 1
	s.refused("a body declared one byte over its bound", s.try(h, over), tooLarge, "payload_too_large")
	if s.row.Body <= largestBody {
		over.declared, over.sent = -1, s.row.Body+1
		s.refused("an undeclared body one byte over its bound", s.try(h, over), tooLarge, "payload_too_large")
		over.sent = s.row.Body
		s.allowed("a body of exactly its bound", s.try(h, over))
	}
	encoded := s.good()
	encoded.headers = map[string]string{"Content-Encoding": "gzip"}
	s.refused("an encoded body", s.try(h, encoded), http.StatusUnsupportedMediaType, "unsupported_media_type")
}

// order: who and scope are judged before the body's size, and what is refused by either charges nothing.
func (s *subject) order() {
	h := s.handler(Ample())
	s.refused("who is asked before how much", s.try(h, trial{declared: s.row.Body + 1}), unauthorized, "authentication_required")
	if !s.anyToken() {
		r := s.try(h, trial{bearer: s.token(s.otherScopes()), declared: s.row.Body + 1})
		s.refused("the scope is asked before how much", r, forbidden, "insufficient_scope")
		s.expect("a refusal by scope consults no limit", r.header.Get("RateLimit") == "", text(r.header.Get("RateLimit")))
	}
	over := s.good()
	over.declared = s.row.Body + 1
	r := s.try(h, over)
	s.expect("a refusal by size consults no limit", r.header.Get("RateLimit") == "", text(r.header.Get("RateLimit")))
}

// crossOrigin: another site cannot act with a browser's cookie.
func (s *subject) crossOrigin() {
	if s.method == http.MethodGet || s.method == http.MethodHead {
		return
	}
	r := s.try(s.handler(Ample()), trial{cookie: s.session(), headers: map[string]string{"Sec-Fetch-Site": "cross-site"}})
	s.refused("a cookie from another site", r, forbidden, "cross_origin")
}

// failures: 401s are counted by address, and a valid credential is never refused for them.
func (s *subject) failures() {
	figures := Ample()
	figures[limits.AuthFailures] = one()
	h, from := s.handler(figures), s.newAddress()
	s.refused("the first 401 of an address", s.try(h, trial{from: from}), unauthorized, "authentication_required")
	s.refused("a 401 beyond the limit", s.try(h, trial{from: from}), http.StatusTooManyRequests, limits.AuthFailures.Kind.Code())
	good := s.good()
	good.from = from
	s.allowed("a valid credential beyond the limit of 401s", s.try(h, good))
}

// public: anyone may enter, and what is counted is the address.
func (s *subject) public() {
	h := s.handler(Ample())
	s.allowed("no credential", s.try(h, trial{}))
	s.expect("the row says why it asks for none", s.row.Reason != "", text("no reason"))
	s.refused("a body declared one byte over its bound", s.try(h, trial{declared: s.row.Body + 1}), tooLarge, "payload_too_large")
	if s.row.Uncounted {
		tight := make(limits.Figures)
		for _, plan := range limits.Plans() {
			tight[plan] = one()
		}
		h, from := s.handler(tight), s.newAddress()
		for range 3 {
			s.allowed("a probe is never refused", s.try(h, trial{from: from}))
		}
		return
	}
	s.layers()
}
