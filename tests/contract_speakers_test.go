package tests

import (
	"strings"
	"testing"
)

const (
	speakerListed = shape("id:int name:string use_count:int last_used:N? confidence_score:number? has_voice_profile:bool " +
		"email:string? aliases:list updated_at:Z6?")
	speakerCreated = speakerListed + " created_at:N"
)

// speakerContract is the contract's rows of people and how to reach them (newer 11, 3.5 of the older file).
func speakerContract(t *testing.T, r *rig) {
	t.Helper()
	r.holds(t, r.eve, []rule{
		{says: "another account's person", method: "POST", path: "/api/v1/speakers", body: `{"name":"Mallory"}`, status: 201, keep: "foreign"},
	})
	r.holds(t, r.ada, speakerRules())
	r.holds(t, r.ada, speakerBoundRules())
	r.holds(t, r.ada, speakerChangeRules())
	r.holds(t, r.scoped(t, "write"), []rule{
		{says: "deleting takes the scope delete", method: "DELETE", path: "/api/v1/speakers/{grace}", status: 403, code: "insufficient_scope", shapes: map[string]shape{"": refusedScope}},
		{
			says: "without the scope read nobody has a name or an address", method: "PUT", path: "/api/v1/speakers/{grace}", body: `{"email":"grace@example.org"}`, status: 200,
			values: map[string]any{"speaker.name": nil, "speaker.email": nil, "speaker.aliases": "[]"},
		},
	})
	r.holds(t, r.ada, []rule{
		{says: "DELETE of another account's is 404 (ours)", method: "DELETE", path: "/api/v1/speakers/{foreign}", status: 404, code: "not_found"},
		{says: "DELETE says so", method: "DELETE", path: "/api/v1/speakers/{grace}", status: 200, shapes: map[string]shape{"": succeeded}, values: map[string]any{"success": true}},
		{says: "DELETE of one who is gone", method: "DELETE", path: "/api/v1/speakers/{grace}", status: 404, code: "not_found"},
		{says: "the other goes too", method: "DELETE", path: "/api/v1/speakers/{alan}", status: 200},
	})
}

func speakerRules() []rule {
	return []rule{
		{says: "nobody yet", method: "GET", path: "/api/v1/speakers", status: 200, shapes: map[string]shape{"": "speakers:list"}, values: map[string]any{"speakers.len": 0}},
		{
			says: "created bare with created_at, the address in lower case, aliases cleaned", method: "POST", path: "/api/v1/speakers", status: 201, keep: "grace",
			body:   `{"name":" Grace ","email":" Grace@Example.ORG ","aliases":[" Amazing ","amazing","",  "G"]}`,
			shapes: map[string]shape{"": speakerCreated},
			values: map[string]any{"name": "Grace", "email": "grace@example.org", "aliases": "[Amazing G]", "use_count": 0, "has_voice_profile": false},
		},
		{says: "a name alone", method: "POST", path: "/api/v1/speakers", body: `{"name":"Alan","email":null,"aliases":null}`, status: 201, keep: "alan", values: map[string]any{"email": nil, "aliases": "[]"}},
		{says: "no name", method: "POST", path: "/api/v1/speakers", body: `{}`, status: 400, code: "invalid_parameter"},
		{says: "a blank name (ours: 400)", method: "POST", path: "/api/v1/speakers", body: `{"name":"  "}`, status: 400, code: "invalid_parameter"},
		{says: "a name that the account has is 400", method: "POST", path: "/api/v1/speakers", body: `{"name":"Grace"}`, status: 400, code: "invalid_parameter"},
		{says: "a name of another account is free", method: "POST", path: "/api/v1/speakers", body: `{"name":"Mallory"}`, status: 201, keep: "mallory"},
		{says: "and goes", method: "DELETE", path: "/api/v1/speakers/{mallory}", status: 200},
		{says: "listed with all nine members, the last used first", method: "GET", path: "/api/v1/speakers", status: 200, shapes: map[string]shape{"speakers[]": speakerListed}, values: map[string]any{"speakers.len": 2, "speakers[0].name": "Alan", "speakers[1].name": "Grace"}},
		{says: "?email= is exact, any case", method: "GET", path: "/api/v1/speakers?email=GRACE@example.org", status: 200, values: map[string]any{"speakers.len": 1, "speakers[0].id": "{grace}"}},
		{says: "?email= is no part of an address", method: "GET", path: "/api/v1/speakers?email=grace", status: 200, values: map[string]any{"speakers.len": 0}},
	}
}

