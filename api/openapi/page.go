package openapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
)

//go:embed assets/page.html
var pageText string

//go:embed assets/page.css
var styleText string

// styleHash is how the page's rules name its style.
func styleHash() string {
	hash := sha256.Sum256([]byte(styleText))
	return "sha256-" + base64.StdEncoding.EncodeToString(hash[:])
}

// document is as much of an OpenAPI document as the page shows.
type document struct {
	Info struct {
		Title, Description, Version string
	}
	Tags       []struct{ Name string }
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]any }
}

type operation struct {
	Tags                 []string
	Summary, Description string
	Parameters           []parameter
	RequestBody          struct{ Content map[string]any }
	Responses            map[string]response
	Scopes               []string `json:"x-required-scopes"`
	Category             string   `json:"x-rate-category"`
	Method, Path         string   `json:"-"`
	Security             []map[string][]string
	OperationID          string
	MaxBodyBytes         int64 `json:"x-max-body-bytes"`
}

type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                map[string]any
}

type response struct {
	Description string
	Content     map[string]any
}

// Indented is a schema or an example, for reading.
func indented(value any) (string, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	return string(text), err
}

// heading is one group of operations.
type heading struct {
	Name       string
	Operations []operation
}

// render makes the page of a document.
func render(text []byte) ([]byte, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil { //nolint:musttag // members' names are the fields'
		return nil, fmt.Errorf("read the document: %w", err)
	}
	page, err := template.New("page").Funcs(template.FuncMap{
		"indented": indented, "join": func(list []string) string { return strings.Join(list, ", ") },
	}).Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{
		"Info": d.Info, "Headings": headings(d), "Schemas": d.Components.Schemas,
		"Style": template.CSS(styleText), //nolint:gosec // our own file, not a caller's words
	})
	if err != nil {
		return nil, fmt.Errorf("write the page: %w", err)
	}
	return out.Bytes(), nil
}

// headings sorts the operations under their groups, in the document's order of groups and by path within.
func headings(d document) []heading {
	under := map[string][]operation{}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			op, ok := d.Paths[path][method]
			if !ok || len(op.Tags) == 0 {
				continue
			}
			op.Method, op.Path = strings.ToUpper(method), path
			under[op.Tags[0]] = append(under[op.Tags[0]], op)
		}
	}
	var list []heading
	for _, tag := range d.Tags {
		if len(under[tag.Name]) > 0 {
			list = append(list, heading{tag.Name, under[tag.Name]})
		}
	}
	return list
}
