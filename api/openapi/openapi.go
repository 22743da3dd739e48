// Package openapi serves the API's description: the OpenAPI document, made of the route table itself, and a page for
// people. Both are public, hold no secret and store nothing.
package openapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/routes"
)

const title = "Stenometer API"

// version is that of the API, not of the server: the document is the same in every build of one state of the routes.
const version = "1.1"

const description = `Recordings go in; transcripts, summaries and answers come out. Every request is authenticated, ` +
	`asked for its scope and counted against its limits before a handler sees it; ` + "`x-required-scopes` and " +
	"`x-rate-category` of each operation say by what. Refusals are JSON with `error` for people and `code` for programs; " +
	"under `/v1` they have the form of OpenAI's."

// API serves the document and its page.
type API struct {
	// content is made for the first who reads it: describing every row is half of the work of a start, and few
	// processes are ever asked.
	content func() (*content, error)
}

// content is what is served, and the tag of this state of it.
type content struct {
	document, page []byte
	tag, rules     string
}

// New makes an API that describes the table by which it is declared.
func New() *API { return &API{} }

// Declare adds the rows.
func (a *API) Declare(t *routes.Table) {
	a.content = sync.OnceValues(func() (*content, error) { return describe(t) })
	t.Public("GET", "/api/v1/openapi.json", "clients read how to call before they have a token", a.showDocument, documentOperation())
	t.Public("GET", "/api/v1/docs", "people read how to call before they have a token", a.showPage, pageOperation())
}

// describe makes the document and its page. Every row is declared by then: no request comes before.
func describe(t *routes.Table) (*content, error) {
	document, err := Document(t)
	if err != nil {
		return nil, err
	}
	page, err := render(document)
	if err != nil {
		return nil, fmt.Errorf("make the page of the API's document: %w", err)
	}
	hash := sha256.Sum256(document)
	return &content{
		document: document, page: page, tag: `"` + hex.EncodeToString(hash[:8]) + `"`, rules: fmt.Sprintf(pageRules, styleHash()),
	}, nil
}

// Document describes every row of a table.
func Document(t *routes.Table) ([]byte, error) {
	document, err := t.Document(routes.About{Title: title, Description: description, Version: version})
	if err != nil {
		return nil, fmt.Errorf("make the API's document: %w", err)
	}
	return document, nil
}

func documentOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show this document", Group: routes.GroupServer,
		Answers: routes.Answers{
			http.StatusOK: map[string]json.RawMessage{
				"openapi": json.RawMessage(`"3.1.0"`), "info": json.RawMessage(`{"title": "` + title + `", "version": "` + version + `"}`),
			}, http.StatusNotModified: routes.Nothing{},
		},
	}
}

func pageOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show this document as a page", Group: routes.GroupServer,
		Answers: routes.Answers{
			http.StatusOK: routes.File{Types: []string{"text/html"}}, http.StatusNotModified: routes.Nothing{},
		},
	}
}

func (a *API) showDocument(c echo.Context) error {
	made, err := a.content()
	if err != nil {
		return err
	}
	return made.send(c, "application/json", "openapi.json", made.document)
}

// pageRules let the page have its own style, known by its hash, and nothing else: no script, no form, no frame.
const pageRules = "default-src 'none'; style-src '%s'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (a *API) showPage(c echo.Context) error {
	made, err := a.content()
	if err != nil {
		return err
	}
	header := c.Response().Header()
	header.Set("Content-Security-Policy", made.rules)
	header.Set("X-Frame-Options", "DENY")
	return made.send(c, "text/html; charset=utf-8", "docs.html", made.page)
}

// send answers with what was made once; whoever has it already gets a 304.
func (made *content) send(c echo.Context, mediaType, name string, body []byte) error {
	header := c.Response().Header()
	header.Set("Content-Type", mediaType)
	header.Set("Cache-Control", "public, no-cache")
	header.Set("ETag", made.tag)
	http.ServeContent(c.Response(), withoutRange(c.Request()), name, time.Time{}, bytes.NewReader(body))
	return nil
}

// withoutRange reads the whole in one piece: both are small, and a part of a document is none.
func withoutRange(r *http.Request) *http.Request {
	whole := r.Clone(r.Context())
	for _, name := range []string{"Range", "If-Match", "If-Unmodified-Since"} {
		whole.Header.Del(name)
	}
	return whole
}
