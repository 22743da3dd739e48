package routes_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/routes"
)

// Null among the members of a list is refused: the decoder would make an id or a text of it that nobody sent.
func TestNullIsNoMemberOfAList(t *testing.T) {
	t.Parallel()
	for sent, status := range map[string]int{
		`{"ids":[1,null]}`: 400, `{"ids":[[null]]}`: 400, `{"ids":[ null ]}`: 400,
		`{"ids":[1],"name":null}`: 200, `{"ids":[],"in":{"a":[{"b":null}]}}`: 200, `{"name":"[null]","ids":[2]}`: 200,
	} {
		h := open(t, bare("POST", "/api/v1/listed", auth.Write, func(c echo.Context, _ auth.Principal) error {
			var body struct {
				IDs  json.RawMessage `json:"ids"`
				Name *string         `json:"name"`
			}
			if err := routes.DecodeJSON(c, &body); err != nil {
				return err
			}
			return c.NoContent(http.StatusOK)
		}))
		if got := h.call("POST", "/api/v1/listed", bearer(h.token(1, "write")), body(sent)); got.StatusCode != status {
			t.Errorf("%s: %d, want %d", sent, got.StatusCode, status)
		}
	}
}

// A wrong value is told by the path at which it was sent: in it the types that we embed in one another have no part.
func TestWrongTypesAreToldByTheirMember(t *testing.T) {
	t.Parallel()
	type count struct {
		Count *int `json:"count"`
	}
	type part struct {
		count
		Inner []struct{ count } `json:"inner"`
	}
	h := open(t, bare("POST", "/api/v1/parts", auth.Write, func(c echo.Context, _ auth.Principal) error {
		var in struct {
			part
			Of map[string]*part `json:"of"`
		}
		return routes.DecodeJSON(c, &in)
	}))
	token := bearer(h.token(1, "write"))
	for sent, field := range map[string]string{
		`{"count":"2"}`: "count", `{"inner":[{"count":"2"}]}`: "inner.count", `{"of":{"a":{"inner":[{"count":"2"}]}}}`: "of.inner.count",
		`{"inner":5}`: "inner",
	} {
		answer := h.call("POST", "/api/v1/parts", token, body(sent))
		var told struct{ Code, Error string }
		if err := json.Unmarshal([]byte(answer.text), &told); err != nil {
			t.Errorf("%s: %d: %v", sent, answer.StatusCode, err)
		}
		if told.Code != "invalid_parameter" || !strings.HasPrefix(told.Error, `"`+field+`" `) {
			t.Errorf("%s: %+v, want %s", sent, told, field)
		}
	}
}

