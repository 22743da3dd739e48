package described

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas compiles the schemas of one document, each once: kin-openapi, which uses the same library, would compile
// at every answer.
type schemas struct {
	compiler *jsonschema.Compiler
}

const address = "https://stenometer.invalid/openapi.json"

// newSchemas reads a document. Strict refuses members that the document does not know.
func newSchemas(text []byte, strict bool) (*schemas, error) {
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	if strict {
		closeObjects(tree)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(address, tree); err != nil {
		return nil, fmt.Errorf("read the document's schemas: %w", err)
	}
	return &schemas{compiler}, nil
}

// closeObjects refuses further members wherever the members are listed.
func closeObjects(node any) {
	switch node := node.(type) {
	case map[string]any:
		_, listed := node["properties"].(map[string]any)
		if _, said := node["additionalProperties"]; listed && !said {
			node["additionalProperties"] = false
		}
		for _, child := range node {
			closeObjects(child)
		}
	case []any:
		for _, child := range node {
			closeObjects(child)
		}
	}
}

// at compiles the schema at a place of the document.
func (s *schemas) at(place ...string) (*schema, error) {
	for i, part := range place {
		place[i] = strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(part)
	}
	compiled, err := s.compiler.Compile(address + "#/" + strings.Join(place, "/"))
	if err != nil {
		return nil, fmt.Errorf("compile the schema at %s: %w", strings.Join(place, "/"), err)
	}
	return &schema{compiled}, nil
}

type schema struct{ compiled *jsonschema.Schema }

func (s *schema) check(text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	return s.compiled.Validate(value)
}
