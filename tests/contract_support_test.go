package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// rig is a world with Ada, whose things are asked for, and Eve of another account.
type rig struct {
	*world

	ada, eve string         // full tokens
	session  []*http.Cookie // Ada's
	// ids are what answers gave so far; "{name}" in a path or a body stands for one.
	ids map[string]string
}

// twoDatabases runs a test against a server on each database. The limits are there and never reached.
func twoDatabases(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	onBothDatabases(t, func(t *testing.T, w *world) {
		r := &rig{world: w, ids: map[string]string{}}
		servertest.CreateUser(t, w.environment, "ada@example.org")
		servertest.CreateUser(t, w.environment, "eve@example.org", "--role", "admin")
		r.ada = servertest.CreateToken(t, w.environment, "ada@example.org")
		r.eve = servertest.CreateToken(t, w.environment, "eve@example.org")
		browser := r.client(t, "")
		browser.SignIn("ada@example.org", servertest.Password)
		r.session = browser.Cookies
		test(t, r)
	}, servertest.Environment{
		"PUBLIC_URL": "https://notes.example.org", "ENABLE_INTERNAL_SHARING": "true", "API_MAX_TOKENS_PER_USER": "100",
		"API_TOKEN_CREATE_RATE_LIMIT": "0", "API_TOKEN_CHANGE_RATE_LIMIT": "0", "API_TOKEN_RATE_LIMIT_READ": "100000 per minute",
	})
}

// bySession stands for a token where Ada's browser asks.
const bySession = "session"

// client calls with a token, or as Ada's browser, for one test.
func (r *rig) client(t *testing.T, token string) *servertest.Client {
	t.Helper()
	client := servertest.ClientOf(t, r.process.URL)
	switch token {
	case "":
	case bySession:
		client.Cookies = r.session
	default:
		client.Header.Set("Authorization", "Bearer "+token)
	}
	return client
}

// scoped is a token of Ada's with these scopes alone.
func (r *rig) scoped(t *testing.T, scopes ...string) string {
	t.Helper()
	return servertest.CreateToken(t, r.environment, "ada@example.org", scopes...)
}

// transcribed uploads a recording of Ada's, which is transcribed so, and remembers its id by name.
func (r *rig) transcribed(t *testing.T, name string, reply asrtest.Reply) {
	t.Helper()
	r.provider.Always(func(asrtest.Call) asrtest.Reply { return reply })
	client := r.client(t, r.ada)
	id := recordingID(t, client.Upload("tone.wav", tone(t), map[string]string{"title": name}).JSON(t))
	client.AwaitStatus(id, time.Minute, "COMPLETED")
	r.ids[name] = strconv.FormatInt(id, 10)
}

// fill puts what is remembered into the place of its name.
func (r *rig) fill(text string) string {
	for name, id := range r.ids {
		text = strings.ReplaceAll(text, "{"+name+"}", id)
	}
	return text
}

// rule is one row of the contract: a request, and what is promised of its answer.
type rule struct {
	says         string
	method, path string
	body         string // JSON as it is sent; "" sends none
	status       int
	code         string
	shapes       map[string]shape // by the path of an object in the answer; "" is the answer, "tags[]" each member of a list
	values       map[string]any   // by the path of a value
	keep         string           // the name under which the answer's id is remembered
	header       http.Header
}

// holds asks in the order of the rules, and compares each answer with its rule.
func (r *rig) holds(t *testing.T, token string, rules []rule) {
	t.Helper()
	for _, rule := range rules {
		t.Run(rule.says, func(t *testing.T) {
			header := rule.header.Clone()
			if header == nil {
				header = http.Header{}
			}
			if rule.body != "" && header.Get("Content-Type") == "" {
				header.Set("Content-Type", "application/json")
			}
			answer := r.client(t, token).Call(rule.method, r.fill(rule.path), strings.NewReader(r.fill(rule.body)), header)
			for _, fault := range rule.faults(r, answer) {
				t.Errorf("%s %s %s: %s\n%v", rule.method, r.fill(rule.path), r.fill(rule.body), fault, answer)
			}
		})
	}
}