func TestJSONBodies(t *testing.T) {
	t.Parallel()
	h := open(t, bare("POST", "/api/v1/things", auth.Write, func(c echo.Context, _ auth.Principal) error {
		var in struct {
			Name  string `json:"name"`
			Count int    `json:"count"`
		}
		if err := routes.DecodeJSON(c, &in); err != nil {
			return err
		}
		return c.JSON(http.StatusOK, in)
	}))
	token := bearer(h.token(1, "full"))
	for _, row := range []struct {
		name, text string
		status     int
		code       string
	}{
		{"good", `{"name":"a","count":3}`, 200, ""},
		{"unknown fields", `{"name":"a","surprise":{"x":[1]}}`, 200, ""},
		{"white space around", " \n{} \n", 200, ""},
		{"empty", "", 400, "bad_request"},
		{"null", "null", 400, "bad_request"},
		{"array", "[]", 400, "bad_request"},
		{"string", `"x"`, 400, "bad_request"},
		{"cut short", `{"name":"a"`, 400, "bad_request"},
		{"trailing data", `{} {}`, 400, "bad_request"},
		{"trailing bracket", `{}}`, 400, "bad_request"},
		{"wrong type", `{"name":7}`, 400, "invalid_parameter"},
		{"number beyond range", `{"count":99999999999999999999}`, 400, "invalid_parameter"},
		{"32 deep", `{"x":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`, 200, ""},
		{"33 deep", `{"x":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`, 400, "bad_request"},
		{"brackets in a string", `{"name":"` + strings.Repeat("[", 100) + `\"{"}`, 200, ""},
		{"bytes that are no UTF-8", "{\"name\":\"a\xff\"}", 400, "bad_request"},
		{"a byte-order mark", "\ufeff{}", 400, "bad_request"},
		{"a pair of surrogates", `{"name":"\ud83d\ude00\u0041"}`, 200, ""},
		{"a first half alone", `{"name":"\ud83d"}`, 400, "bad_request"},
		{"a first half before a letter", `{"name":"\ud83d\u0041"}`, 400, "bad_request"},
		{"a second half alone", `{"name":"\ude00\ud83d"}`, 400, "bad_request"},
		{"the text of an escape", `{"name":"\\ud83d \\\\ude00"}`, 200, ""},
		{"a million deep", `{"x":` + strings.Repeat("[", 1_000_000) + `}`, 400, "bad_request"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h.want(h.call("POST", "/api/v1/things", token, body(row.text)), row.status, row.code)
		})
	}
	for contentType, status := range map[string]int{
		"application/json": 200, "application/json; charset=utf-8": 200, "application/merge-patch+json": 200, "APPLICATION/JSON": 200,
		"": 415, "text/plain": 415, "application/x-www-form-urlencoded": 415, "text/json": 415, "application/jsonx": 415,
	} {
		a := h.call("POST", "/api/v1/things", token, body("{}"), func(r *http.Request) { r.Header.Set("Content-Type", contentType) })
		if a.StatusCode != status {
			t.Errorf("Content-Type %q: %d, want %d", contentType, a.StatusCode, status)
		}
	}
	undeclared := func(size int) change {
		return func(r *http.Request) {
			body(`{"name":"` + strings.Repeat("x", size) + `"}`)(r)
			r.ContentLength = -1
		}
	}
	h.want(h.call("POST", "/api/v1/things", token, undeclared(2<<20-11)), 200, "")
	h.want(h.call("POST", "/api/v1/things", token, undeclared(2<<20-10)), 413, "payload_too_large")
}

// Rule: a row whose fields are all optional takes a request without a body, whether or not its length was declared.
func TestOptionalJSONBodies(t *testing.T) {
	t.Parallel()
	h := open(t, bare("POST", "/api/v1/things", auth.Write, func(c echo.Context, _ auth.Principal) error {
		var in struct {
			Name string `json:"name"`
		}
		if err := routes.DecodeOptionalJSON(c, &in); err != nil {
			return err
		}
		return c.JSON(http.StatusOK, in)
	}))
	token := bearer(h.token(1, "full"))
	undeclared := func(r *http.Request) { r.ContentLength = -1 }
	plain := func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }
	for _, row := range []struct {
		name, text string
		changes    []change
		status     int
		code       string
	}{
		{"none", "", []change{plain}, 200, ""},
		{"none, undeclared", "", []change{plain, undeclared}, 200, ""},
		{"good", `{"name":"a"}`, nil, 200, ""},
		{"good, undeclared", `{"name":"a"}`, []change{undeclared}, 200, ""},
		{"no JSON, undeclared", "x", []change{undeclared}, 400, "bad_request"},
		{"another type, undeclared", `{"name":"a"}`, []change{plain, undeclared}, 415, "unsupported_media_type"},
		{"too large, undeclared", strings.Repeat(" ", 2<<20+1), []change{undeclared}, 413, "payload_too_large"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h.want(h.call("POST", "/api/v1/things", append([]change{token, body(row.text)}, row.changes...)...), row.status, row.code)
		})
	}
}

func FuzzJSONBody(f *testing.F) {
	for _, seed := range []string{"{}", `{"a":[{"b":"\\\""}]}`, "[", `{"a":"\`, "\xff", `{"a":1}x`} {
		f.Add(seed)
	}
	p := bare("POST", "/api/v1/things", auth.Write, func(c echo.Context, _ auth.Principal) error {
		var in map[string]any
		if err := routes.DecodeJSON(c, &in); err != nil {
			return err
		}
		return c.NoContent(http.StatusNoContent)
	})
	p.figures = authtest.NoFigures()
	h := open(f, p)
	token := bearer(h.token(1, "full"))
	f.Fuzz(func(t *testing.T, text string) {
		h := &house{t: t, table: h.table}
		a := h.call("POST", "/api/v1/things", token, body(text))
		if a.StatusCode != 204 && (a.StatusCode != 400 || a.code(t) == "") {
			t.Fatalf("%q: %d %s", text, a.StatusCode, a.text)
		}
	})
}
