package described

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Examples holds every example of a document against the type beside it, with no member that the type does not know.
// Faults are the examples that do not fit, and the JSON bodies that have none.
func Examples(text []byte) (faults []string, err error) {
	strict, err := newSchemas(text, true)
	if err != nil {
		return nil, err
	}
	var raw struct {
		Paths map[string]map[string]rawOperation
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	for _, path := range slices.Sorted(maps.Keys(raw.Paths)) {
		for method, described := range raw.Paths[path] {
			bodies := map[string]json.RawMessage{"requestBody": described.RequestBody.Content[jsonType]}
			for status, response := range described.Responses {
				bodies["responses/"+status] = response.Content[jsonType]
			}
			for body, media := range bodies {
				if media == nil {
					continue
				}
				if err := strict.exemplified(media, path, method, body); err != nil {
					faults = append(faults, fmt.Sprintf("%s %s, %s: %v", method, path, body, err))
				}
			}
		}
	}
	return faults, nil
}

func (s *schemas) exemplified(media json.RawMessage, path, method, body string) error {
	var described struct{ Example json.RawMessage }
	if err := json.Unmarshal(media, &described); err != nil {
		return fmt.Errorf("read its description: %w", err)
	}
	if described.Example == nil {
		return fmt.Errorf("it has no example")
	}
	where := append([]string{"paths", path, method}, strings.Split(body, "/")...)
	schema, err := s.at(append(where, "content", jsonType, "schema")...)
	if err != nil {
		return err
	}
	return schema.check(described.Example)
}
