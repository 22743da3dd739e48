package routes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/idempotency"
)

// About is what the document says of the server as a whole.
type About struct {
	Title, Description, Version string
}

// The ways in which a caller may tell who it is, as the document names them.
const (
	byBearer  = "bearerToken"
	byHeader  = "tokenHeader"
	bySession = "session"

	bySignature = "deliverySignature"
)

// Document describes every row of the table as OpenAPI 3.1. It is called once all rows are declared; an error means
// that a row's operation cannot be described, which is a fault of the row.
func (t *Table) Document(about About) ([]byte, error) {
	d, err := newDocument(about)
	if err != nil {
		return nil, err
	}
	for _, row := range t.rows {
		if err := d.add(row); err != nil {
			return nil, fmt.Errorf("describe %s %s: %w", row.Method, row.Path, err)
		}
	}
	document, err := json.MarshalIndent(d.reflector.Spec, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the document: %w", err)
	}
	return append(document, '\n'), nil
}

// document is an OpenAPI document while it is made.
type document struct {
	reflector *openapi31.Reflector
	// ids keeps operations apart.
	ids map[string]bool
}

func newDocument(about About) (*document, error) {
	d := &document{reflector: newReflector(), ids: make(map[string]bool)}
	spec := d.reflector.SpecEns()
	spec.SetTitle(about.Title)
	spec.SetDescription(about.Description)
	spec.SetVersion(about.Version)
	spec.Servers = []openapi31.Server{{URL: "/"}}
	spec.SetHTTPBearerTokenSecurity(byBearer, "", "An API token: Authorization: Bearer stn_…")
	spec.SetAPIKeySecurity(byHeader, "X-API-Token", openapi.InHeader, "An API token in a header of its own.")
	spec.SetAPIKeySecurity(bySignature, SignatureHeader, openapi.InHeader, "The signature of a delivery, by the key of an integration.")
	spec.SetAPIKeySecurity(bySession, auth.SessionCookie, openapi.InCookie, "The cookie of a signed-in browser.")
	for _, group := range groups() {
		spec.Tags = append(spec.Tags, openapi31.Tag{Name: string(group)})
	}
	for _, refusal := range []any{problem{}, openAIProblem{}} {
		if err := d.define(refusal); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// define gives a type of answers a name that rows refer to, whether or not one of them uses it first.
func (d *document) define(answer any) error {
	context, err := d.reflector.NewOperationContext(http.MethodGet, "/")
	if err != nil {
		return fmt.Errorf("begin a definition: %w", err)
	}
	_, err = d.reflector.Reflect(answer, openapi.WithOperationCtx(context, true, openapi.InBody),
		jsonschema.DefinitionsPrefix(schemas), jsonschema.RootRef,
		jsonschema.CollectDefinitions(func(name string, schema jsonschema.Schema) {
			if described, err := schema.ToSchemaOrBool().ToSimpleMap(); err == nil {
				d.reflector.SpecEns().ComponentsEns().WithSchemasItem(name, described)
			}
		}))
	if err != nil {
		return fmt.Errorf("define %T: %w", answer, err)
	}
	return nil
}

// schemas is where the document keeps its types.
const schemas = "#/components/schemas/"

// add describes one row.
func (d *document) add(row Row) error {
	pattern, params := openPath(row.Path)
	context, err := d.reflector.NewOperationContext(row.Method, pattern)
	if err != nil {
		return fmt.Errorf("begin the operation: %w", err)
	}
	id := operationID(row.Operation.Summary)
	if d.ids[id] {
		return fmt.Errorf("another row has the summary %q", row.Operation.Summary)
	}
	d.ids[id] = true
	context.SetID(id)
	context.SetSummary(row.Operation.Summary)
	if row.Operation.Notes != "" {
		context.SetDescription(row.Operation.Notes)
	}
	context.SetTags(string(row.Operation.Group))
	exposer, ok := context.(openapi31.OperationExposer)
	if !ok {
		return fmt.Errorf("the library's %T shows no operation", context)
	}
	operation := exposer.Operation()
	operation.Parameters = pathParameters(params, row.Operation.Request)
	operation.MapOfAnything = map[string]any{
		"x-required-scopes": scopeNames(row.Scopes), "x-rate-category": string(row.Category), "x-max-body-bytes": row.Body,
	}
	if row.Idempotent {
		operation.Parameters = append(operation.Parameters, keyParameter())
	}
	if row.Needs != (auth.Verb{}) {
		operation.MapOfAnything["x-required-permission"] = row.Needs.Name()
	}
	if row.Weighs != "" {
		operation.MapOfAnything["x-weighs-distinct"] = row.Weighs
	}
	secure(context, operation, row)
	if row.Operation.Request != nil {
		example, err := requestExample(row.Operation.Request)
		if err != nil {
			return err
		}
		context.AddReqStructure(row.Operation.Request, example)
	}
	if err := addAnswers(context, row); err != nil {
		return err
	}
	d.addRefusals(context, row)
	if err := d.reflector.AddOperation(context); err != nil {
		return fmt.Errorf("describe the types: %w", err)
	}
	return nil
}

// secure says by what a caller may be known. Rows that are public say that they ask for nothing: an operation that
// leaves it out reads as one of which it was forgotten.
func secure(context openapi.OperationContext, operation *openapi31.Operation, row Row) {
	switch row.Door {
	case DoorPublic, DoorLate: // the one has no credential, the other has it in its body
		operation.Security = []map[string][]string{{}}
	case DoorSigned:
		context.AddSecurity(bySignature)
	case DoorAccount:
		context.AddSecurity(bySession)
		context.AddSecurity(byBearer)
	default:
		context.AddSecurity(byBearer)
		context.AddSecurity(byHeader)
		context.AddSecurity(bySession)
	}
}

// openPath writes a path as OpenAPI does and lists its parameters.
func openPath(path string) (pattern string, params []string) {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = "{" + name + "}"
			params = append(params, name)
		}
	}
	return strings.Join(parts, "/"), params
}