func (rule rule) faults(r *rig, answer servertest.Answer) []string {
	var faults []string
	if answer.Status != rule.status || answer.Code() != rule.code {
		return []string{fmt.Sprintf("is %d %s, want %d %s", answer.Status, answer.Code(), rule.status, rule.code)}
	}
	if rule.status == http.StatusNoContent {
		if len(answer.Body) > 0 {
			faults = append(faults, "has a body")
		}
		return faults
	}
	if kind := answer.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		return append(faults, "is "+kind+", want JSON")
	}
	var body any
	if err := json.Unmarshal(answer.Body, &body); err != nil {
		return append(faults, err.Error())
	}
	if rule.status >= http.StatusBadRequest && rule.shapes == nil {
		faults = append(faults, refused.faults("", body)...)
	}
	for path, shape := range rule.shapes {
		objects := found(body, path)
		if len(objects) == 0 {
			faults = append(faults, "has nothing at "+path)
		}
		for _, object := range objects {
			faults = append(faults, shape.faults(path, object)...)
		}
	}
	for path, want := range rule.values {
		if got := found(body, path); len(got) != 1 || fmt.Sprint(got[0]) != r.fill(fmt.Sprint(want)) {
			faults = append(faults, fmt.Sprintf("has %v at %q, want [%s]", got, path, r.fill(fmt.Sprint(want))))
		}
	}
	if rule.keep != "" {
		name, path, elsewhere := strings.Cut(rule.keep, ":")
		if !elsewhere {
			path = "id"
		}
		for _, id := range found(body, path) {
			r.ids[name] = fmt.Sprint(id)
		}
	}
	return faults
}

// found is what stands at a path like share.id, tags[].name or tags[0]; "len" of a list is its length.
func found(value any, path string) []any {
	if path == "" {
		return []any{value}
	}
	step, rest, _ := strings.Cut(path, ".")
	name, index, listed := strings.Cut(step, "[")
	if name == "len" {
		list, _ := value.([]any)
		return []any{len(list)}
	}
	if name != "" {
		object, _ := value.(map[string]any)
		member, ok := object[name]
		if !ok {
			return nil
		}
		value = member
	}
	if !listed {
		return found(value, rest)
	}
	list, _ := value.([]any)
	var all []any
	for i, member := range list {
		if index == "]" || index == strconv.Itoa(i)+"]" {
			all = append(all, found(member, rest)...)
		}
	}
	return all
}

// shape is an object of the contract: all of its members with their kinds, "?" behind those that may be null and
// before those that may be absent.
type shape string

// refused is what an error says, with the field and its bound where there is one.
const refused = shape("error:text code:text ?field:text ?max_length:int")

// kinds are those of values; N, Z6 and floating are the contract's forms of times.
var kinds = map[string]func(any) bool{
	"int":    func(v any) bool { n, ok := v.(float64); return ok && n == float64(int64(n)) },
	"number": func(v any) bool { _, ok := v.(float64); return ok },
	"string": func(v any) bool { _, ok := v.(string); return ok },
	"text":   func(v any) bool { s, _ := v.(string); return s != "" },
	"bool":   func(v any) bool { _, ok := v.(bool); return ok },
	"list":   func(v any) bool { _, ok := v.([]any); return ok },
	"object": func(v any) bool { _, ok := v.(map[string]any); return ok },
	"null":   func(v any) bool { return v == nil },
	"N": func(v any) bool {
		return spelled(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?$`)(v) && !strings.HasSuffix(v.(string), ".000000")
	},
	"Z6":       spelled(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`),
	"floating": spelled(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`),
}

func spelled(pattern string) func(any) bool {
	matcher := regexp.MustCompile(pattern)
	return func(v any) bool { s, ok := v.(string); return ok && matcher.MatchString(s) }
}

// faults compares an object with its shape: members that lack, members that nobody promised, and wrong kinds.
func (f shape) faults(path string, value any) []string {
	object, ok := value.(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("has %v at %q, want an object", value, path)}
	}
	var faults, names []string
	for _, member := range strings.Fields(string(f)) {
		name, kind, _ := strings.Cut(member, ":")
		name, optional := strings.CutPrefix(name, "?")
		names = append(names, name)
		got, ok := object[name]
		kind, nullable := strings.CutSuffix(kind, "?")
		is, known := kinds[kind]
		switch {
		case !known:
			faults = append(faults, "no kind "+kind)
		case !ok && optional:
		case !ok:
			faults = append(faults, fmt.Sprintf("%s lacks %s", path, name))
		case got == nil && nullable:
		case !is(got):
			faults = append(faults, fmt.Sprintf("%s.%s is %v, want %s", path, name, got, kind))
		}
	}
	for name := range object {
		if !slices.Contains(names, name) {
			faults = append(faults, fmt.Sprintf("%s has %s, which nobody promised", path, name))
		}
	}
	return faults
}
