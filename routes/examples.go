package routes

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"
)

// answerExample shows an answer as its handler would write it. The zero value of a type is no example.
func answerExample(answer any) openapi.ContentOption {
	return openapi.WithCustomize(func(made openapi.ContentOrReference) {
		described, ok := made.(*openapi31.ResponseOrReference)
		if ok && !isBlank(answer) {
			exemplify(described.Response.Content, answer)
		}
	})
}

// requestExample shows a body as a client would write it: with what it says and without the rest, which encoding/json
// would write as null.
func requestExample(request any) (openapi.ContentOption, error) {
	if isBlank(request) {
		return func(*openapi.ContentUnit) {}, nil
	}
	text, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("write the example of the request: %w", err)
	}
	var body any
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, fmt.Errorf("read the example of the request: %w", err)
	}
	dropNulls(body)
	return openapi.WithCustomize(func(made openapi.ContentOrReference) {
		if described, ok := made.(*openapi31.RequestBodyOrReference); ok {
			exemplify(described.RequestBody.Content, body)
		}
	}), nil
}

// isBlank tells a type from an example of it.
func isBlank(value any) bool { return value == nil || reflect.ValueOf(value).IsZero() }

func exemplify(content map[string]openapi31.MediaType, example any) {
	if media, ok := content[jsonType]; ok {
		media.WithExample(example)
		content[jsonType] = media
	}
}

func dropNulls(node any) {
	switch node := node.(type) {
	case map[string]any:
		for name, member := range node {
			if member == nil {
				delete(node, name)
			}
			dropNulls(member)
		}
	case []any:
		for _, member := range node {
			dropNulls(member)
		}
	}
}