// pathParameters are ids, but for those that the request describes itself.
func pathParameters(params []string, request any) []openapi31.ParameterOrReference {
	described := map[string]bool{}
	if request != nil {
		typ := reflect.TypeOf(request)
		for i := range typ.NumField() {
			described[typ.Field(i).Tag.Get("path")] = true
		}
	}
	var list []openapi31.ParameterOrReference
	for _, name := range params {
		if described[name] {
			continue
		}
		parameter := openapi31.Parameter{
			Name: name, In: openapi31.ParameterInPath,
			Schema: map[string]any{"type": "integer", "format": "int64", "minimum": 1},
		}
		parameter.WithRequired(true)
		parameter.WithDescription("The id of the " + strings.ReplaceAll(name, "_", " ") + ".")
		list = append(list, parameter.ToParameterOrRef())
	}
	return list
}

// keyParameter is the header by which a request is worked once.
func keyParameter() openapi31.ParameterOrReference {
	parameter := openapi31.Parameter{
		Name: keyHeader, In: openapi31.ParameterInHeader,
		Schema: map[string]any{"type": "string", "minLength": 1, "maxLength": idempotency.MaxKey},
	}
	parameter.WithDescription("The same key with the same request gets the same answer for IDEMPOTENCY_KEY_HOURS (24 unless the operator chose otherwise), and nothing is done or charged twice.")
	return parameter.ToParameterOrRef()
}

// operationID makes a name of a summary: "List a recording's tags" is listRecordingsTags.
func operationID(summary string) string {
	var id strings.Builder
	for _, word := range strings.FieldsFunc(strings.ReplaceAll(summary, "'", ""), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		word = strings.ToLower(word)
		if word == "a" || word == "an" || word == "the" {
			continue
		}
		if id.Len() > 0 {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		id.WriteString(word)
	}
	return id.String()
}

func scopeNames(scopes []auth.Scope) []string {
	names := []string{}
	for _, scope := range scopes {
		if scope != auth.AnyToken {
			names = append(names, scope.Name())
		}
	}
	return names
}

// hasBody tells whether requests of a row may carry one.
func hasBody(row Row) bool { return row.Method != http.MethodGet }
