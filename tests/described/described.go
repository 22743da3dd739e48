// Package described holds what a server answers against the document that it publishes: every answer must have a
// status that its operation names and a body of the type given for it, with no member that the document does not
// know, and every body that was accepted must be one that the document allows.
package described

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/stenometer/stenometer/routes"
)

// Document is an OpenAPI document, ready to judge.
type Document struct {
	operations []*operation
	problem    *schema
	// openAIProblem is the form of refusals on OpenAI's wire.
	openAIProblem *schema
}

type operation struct {
	method string
	path   []string // segments; those in braces are parameters
	// request is nil for an operation without a JSON body.
	request *schema
	// answers has every status that is named; Nil members have no body.
	answers map[int]answer
}

type answer struct {
	json *schema
	// codes are the refusals that it may be; none where the document lists none.
	codes []string
	// media are the types of answers that are not JSON.
	media []string
}

// Committed is the document in docs/, read once.
var Committed = sync.OnceValues(func() (*Document, error) {
	_, here, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(here), "..", "..", "docs", "openapi.json"))
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	return Parse(text)
})

// Parse reads a document.
func Parse(text []byte) (*Document, error) {
	strict, err := newSchemas(text, true)
	if err != nil {
		return nil, err
	}
	lenient, err := newSchemas(text, false)
	if err != nil {
		return nil, err
	}
	var raw struct {
		Paths      map[string]map[string]rawOperation
		Components struct{ Responses map[string]rawResponse }
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	d := &Document{}
	if d.problem, err = strict.at("components", "schemas", "Problem"); err != nil {
		return nil, err
	}
	if d.openAIProblem, err = strict.at("components", "schemas", "OpenAIProblem"); err != nil {
		return nil, err
	}
	for path, methods := range raw.Paths {
		for method, described := range methods {
			o := &operation{
				method: strings.ToUpper(method), path: strings.Split(path, "/"), answers: map[int]answer{},
			}
			if _, ok := described.RequestBody.Content[jsonType]; ok {
				if o.request, err = lenient.at("paths", path, method, "requestBody", "content", jsonType, "schema"); err != nil {
					return nil, err
				}
			}
			if err := o.readAnswers(strict, path, method, described.Responses, raw.Components.Responses); err != nil {
				return nil, err
			}
			d.operations = append(d.operations, o)
		}
	}
	return d, nil
}

type rawOperation struct {
	RequestBody struct{ Content map[string]json.RawMessage }
	Responses   map[string]rawResponse
}

type rawResponse struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]json.RawMessage
}

// metricsPath is for operators, on a listener of its own, and no part of the API.
const metricsPath = "/metrics"

const jsonType = "application/json"

func (o *operation) readAnswers(
	schemas *schemas, path, method string, responses, shared map[string]rawResponse,
) (err error) {
	for status, response := range responses {
		where := []string{"paths", path, method, "responses", status}
		if name, ok := strings.CutPrefix(response.Ref, "#/components/responses/"); ok {
			response, where = shared[name], []string{"components", "responses", name}
		}
		known := answer{codes: codesIn(response.Description)}
		for media := range response.Content {
			if media != jsonType {
				known.media = append(known.media, media)
				continue
			}
			if known.json, err = schemas.at(append(where, "content", jsonType, "schema")...); err != nil {
				return err
			}
		}
		number, err := strconv.Atoi(status)
		if err != nil {
			return fmt.Errorf("%s %s answers %q, which is no status", method, path, status)
		}
		o.answers[number] = known
	}
	return nil
}

// Operations lists "METHOD /path/{parameter}" of all that is described.
func (d *Document) Operations() []string {
	var list []string
	for _, o := range d.operations {
		list = append(list, o.method+" "+strings.Join(o.path, "/"))
	}
	return list
}

// find is the operation of a request; a literal path goes before one with parameters.
func (d *Document) find(method, path string) (found *operation, literal int) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	segments := strings.Split(path, "/")
	literal = -1
	for _, o := range d.operations {
		if o.method != method || len(o.path) != len(segments) {
			continue
		}
		score := 0
		for i, segment := range o.path {
			switch {
			case strings.HasPrefix(segment, "{"):
			case segment == segments[i]:
				score++
			default:
				score = -len(segments)
			}
		}
		if score >= 0 && score > literal {
			found, literal = o, score
		}
	}
	return found, literal
}

