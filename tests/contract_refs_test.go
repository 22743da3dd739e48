package tests

import (
	"fmt"
	"strings"
	"testing"
)

const refShown = shape("id:int system:text kind:text ref:text url:string? label:string? created_at:Z6")

// refContract is the contract's rows of external references (newer 7).
func refContract(t *testing.T, r *rig) {
	t.Helper()
	r.holds(t, r.ada, refRules())
	r.holds(t, r.ada, refBoundRules())
	r.holds(t, r.ada, refReplaceRules())
	for i := range 50 {
		r.holds(t, r.ada, []rule{{says: fmt.Sprint("reference ", i+1, " of 50"), method: "POST", path: "/api/v1/recordings/{full}/external-refs", body: fmt.Sprintf(`{"system":"crm","kind":"case","ref":"%d"}`, i), status: 201}})
	}
	r.holds(t, r.ada, []rule{
		{says: "the 51st is 409", method: "POST", path: "/api/v1/recordings/{full}/external-refs", body: `{"system":"crm","kind":"case","ref":"50"}`, status: 409, code: "conflict"},
		{says: "one of the 50 again is the one that there is", method: "POST", path: "/api/v1/recordings/{full}/external-refs", body: `{"system":"crm","kind":"case","ref":"0"}`, status: 200},
		{says: "PUT over 50 with those of other systems is 409", method: "PUT", path: "/api/v1/recordings/{full}/external-refs?system=other", body: `{"external_refs":[{"kind":"case","ref":"1"}]}`, status: 409, code: "conflict"},
	})
	r.holds(t, r.scoped(t, "write"), []rule{
		{says: "reading references takes the scope read", method: "GET", path: "/api/v1/recordings/{recording}/external-refs", status: 403, code: "insufficient_scope", shapes: map[string]shape{"": refusedScope}},
	})
}

func refRules() []rule {
	const path = "/api/v1/recordings/{recording}/external-refs"
	return []rule{
		{says: "none", method: "GET", path: path, status: 200, shapes: map[string]shape{"": "external_refs:list"}, values: map[string]any{"external_refs.len": 0}},
		{says: "an unknown recording", method: "GET", path: "/api/v1/recordings/999999/external-refs", status: 404, code: "not_found"},
		{
			says: "a new one is 201", method: "POST", path: path, body: `{"system":"crm","kind":"case","ref":"4711","url":"https://crm.example.org/4711","label":"Case"}`, status: 201, keep: "ref",
			shapes: map[string]shape{"": refShown}, values: map[string]any{"system": "crm", "kind": "case", "ref": "4711", "url": "https://crm.example.org/4711", "label": "Case"},
		},
		{
			says: "the same again is 200, the old one, unchanged", method: "POST", path: path, body: `{"system":"crm","kind":"case","ref":"4711","label":"Another"}`, status: 200,
			shapes: map[string]shape{"": refShown}, values: map[string]any{"id": "{ref}", "label": "Case"},
		},
		{says: "url and label may be left out", method: "POST", path: path, body: `{"system":"crm","kind":"note","ref":"4711"}`, status: 201, keep: "note", values: map[string]any{"url": nil, "label": nil}},
		{says: "listed by id", method: "GET", path: path, status: 200, shapes: map[string]shape{"external_refs[]": refShown}, values: map[string]any{"external_refs.len": 2, "external_refs[0].id": "{ref}", "external_refs[1].id": "{note}"}},
		{says: "the detail has them", method: "GET", path: "/api/v1/recordings/{recording}", status: 200, shapes: map[string]shape{"external_refs[]": refShown}, values: map[string]any{"external_refs.len": 2}},
		{says: "the list finds the recording by one", method: "GET", path: "/api/v1/recordings?external_system=crm&external_ref=4711&external_kind=case", status: 200, values: map[string]any{"recordings.len": 1, "recordings[0].id": "{recording}"}},
		{says: "half of a reference finds nothing", method: "GET", path: "/api/v1/recordings?external_system=crm", status: 400, code: "invalid_parameter"},
		{says: "DELETE is 204", method: "DELETE", path: path + "/{note}", status: 204},
		{says: "DELETE of one that is gone", method: "DELETE", path: path + "/{note}", status: 404, code: "not_found"},
	}
}

