package described

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Generator makes requests of a document: such as it allows, and such as it does not. The same seed makes the same
// requests.
type Generator struct {
	random *rand.Rand
	root   map[string]any
	// IDs are those of things that there are; paths and bodies name them now and then.
	IDs []int64
}

// NewGenerator reads a document.
func NewGenerator(text []byte, seed uint64) (*Generator, error) {
	g := &Generator{random: rand.New(rand.NewPCG(seed, seed))}
	if err := json.Unmarshal(text, &g.root); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	return g, nil
}

// Request is one made request.
type Request struct {
	Method, Path string
	Header       map[string]string
	// Body is nil for none.
	Body []byte
}

// Operations lists "method path" of everything that can be asked for, sorted.
func (g *Generator) Operations() [][2]string {
	var list [][2]string
	paths := g.root["paths"].(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		for _, method := range slices.Sorted(maps.Keys(paths[path].(map[string]any))) {
			list = append(list, [2]string{method, path})
		}
	}
	return list
}

// Make makes one request of an operation.
func (g *Generator) Make(method, path string) Request {
	operation := g.root["paths"].(map[string]any)[path].(map[string]any)[method].(map[string]any)
	request := Request{Method: strings.ToUpper(method), Path: path, Header: map[string]string{}}
	query := url.Values{}
	parameters, _ := operation["parameters"].([]any)
	for _, described := range parameters {
		parameter := described.(map[string]any)
		name := parameter["name"].(string)
		schema, _ := parameter["schema"].(map[string]any)
		switch parameter["in"] {
		case "path":
			request.Path = strings.ReplaceAll(request.Path, "{"+name+"}", url.PathEscape(g.segment()))
		case "query":
			if g.chance(2) {
				query.Set(name, g.text(schema))
			}
		case "header":
			if g.chance(4) {
				request.Header[name] = strings.Map(printable, g.text(schema))
			}
		}
	}
	if len(query) > 0 {
		request.Path += "?" + query.Encode()
	}
	g.addBody(&request, operation)
	return request
}

func printable(r rune) rune {
	if r < ' ' || r > '~' {
		return 'x'
	}
	return r
}

// addBody gives the request a body as the document has it, or another.
func (g *Generator) addBody(request *Request, operation map[string]any) {
	body, ok := operation["requestBody"].(map[string]any)
	if !ok {
		return
	}
	media, ok := body["content"].(map[string]any)[jsonType].(map[string]any)
	if !ok {
		request.Header["Content-Type"] = "multipart/form-data; boundary=x"
		request.Body = []byte(g.pick("", "--x--", "--x\r\nContent-Disposition: form-data; name=title\r\n\r\nt\r\n--x--\r\n", "noise"))
		return
	}
	request.Header["Content-Type"] = g.pick(jsonType, jsonType, jsonType, jsonType, jsonType, "text/plain", "")
	if g.chance(8) {
		request.Body = []byte(g.pick("", "null", "[]", "7", `"text"`, "{", `{"a":`, strings.Repeat("[", 5000), "\xff\xfe", "{}"))
		return
	}
	encoded, err := json.Marshal(g.value(media["schema"].(map[string]any), 0))
	if err != nil {
		encoded = []byte("{}")
	}
	request.Body = encoded
}

// value is a value of a schema; one in six is of another kind, or beyond a bound.
func (g *Generator) value(schema map[string]any, depth int) any {
	if ref, ok := schema["$ref"].(string); ok {
		return g.value(g.resolve(ref), depth)
	}
	if g.chance(6) {
		return g.stranger(depth)
	}
	for _, choice := range []string{"anyOf", "oneOf"} {
		if list, ok := schema[choice].([]any); ok {
			return g.value(list[g.random.IntN(len(list))].(map[string]any), depth+1)
		}
	}
	if words, ok := schema["enum"].([]any); ok {
		return words[g.random.IntN(len(words))]
	}
	switch g.typeOf(schema) {
	case "object":
		return g.object(schema, depth)
	case "array":
		list := []any{}
		items, _ := schema["items"].(map[string]any)
		for range g.random.IntN(4) {
			if depth < 6 {
				list = append(list, g.value(items, depth+1))
			}
		}
		return list
	case "integer":
		return g.integer()
	case "number":
		return g.random.Float64()*200 - 50
	case "boolean":
		return g.chance(2)
	case "null":
		return nil
	case "string":
		return g.string()
	}
	return g.stranger(depth)
}

func (g *Generator) object(schema map[string]any, depth int) any {
	made := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if depth < 6 && !g.chance(3) {
			made[name] = g.value(properties[name].(map[string]any), depth+1)
		}
	}
	if members, ok := schema["additionalProperties"].(map[string]any); ok && depth < 6 {
		for range g.random.IntN(3) {
			made[g.string()] = g.value(members, depth+1)
		}
	}
	return made
}

func (g *Generator) typeOf(schema map[string]any) string {
	switch kind := schema["type"].(type) {
	case string:
		return kind
	case []any:
		return kind[g.random.IntN(len(kind))].(string)
	}
	return ""
}

func (g *Generator) resolve(ref string) map[string]any {
	at := any(g.root)
	for _, part := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		at = at.(map[string]any)[part]
	}
	return at.(map[string]any)
}

// stranger is a value that the schema did not ask for.
func (g *Generator) stranger(depth int) any {
	switch g.random.IntN(8) {
	case 0:
		return nil
	case 1:
		return g.chance(2)
	case 2:
		return json.Number(g.pick("1e400", "-0", "99999999999999999999", "1.5", "-1", "0"))
	case 3:
		return strings.Repeat("é", 20_000)
	case 4:
		return []any{nil, map[string]any{}, "x"}
	case 5:
		return map[string]any{"": []any{depth}}
	case 6:
		return "\x00\u202e"
	}
	return g.string()
}

func (g *Generator) integer() any {
	if len(g.IDs) > 0 && g.chance(2) {
		return g.IDs[g.random.IntN(len(g.IDs))]
	}
	return json.Number(g.pick("0", "1", "7", "-1", "101", "1001", "2147483648", "9223372036854775807"))
}

func (g *Generator) string() string {
	return g.pick("", " ", "a", "Ada", "none", "true", "ada@example.org", "2026-03-04", "2026-03-04T05:06:07Z", "#3B82F6", "#zzz",
		"https://example.org/x", "javascript:alert(1)", "%", "_", `\`, `"`, "'; DROP TABLE recordings; --", "İß🙂", "\n", "full", "read",
		strings.Repeat("x", 201), strings.Repeat("é", 5000), "-1", "1,2,3", "9223372036854775808")
}

// text is a parameter's value.
func (g *Generator) text(schema map[string]any) string {
	switch value := g.value(schema, 0).(type) {
	case string:
		// What is longer than net/http reads of a request line and headers it refuses itself.
		return value[:min(len(value), 4000)]
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 64)
	default:
		return fmt.Sprint(value)
	}
}

// segment is what stands in a path for an id.
func (g *Generator) segment() string {
	if len(g.IDs) > 0 && !g.chance(4) {
		return strconv.FormatInt(g.IDs[g.random.IntN(len(g.IDs))], 10)
	}
	return g.pick("0", "1", "999999", "-1", "abc", "9223372036854775808", "1.5", "batch", "%", "'")
}

func (g *Generator) chance(one int) bool { return g.random.IntN(one) == 0 }

func (g *Generator) pick(words ...string) string { return words[g.random.IntN(len(words))] }
