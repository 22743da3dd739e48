package routes

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/limits"
)

// prefixes are where the rows of a door may live. A token works on the API and nowhere else.
var prefixes = map[Door][]string{
	DoorPublic:  {"/", "/healthz", "/readyz", "/api/", "/share/", "/assets/", "/sign-in", "/reset-password", "/invite"},
	DoorToken:   {"/api/v1/", openAIPrefix},
	DoorUpload:  {"/api/v1/"},
	DoorPaid:    {"/api/v1/"},
	DoorHearing: {openAIPrefix},
	DoorAnswer:  {"/api/v1/", openAIPrefix},
	DoorAccount: {"/api/"},
	DoorLate:    {"/api/v1/"},
	DoorSigned:  {"/hooks/"},
}

// noun is how a parameter is called: after the thing it names, so that a test knows what to put there.
var noun = regexp.MustCompile(`^:[a-z][a-z_]*$`)

// check refuses, when the process starts, a row that could be entered other than it reads.
func (t *Table) check(row Row) {
	fail := func(fault string) { panic("routes: " + row.Method + " " + row.Path + ": " + fault) }
	switch row.Method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		fail("rows are of GET, POST, PUT, PATCH or DELETE")
	}
	if !underPrefix(row) {
		fail("the path is not where rows of the door " + string(row.Door) + " live")
	}
	if op := row.Operation; op.Summary == "" || op.Group == "" || len(op.Answers) == 0 {
		fail("a row says what it does, under which heading, and what it answers")
	}
	safe := row.Method == http.MethodGet
	if !safe && len(row.Scopes) == 1 && row.Scopes[0] == auth.Read {
		fail("a method that changes something needs more than the scope read")
	}
	if row.Door == DoorPublic && row.Reason == "" {
		fail("a public row says why it asks for no credential")
	}
	if row.Weighs != "" && (row.Door != DoorToken && row.Door != DoorPaid && row.Door != DoorAnswer || safe) {
		fail("only a token or paid row with a body can be weighed")
	}
	if spends := row.Price != (budgets.Price{}); spends != (row.SpendsNow() || row.Later) || (row.Door == DoorUpload || row.AdmitsLate()) && !row.Later {
		fail("a paid row and an upload name their price, others only as Later")
	}
	if (row.Administration || row.InstanceWide) && (row.Door != DoorToken || row.Category != auth.CategoryWrite) {
		fail("a row of administration is a token row that is counted as writing")
	}
	if row.Administration != actionWord.MatchString(row.Action) {
		fail("a row of administration, and no other, has an action such as user.disable")
	}
	if row.Needs != (auth.Verb{}) && len(row.Scopes) == 0 {
		fail("only a row that asks for a scope can need a verb")
	}
	if row.Category == auth.CategoryProcess && !row.SpendsNow() {
		fail("a row that starts paid work is a paid row")
	}
	if row.Streams != (row.Door == DoorAnswer) || row.Streams && (safe || row.Category != auth.CategoryProcess) {
		fail("a row that streams is an answer row, which changes something at a provider")
	}
	if row.Uncounted && row.Door != DoorPublic {
		fail("only public rows may be uncounted")
	}
	for _, stacked := range row.Stack {
		if row.Door == DoorPublic && stacked.Plan.Subject != limits.Address {
			fail("a public row knows addresses only and cannot count by " + stacked.Plan.Name)
		}
	}
	t.checkPath(row, fail)
}

func underPrefix(row Row) bool {
	for _, prefix := range prefixes[row.Door] {
		if row.Path == prefix || (prefix != "/" && strings.HasSuffix(prefix, "/") && strings.HasPrefix(row.Path, prefix)) {
			return true
		}
	}
	return false
}

// checkPath refuses a second row of the same method and path, and one path under two spellings of its parameters:
// the router would keep the last and drop the other in silence.
func (t *Table) checkPath(row Row, fail func(string)) {
	parts := strings.Split(row.Path, "/")
	literal := true
	for i, part := range parts[1:] {
		switch {
		case part == "" && row.Path != "/" || strings.Contains(part, "*"):
			fail("a path has no empty part and no wildcard")
		case strings.HasPrefix(part, ":"):
			if !noun.MatchString(part) || part == ":id" {
				fail("the parameter " + part + " is not named after a thing")
			}
			literal = false
			parts[i+1] = ":"
		}
	}
	shape := strings.Join(parts, "/")
	if first, ok := t.shapes[shape]; ok && first != row.Path {
		fail("the same path was declared as " + first)
	}
	t.shapes[shape] = row.Path
	if t.declared[row.Method+" "+row.Path] {
		fail("declared twice")
	}
	t.declared[row.Method+" "+row.Path] = true
	if literal {
		t.literal[row.Path] = append(t.literal[row.Path], row.Method)
	}
}