func speakerBoundRules() []rule {
	many := `"` + strings.Join(strings.Split("abcdefghijklmnopqrstu", ""), `","`) + `"`
	var rules []rule
	for says, field := range map[string]string{
		"an address without @": `"email":"grace"`, "an address without a dot": `"email":"grace@example"`, "an address with two @": `"email":"a@b@example.org"`,
		"an address with a space": `"email":"gra ce@example.org"`, "an address of 321": `"email":"` + strings.Repeat("a", 309) + `@example.org"`,
		"an address that is a number": `"email":1`, "aliases that are no list": `"aliases":"G"`, "an alias that is a number": `"aliases":[1]`,
		"an alias of 101": `"aliases":["` + strings.Repeat("é", 101) + `"]`, "21 aliases": `"aliases":[` + many + `]`,
	} {
		rules = append(rules,
			rule{says: "POST: " + says, method: "POST", path: "/api/v1/speakers", body: `{"name":"New",` + field + `}`, status: 400, code: "invalid_parameter"},
			rule{says: "PUT: " + says, method: "PUT", path: "/api/v1/speakers/{grace}", body: `{` + field + `}`, status: 400, code: "invalid_parameter"})
	}
	return append(rules, rule{says: "a name of 101", method: "POST", path: "/api/v1/speakers", body: `{"name":"` + strings.Repeat("é", 101) + `"}`, status: 400, code: "invalid_parameter"})
}

func speakerChangeRules() []rule {
	const path = "/api/v1/speakers/{grace}"
	return []rule{
		{
			says: "PUT changes what is named alone", method: "PUT", path: path, body: `{"email":"hopper@example.org"}`, status: 200,
			shapes: map[string]shape{"": "success:bool speaker:object", "speaker": speakerListed},
			values: map[string]any{"success": true, "speaker.email": "hopper@example.org", "speaker.name": "Grace", "speaker.aliases": "[Amazing G]"},
		},
		{says: "null clears the address", method: "PUT", path: path, body: `{"email":null}`, status: 200, values: map[string]any{"speaker.email": nil}},
		{says: "blank clears the address", method: "PUT", path: path, body: `{"email":" "}`, status: 200, values: map[string]any{"speaker.email": nil}},
		{says: "[] clears the aliases", method: "PUT", path: path, body: `{"aliases":[]}`, status: 200, values: map[string]any{"speaker.aliases": "[]"}},
		{says: "null clears the aliases", method: "PUT", path: path, body: `{"aliases":null}`, status: 200, values: map[string]any{"speaker.aliases": "[]"}},
		{says: "none of the three", method: "PUT", path: path, body: `{"note":"x"}`, status: 400, code: "invalid_parameter"},
		{says: "an empty name", method: "PUT", path: path, body: `{"name":" "}`, status: 400, code: "invalid_parameter"},
		{says: "the name of another is 409", method: "PUT", path: path, body: `{"name":"Alan"}`, status: 409, code: "conflict"},
		{says: "its own name is none of another", method: "PUT", path: path, body: `{"name":"Grace"}`, status: 200},
		{says: "an unknown id", method: "PUT", path: "/api/v1/speakers/999999", body: `{"name":"x"}`, status: 404, code: "not_found"},
		{says: "another account's is 404 (ours)", method: "PUT", path: "/api/v1/speakers/{foreign}", body: `{"name":"x"}`, status: 404, code: "not_found"},
	}
}
