package described_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/tests/described"
)

const refusing = `{
	"openapi": "3.1.0", "info": {"title": "t", "version": "1"},
	"paths": {"/here": {"get": {"responses": {"403": {
		"description": "Forbidden. Codes: ` + "`cross_origin`, `insufficient_scope`" + `.", "content": {"application/json": {"schema": {"type": "object"}}}
	}}}}},
	"components": {"schemas": {"Problem": {"type": "object"}, "OpenAIProblem": {"type": "object"}}}
}`

// Rule: a refusal has one of the codes that the document lists for its row and status, on either wire.
func TestRefusalsHaveListedCodes(t *testing.T) {
	t.Parallel()
	document, err := described.Parse([]byte(refusing))
	if err != nil {
		t.Fatal(err)
	}
	for body, fine := range map[string]bool{
		`{"error":"No.","code":"insufficient_scope"}`:      true,
		`{"error":{"message":"No","code":"cross_origin"}}`: true,
		`{"error":"No.","code":"insufficient_permission"}`: false,
		`{"error":{"message":"No","code":"forbidden"}}`:    false,
		`{"error":"No."}`: false,
	} {
		err := document.Check(described.Exchange{
			Method: "GET", Path: "/here", Status: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body),
		})
		if fine != (err == nil) || err != nil && !strings.Contains(err.Error(), "insufficient_scope") {
			t.Errorf("%s: %v", body, err)
		}
	}
}