// Exchange is one request and its answer.
type Exchange struct {
	Method, Path string
	// Sent is the request's body where it was JSON.
	Sent   []byte
	Status int
	Header http.Header
	Body   []byte
}

// Check says what of an exchange the document does not know.
func (d *Document) Check(e Exchange) error {
	if e.Method == http.MethodOptions || e.Path == metricsPath {
		return nil
	}
	o, _ := d.find(e.Method, e.Path)
	if o == nil {
		return d.checkProblem(e)
	}
	known, ok := o.answers[e.Status]
	if !ok {
		return fmt.Errorf("%s %s answered %d, which the document does not name: %.300s", e.Method, e.Path, e.Status, e.Body)
	}
	if e.Status/100 == 2 && o.request != nil && len(e.Sent) > 0 {
		if err := o.request.check(e.Sent); err != nil {
			return fmt.Errorf("%s %s took a body that the document does not allow: %w", e.Method, e.Path, err)
		}
	}
	if e.Method == http.MethodHead || e.Status == http.StatusNotModified || e.Status == http.StatusNoContent {
		return nil
	}
	if known.json == nil && len(known.media) == 0 && len(e.Body) == 0 {
		return nil // such as a redirect
	}
	media, _, err := mime.ParseMediaType(e.Header.Get("Content-Type"))
	if err != nil && len(e.Body) > 0 {
		return fmt.Errorf("%s %s answered %d without a Content-Type: %w", e.Method, e.Path, e.Status, err)
	}
	if media == jsonType && known.json != nil {
		if err := known.json.check(e.Body); err != nil {
			return fmt.Errorf("%s %s answered %d with a body that the document does not allow: %w: %.500s", e.Method, e.Path, e.Status, err, e.Body)
		}
		return known.checkCode(e)
	}
	for _, allowed := range known.media {
		if media == allowed || strings.HasSuffix(allowed, "/*") && strings.HasPrefix(media, strings.TrimSuffix(allowed, "*")) {
			return nil
		}
	}
	return fmt.Errorf("%s %s answered %d as %q, which the document does not name", e.Method, e.Path, e.Status, media)
}

// checkProblem judges answers beside the table: they are refusals of the one form.
func (d *Document) checkProblem(e Exchange) error {
	if e.Method == http.MethodHead {
		return nil
	}
	if e.Status < http.StatusBadRequest {
		return fmt.Errorf("%s %s answered %d and is not in the document", e.Method, e.Path, e.Status)
	}
	form := d.problem
	if routes.SpeaksOpenAI(e.Path) {
		form = d.openAIProblem
	}
	if err := form.check(e.Body); err != nil {
		return fmt.Errorf("%s %s answered %d, which is no refusal: %w: %.300s", e.Method, e.Path, e.Status, err, e.Body)
	}
	return nil
}

// transport passes requests on and tells what the document does not know, from the goroutine of the request.
type transport struct {
	next     http.RoundTripper
	document *Document
	fault    func(error)
}

// RoundTrip sends the request. The answer is read whole before it is handed on.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	e := Exchange{Method: request.Method, Path: request.URL.Path}
	if strings.HasPrefix(request.Header.Get("Content-Type"), jsonType) && request.GetBody != nil {
		if body, err := request.GetBody(); err == nil {
			e.Sent, _ = io.ReadAll(body)
		}
	}
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	e.Status, e.Header = response.StatusCode, response.Header
	body, err := io.ReadAll(response.Body)
	if closed := response.Body.Close(); err == nil {
		err = closed
	}
	response.Body = io.NopCloser(&replayed{body: bytes.NewReader(body), ended: err})
	if err != nil {
		return response, nil //nolint:nilerr // the reader of the body is told
	}
	e.Body = body
	if err := t.document.Check(e); err != nil {
		t.fault(err)
	}
	return response, nil
}

// replayed gives a body that was read, and then the error that ended it.
type replayed struct {
	body  *bytes.Reader
	ended error
}

func (r *replayed) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if err == io.EOF && r.ended != nil {
		return n, r.ended
	}
	return n, err
}
