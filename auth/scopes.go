package auth

import (
	"sort"
	"strings"
)

// Scope is one thing that a token may be for. Scopes are made only in this file; the zero Scope is refused by
// the route table.
type Scope struct{ name string }

// Name is how the scope is written in requests and answers.
func (s Scope) Name() string { return s.name }

// The scopes. AnyToken is no scope but the statement that every valid credential will do; Full is the
// pseudo-scope of a token that has them all.
var (
	Read     = Scope{"read"}
	Write    = Scope{"write"}
	Upload   = Scope{"upload"}
	Process  = Scope{"process"}
	Share    = Scope{"share"}
	Delete   = Scope{"delete"}
	Webhooks = Scope{"webhooks"}
	Settings = Scope{"account"}

	AnyToken = Scope{"any valid token"}
)

// FullName is how a token without restriction shows its scopes.
const FullName = "full"

// Scopes lists every scope with the sentence of the user guide.
func Scopes() []ScopeRow {
	return []ScopeRow{
		{Read, "Read recordings, transcripts and the account's own data."},
		{Write, "Change recordings and what belongs to them."},
		{Upload, "Bring in recordings."},
		{Process, "Start paid work: transcription, summaries, answers."},
		{Share, "Make and end public links."},
		{Delete, "Delete recordings and what belongs to them."},
		{Webhooks, "See and manage webhooks and integrations."},
		{Settings, "Change the account's settings; a token made for administration administers by it."},
	}
}

// ScopeRow is one row of the scope table.
type ScopeRow struct {
	Scope   Scope
	Meaning string
}

// ScopeSet is what a credential may do. The zero value may nothing.
type ScopeSet struct {
	full  bool
	names string // sorted, separated by spaces
}

// FullScopes is the set of a token without restriction and of a session.
func FullScopes() ScopeSet { return ScopeSet{full: true} }

// ParseScopes reads the stored form: "full", or sorted names separated by spaces. Unknown names stay in the
// set and open nothing.
func ParseScopes(stored string) ScopeSet {
	if stored == FullName {
		return FullScopes()
	}
	names := strings.Fields(stored)
	sort.Strings(names)
	return ScopeSet{names: strings.Join(names, " ")}
}

// Full reports whether nothing is withheld.
func (s ScopeSet) Full() bool { return s.full }

// Has reports whether the set opens a route of this scope.
func (s ScopeSet) Has(scope Scope) bool {
	if scope == AnyToken || s.full {
		return true
	}
	for _, name := range strings.Fields(s.names) {
		if name == scope.name {
			return true
		}
	}
	return false
}

// Names lists the set for an answer: sorted names, or "full" alone.
func (s ScopeSet) Names() []string {
	if s.full {
		return []string{FullName}
	}
	return strings.Fields(s.names)
}

// Stored is the form that ParseScopes reads.
func (s ScopeSet) Stored() string { return strings.Join(s.Names(), " ") }

// Within reports whether s opens nothing that outer does not.
func (s ScopeSet) Within(outer ScopeSet) bool {
	if outer.full {
		return true
	}
	if s.full {
		return false
	}
	for _, name := range strings.Fields(s.names) {
		if !outer.Has(Scope{name}) {
			return false
		}
	}
	return true
}