// refBoundRules are the bounds of each field, and how unreadable bodies are told.
func refBoundRules() []rule {
	const path = "/api/v1/recordings/{recording}/external-refs"
	bad := map[string]string{
		"a system in capitals":           `{"system":"CRM","kind":"case","ref":"1"}`,
		"a system of 41":                 `{"system":"` + strings.Repeat("a", 41) + `","kind":"case","ref":"1"}`,
		"no kind":                        `{"system":"crm","ref":"1"}`,
		"a kind with a space":            `{"system":"crm","kind":"a b","ref":"1"}`,
		"an empty ref":                   `{"system":"crm","kind":"case","ref":""}`,
		"a ref of 501":                   `{"system":"crm","kind":"case","ref":"` + strings.Repeat("a", 501) + `"}`,
		"a ref that cannot be printed":   `{"system":"crm","kind":"case","ref":"a\u0007"}`,
		"a url that is no http":          `{"system":"crm","kind":"case","ref":"1","url":"ftp://example.org/"}`,
		"a url that runs in the browser": `{"system":"crm","kind":"case","ref":"1","url":"javascript:alert(1)"}`,
		"a url with a space":             `{"system":"crm","kind":"case","ref":"1","url":"https://example.org/a b"}`,
		"a url of 1001":                  `{"system":"crm","kind":"case","ref":"1","url":"https://example.org/` + strings.Repeat("a", 981) + `"}`,
		"a label of 201":                 `{"system":"crm","kind":"case","ref":"1","label":"` + strings.Repeat("a", 201) + `"}`,
		"a ref that is a number":         `{"system":"crm","kind":"case","ref":1}`,
		"an empty object":                `{}`,
	}
	rules := []rule{
		{says: "the longest of each", method: "POST", path: path, status: 201, keep: "note", body: `{"system":"` + strings.Repeat("a", 40) + `","kind":"a_b.c-9","ref":"` + strings.Repeat("é", 500) + `","url":"https://example.org/` + strings.Repeat("a", 980) + `","label":"` + strings.Repeat("é", 200) + `"}`},
		{says: "and off again", method: "DELETE", path: path + "/{note}", status: 204},
		{says: "a body that is no JSON (ours: 400 bad_request)", method: "POST", path: path, body: `{`, status: 400, code: "bad_request"},
	}
	for says, body := range bad {
		rules = append(rules, rule{says: says, method: "POST", path: path, body: body, status: 400, code: "invalid_parameter"})
	}
	return rules
}

func refReplaceRules() []rule {
	const path = "/api/v1/recordings/{recording}/external-refs"
	return []rule{
		{says: "one of another system", method: "POST", path: path, body: `{"system":"mail","kind":"thread","ref":"1"}`, status: 201},
		{
			says: "PUT replaces those of one system: duplicates collapse to the last, other systems stay, all are answered", method: "PUT", path: path + "?system=crm",
			body: `{"external_refs":[{"system":"crm","kind":"case","ref":"4711","label":"First"},{"kind":"case","ref":"4711","label":"Last"},{"kind":"case","ref":"2"}]}`, status: 200,
			shapes: map[string]shape{"": "external_refs:list", "external_refs[]": refShown},
			values: map[string]any{"external_refs.len": 3, "external_refs[0].system": "mail", "external_refs[1].label": "Last", "external_refs[2].ref": "2"},
		},
		{says: "ids change, also of those that stay", method: "DELETE", path: path + "/{ref}", status: 404, code: "not_found"},
		{says: "PUT without a system", method: "PUT", path: path, body: `{"external_refs":[]}`, status: 400, code: "invalid_parameter"},
		{says: "PUT of no list", method: "PUT", path: path + "?system=crm", body: `{"external_refs":{}}`, status: 400, code: "invalid_parameter"},
		{says: "PUT without the key", method: "PUT", path: path + "?system=crm", body: `{}`, status: 400, code: "invalid_parameter"},
		{says: "PUT with another system inside", method: "PUT", path: path + "?system=crm", body: `{"external_refs":[{"system":"mail","kind":"case","ref":"1"}]}`, status: 400, code: "invalid_parameter"},
		{says: "PUT of nothing takes those of the system away", method: "PUT", path: path + "?system=crm", body: `{"external_refs":[]}`, status: 200, values: map[string]any{"external_refs.len": 1, "external_refs[0].system": "mail"}},
	}
}
