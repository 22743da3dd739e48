package routes

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"
)

// newReflector reads Go types as the handlers use them: what an answer always has is required, an Optional is its
// value or null, and schemas bear the names of their types without the package.
func newReflector() *openapi31.Reflector {
	reflector := openapi31.NewReflector()
	names := map[string]reflect.Type{}
	reflector.DefaultOptions = append(reflector.DefaultOptions,
		func(context *jsonschema.ReflectContext) { context.EnvelopNullability = true },
		jsonschema.InterceptDefName(func(typ reflect.Type, _ string) string { return schemaName(names, typ) }),
		jsonschema.InterceptSchema(func(params jsonschema.InterceptSchemaParams) (stop bool, err error) {
			return unwrapOptional(reflector, params)
		}),
		jsonschema.InterceptProp(func(params jsonschema.InterceptPropParams) error {
			if params.Processed {
				requireMember(params)
				settleNull(params)
				boundMembers(params)
			}
			return nil
		}))
	return reflector
}

// schemaName is the name of a type without Form, which tells handlers what is on the wire from what stories give them;
// with its package in front where two packages have one of the name.
func schemaName(names map[string]reflect.Type, typ reflect.Type) string {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	name := strings.TrimSuffix(typ.Name(), "Form")
	name = strings.ToUpper(name[:1]) + name[1:]
	if taken, ok := names[name]; ok && taken != typ {
		path := strings.Split(typ.PkgPath(), "/")
		name = strings.ToUpper(path[len(path)-1][:1]) + path[len(path)-1][1:] + name
	}
	names[name] = typ
	return name
}

// unwrapOptional describes an Optional by its value.
func unwrapOptional(reflector *openapi31.Reflector, params jsonschema.InterceptSchemaParams) (stop bool, err error) {
	if params.Processed || !params.Value.CanInterface() {
		return false, nil
	}
	wrapped, ok := params.Value.Interface().(optional)
	if !ok {
		return false, nil
	}
	value, _ := wrapped.content()
	// In the context of the operation, without which nobody below knows that an Optional may be null.
	inContext := func(rc *jsonschema.ReflectContext) { rc.Context = params.Context.Context }
	schema, err := reflector.Reflect(value, jsonschema.InlineRefs, inContext)
	if err != nil {
		return false, err
	}
	*params.Schema = schema
	return true, nil
}

// requireMember says that an answer always has what encoding/json always writes.
func requireMember(params jsonschema.InterceptPropParams) {
	operation, ok := openapi.OperationCtx(params.Context)
	if !ok || !operation.IsProcessingResponse() {
		return
	}
	if maybeAbsent(params.Field) {
		return
	}
	for _, name := range params.ParentSchema.Required {
		if name == params.Name {
			return
		}
	}
	params.ParentSchema.Required = append(params.ParentSchema.Required, params.Name)
}

// maybeAbsent tells whether encoding/json leaves the member out when there is nothing in it.
func maybeAbsent(field reflect.StructField) bool {
	_, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	return strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
}

// maybeNull tells whether a member that may be absent may also be there and null: a pointer to a pointer.
func maybeNull(typ reflect.Type) bool {
	return typ.Kind() == reflect.Pointer && typ.Elem().Kind() == reflect.Pointer
}

// settleNull takes null away where it cannot stand: in parameters, which are absent or text, and in lists and maps,
// which handlers write empty, but for those tagged nullable. What may be absent is never null in an answer.
func settleNull(params jsonschema.InterceptPropParams) {
	operation, ok := openapi.OperationCtx(params.Context)
	if params.PropertySchema.AnyOf != nil {
		params.PropertySchema.Type = nil // a type beside "this or null" would take null away
		return
	}
	if !ok || params.PropertySchema.Ref != nil || params.Field.Tag.Get("nullable") == "true" {
		return
	}
	_, isOptional := reflect.Zero(params.Field.Type).Interface().(optional)
	kind := params.Field.Type.Kind()
	if operation.ProcessingIn() != openapi.InBody || params.Field.Tag.Get("formData") != "" ||
		kind == reflect.Slice || kind == reflect.Map || operation.IsProcessingResponse() && maybeAbsent(params.Field) && !maybeNull(params.Field.Type) {
		params.PropertySchema.RemoveType(jsonschema.Null)
	}
	if isOptional && params.Field.Tag.Get("nullable") != "false" {
		params.PropertySchema.AddType(jsonschema.Null)
	}
	// A list of values without null would refuse what the type allows.
	if params.PropertySchema.Enum != nil && params.PropertySchema.HasType(jsonschema.Null) && !slices.Contains(params.PropertySchema.Enum, nil) {
		params.PropertySchema.Enum = append(params.PropertySchema.Enum, nil)
	}
}

// boundMembers shows the bounds of a list's members, which keepBounds keeps.
func boundMembers(params jsonschema.InterceptPropParams) {
	items := params.PropertySchema.Items
	if items == nil || items.SchemaOrBool == nil || items.SchemaOrBool.TypeObject == nil {
		return
	}
	member := items.SchemaOrBool.TypeObject
	number := func(tag string) (int64, bool) {
		value, err := strconv.ParseInt(params.Field.Tag.Get(tag), 10, 64)
		return value, err == nil
	}
	if least, ok := number("eachMinLength"); ok {
		member.WithMinLength(least)
	}
	if most, ok := number("eachMaxLength"); ok {
		member.WithMaxLength(most)
	}
	if least, ok := number("eachMinimum"); ok {
		member.WithMinimum(float64(least))
	}
}

// oneOf describes an answer that has one of several types.
type oneOf struct{ types []any }

// JSONSchemaOneOf lists them.
func (o oneOf) JSONSchemaOneOf() []any { return o.types }

// InlineJSONSchema keeps it from getting a name.
func (oneOf) InlineJSONSchema() {}
