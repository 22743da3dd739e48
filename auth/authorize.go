package auth

import (
	"net/http"
	"sort"
	"strings"

	"github.com/stenometer/stenometer/problems"
)

// authorize refuses 403 a credential that is good but not for this row.
func (g *Guard) authorize(p Principal, rule rule) error {
	if rule.row.SessionOnly {
		if p.via == ViaSession || (g.tokensManageByToken && p.scopes.Full()) {
			return nil
		}
		return insufficientScope(p, nil)
	}
	for _, scope := range rule.scopes {
		if !p.scopes.Has(scope) {
			return insufficientScope(p, rule.scopes)
		}
	}
	return permitted(p, rule.row)
}

// permitted refuses a role without the row's verb, and on a row of administration a token without the mark. On those it is
// not told apart which of the two is missing: neither is anything that the caller can change.
func permitted(p Principal, row Row) error {
	if !row.Administration {
		if row.Needs == (Verb{}) {
			return nil
		}
		return p.Permit(row.Needs)
	}
	if !p.May(row.Needs) || !p.administration {
		return lacks(row.Needs, "This takes a role that may %s, and of a token that it was made for administration.", row.Needs.name)
	}
	if row.InstanceWide && !p.instance {
		return lacks(row.Needs, forInstance)
	}
	return nil
}

const forInstance = "This is about the whole instance: it is for its administrators alone, and of their tokens for those that were made for administration."

// PermitInstance refuses, as the guard of the row would, whoever does not administer the whole instance. It is for rows
// where what the request asks for is about all organizations.
func (p Principal) PermitInstance() error {
	if p.AdministersInstance() {
		return nil
	}
	return lacks(AdministerMembers, forInstance)
}

// Permit refuses, as the guard of the row would, a caller whose role lacks a verb. It is for rows where what the body asks
// for needs a verb, and is asked before anything changes.
func (p Principal) Permit(verb Verb) error {
	if p.May(verb) {
		return nil
	}
	return lacks(verb, "The account's role does not have the permission %s.", verb.name)
}

func lacks(verb Verb, format string, arguments ...any) error {
	return problems.New(problems.InsufficientPermission, format, arguments...).With("required_permission", verb.name)
}

// Require refuses, as the guard of the row would, a credential that lacks one of the scopes. It is for rows where what
// the body asks for needs more than the row does, and is asked before anything changes.
func (p Principal) Require(scopes ...Scope) error {
	for _, scope := range scopes {
		if p.userID == 0 || !p.scopes.Has(scope) {
			return insufficientScope(p, scopes)
		}
	}
	return nil
}

func insufficientScope(p Principal, required []Scope) error {
	names := make([]string, 0, len(required))
	for _, scope := range required {
		names = append(names, scope.name)
	}
	sort.Strings(names)
	message := "The token does not have the scope that this route asks for."
	if len(names) == 0 {
		message = "This route is for signed-in browsers; no scope of a token opens it."
	}
	return problems.New(problems.InsufficientScope, "%s", message).
		With("required_scopes", names).With("token_scopes", p.scopes.Names())
}

// requireSameOrigin keeps another site from acting with the cookie of a browser that is signed in here. A token
// is never sent by a browser on its own, so it needs no such proof.
func (g *Guard) requireSameOrigin(r *http.Request, p Principal) error {
	if p.via != ViaSession {
		return nil
	}
	if err := g.sameOrigin.Check(r); err != nil {
		return problems.New(problems.CrossOrigin, "The request came from another site.").Because(err)
	}
	return nil
}

// checkDeclared refuses what is known before a byte of the body is read, and charges nothing for it.
func checkDeclared(r *http.Request, row Row) error {
	if err := checkSize(r, row); err != nil {
		return err
	}
	return checkEncoding(r)
}

func checkSize(r *http.Request, row Row) error {
	if r.ContentLength > row.Body {
		refusal := problems.New(problems.PayloadTooLarge, "The body declares %d bytes; at most %d are read here.", r.ContentLength, row.Body)
		for member, value := range row.TooLarge {
			refusal = refusal.With(member, value)
		}
		return refusal
	}
	return nil
}

func checkEncoding(r *http.Request) error {
	for _, encoding := range r.Header["Content-Encoding"] {
		if encoding != "" && !strings.EqualFold(encoding, "identity") {
			return problems.New(problems.UnsupportedMediaType, "An encoded body is not read; send it without Content-Encoding.")
		}
	}
	return nil
}
