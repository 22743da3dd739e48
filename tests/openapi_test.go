package tests

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/stenometer/stenometer/api/openapi"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/tests/described"
	"github.com/stenometer/stenometer/tests/golden"
	"github.com/stenometer/stenometer/tests/servertest"
)

// The document that is committed is the one that the server makes of its route table.
func TestGoldenOpenAPIDocument(t *testing.T) {
	t.Parallel()
	document, err := openapi.Document(liveTable(t))
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join(root, "docs", "openapi.json"), string(document))
}

// The document is valid OpenAPI 3.1, has every row that is served and nothing else, and says of each what it asks for.
func TestDocumentIsValidAndWhole(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	// kin-openapi takes null for no value of a type that is any; TestExamplesAreOfTheirTypes judges the examples.
	if err := document.Validate(t.Context(), openapi3.DisableExamplesValidation()); err != nil {
		t.Error(err)
	}
	operations := map[string]*openapi3.Operation{}
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			operations[method+" "+path] = operation
		}
	}
	for _, row := range liveTable(t).Rows() {
		name := row.Method + " " + regexp.MustCompile(`:([a-z_]+)`).ReplaceAllString(row.Path, "{$1}")
		operation, ok := operations[name]
		if !ok {
			t.Errorf("%s is served and not described", name)
			continue
		}
		delete(operations, name)
		scopes := []any{}
		for _, scope := range row.Scopes {
			if scope != auth.AnyToken {
				scopes = append(scopes, scope.Name())
			}
		}
		if got := operation.Extensions["x-required-scopes"]; !reflect.DeepEqual(got, scopes) {
			t.Errorf("%s: x-required-scopes is %v, want %v", name, got, scopes)
		}
		if operation.Security == nil || row.Door == routes.DoorPublic && len((*operation.Security)[0]) > 0 {
			t.Errorf("%s: by whom it may be called is %v", name, operation.Security)
		}
		if got := operation.Extensions["x-rate-category"]; got != string(row.Category) {
			t.Errorf("%s: x-rate-category is %v, want %v", name, got, row.Category)
		}
	}
	for name := range operations {
		t.Errorf("%s is described and not served", name)
	}
}

// Every JSON body of an operation has an example, which is one of its own type and says nothing that the type does not.
func TestExamplesAreOfTheirTypes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	faults, err := described.Examples(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

// The document and its page are public, are the committed ones, cost a client that has them a 304, and the page can
// neither be framed nor run anything nor reach another host.
func TestDocumentAndPageAreServed(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, servertest.Fresh(t))
	anybody := server.Client("")
	committed, err := os.ReadFile(filepath.Join(root, "docs", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	answer := anybody.Get("/api/v1/openapi.json")
	if answer.Status != http.StatusOK || !bytes.Equal(answer.Body, committed) {
		t.Errorf("the document: %d, %d bytes, want the %d committed ones", answer.Status, len(answer.Body), len(committed))
	}
	again := anybody.Call("GET", "/api/v1/openapi.json", nil, http.Header{"If-None-Match": {answer.Header.Get("ETag")}})
	if again.Status != http.StatusNotModified || len(again.Body) > 0 {
		t.Errorf("asked for again: %d with %d bytes, want 304 with none", again.Status, len(again.Body))
	}
	page := anybody.Get("/api/v1/docs")
	if page.Status != http.StatusOK || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
		t.Fatalf("the page: %v", page)
	}
	rules := page.Header.Get("Content-Security-Policy")
	for _, rule := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'none'", "base-uri 'none'"} {
		if !strings.Contains(rules, rule) {
			t.Errorf("the page's Content-Security-Policy %q lacks %q", rules, rule)
		}
	}
	if strings.Contains(rules, "unsafe") || page.Header.Get("X-Frame-Options") != "DENY" {
		t.Errorf("the page's rules are %q, X-Frame-Options %q", rules, page.Header.Get("X-Frame-Options"))
	}
	if foreign := regexp.MustCompile(`(?i)<(script|img|iframe|link|form|object)|(src|href|action)="[^#/]`).Find(page.Body); foreign != nil {
		t.Errorf("the page holds %q", foreign)
	}
	for _, row := range liveTable(t).Rows() {
		if path := regexp.MustCompile(`:([a-z_]+)`).ReplaceAllString(row.Path, "{$1}"); !bytes.Contains(page.Body, []byte(path)) {
			t.Errorf("the page does not show %s", path)
		}
	}
}
