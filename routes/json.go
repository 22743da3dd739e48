package routes

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/problems"
)

// maxDepth is how deeply arrays and objects of a body may be nested.
const maxDepth = 32

// DecodeJSON reads the body, one JSON object, into dst. Unknown fields are ignored. What is not JSON by its
// Content-Type is 415, what is over the row's bound 413, what is malformed or outside the bounds that dst's tags
// name 400.
func DecodeJSON(c echo.Context, dst any) error {
	_, err := decoded(c, dst, false)
	return err
}

// DecodePassedJSON is DecodeJSON for rows that pass parts of the body on as they stand, in whose lists null may be a value:
// dst holds those parts undecoded.
func DecodePassedJSON(c echo.Context, dst any) error {
	_, err := decoded(c, dst, true)
	return err
}

// decoded reads a body into dst and returns it.
func decoded(c echo.Context, dst any, nullsInLists bool) ([]byte, error) {
	if err := mustBeJSON(c.Request()); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(c.Request().Body)
	if err != nil {
		return nil, err
	}
	return body, decode(body, dst, nullsInLists)
}

// DecodeOptionalJSON is DecodeJSON for a row whose fields are all optional: a request without a body leaves dst
// as it is, whatever its Content-Type. Only reading tells that a body of undeclared length has nothing in it.
func DecodeOptionalJSON(c echo.Context, dst any) error {
	r := c.Request()
	if r.ContentLength >= 0 {
		if r.ContentLength == 0 {
			return nil
		}
		return DecodeJSON(c, dst)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || len(body) == 0 {
		return err
	}
	if err := mustBeJSON(r); err != nil {
		return err
	}
	return decode(body, dst, false)
}

// IgnoreBody reads a body that the row has no use for. Before its end the server does not watch the connection, and would
// not notice a caller that leaves while the work is paid for.
func IgnoreBody(c echo.Context) error {
	_, err := io.Copy(io.Discard, c.Request().Body)
	return err //nolint:wrapcheck // a body over its bound is refused by this very error
}

func mustBeJSON(r *http.Request) error {
	if isJSON(r.Header.Get("Content-Type")) {
		return nil
	}
	return problems.New(problems.UnsupportedMediaType, "The body must be JSON: send Content-Type: application/json.")
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	return media == "application/json" || (strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"))
}

func decode(body []byte, dst any, nullsInLists bool) error {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return problems.New(problems.BadRequest, "The body must be a JSON object.")
	}
	if !utf8.Valid(trimmed) || holdsLoneSurrogate(trimmed) {
		return problems.New(problems.BadRequest, "The body is not valid UTF-8, or escapes half of a surrogate pair.")
	}
	if depth(trimmed) > maxDepth {
		return problems.New(problems.BadRequest, "The JSON is nested more than %d deep.", maxDepth)
	}
	if !nullsInLists && nullInList(trimmed) {
		return problems.New(problems.InvalidParameter, "A list in the body has null among its members.")
	}
	err := json.Unmarshal(trimmed, dst)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return keepBounds(dst)
	case errors.As(err, &wrong):
		return notThis(memberPath(reflect.TypeOf(dst), wrong.Field), wrong)
	}
	return problems.New(problems.BadRequest, "The body is not valid JSON.").Because(err)
}

// notThis refuses a value of another type than its member takes.
func notThis(member string, wrong *json.UnmarshalTypeError) error {
	if member == "" {
		return problems.New(problems.InvalidParameter, "The body cannot be this %s.", valueName(wrong.Value)).Because(wrong)
	}
	return problems.New(problems.InvalidParameter, "%q cannot be this %s.", member, valueName(wrong.Value)).Because(wrong)
}

// memberPath is the decoder's path to a member without the names of our types: it counts embedded ones as steps,
// which clients never sent.
func memberPath(typ reflect.Type, path string) string {
	var sent []string
	for step := range strings.SplitSeq(path, ".") {
		for typ != nil && (typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map) {
			typ = typ.Elem()
		}
		field, embedded := memberOf(typ, step)
		if !embedded {
			sent = append(sent, step)
		}
		typ = field
	}
	return strings.Join(sent, ".")
}

// memberOf is the type to which one step leads, nil when it is not a struct's member, and whether the step is an
// embedded type rather than a member.
func memberOf(typ reflect.Type, step string) (member reflect.Type, embedded bool) {
	if typ == nil || typ.Kind() != reflect.Struct {
		return nil, false
	}
	for field := range typ.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && field.Name == step {
			return field.Type, field.Anonymous
		}
		if name == step {
			return field.Type, false
		}
	}
	return nil, false
}

// valueName is the kind of a value without the value, which may be a secret or very long.
func valueName(value string) string {
	kind, _, _ := strings.Cut(value, " ")
	return kind
}

// depth is how deeply the text nests.
func depth(text []byte) int {
	deepest, now := 0, 0
	for b := range outsideStrings(text) {
		switch b {
		case '{', '[':
			now++
			deepest = max(deepest, now)
		case '}', ']':
			now--
		}
	}
	return deepest
}

// nullInList reports whether a list has null among its members. The decoder would make 0 of it, or an empty text.
func nullInList(text []byte) bool {
	var open []byte
	for b := range outsideStrings(text) {
		switch {
		case b == '{' || b == '[':
			open = append(open, b)
		case (b == '}' || b == ']') && len(open) > 0:
			open = open[:len(open)-1]
		case b == 'n' && len(open) > 0 && open[len(open)-1] == '[':
			return true
		}
	}
	return false
}

// outsideStrings are the bytes of a JSON text that are in no string of it. The text need not be valid.
func outsideStrings(text []byte) iter.Seq[byte] {
	return func(yield func(byte) bool) {
		inString, escaped := false, false
		for _, b := range text {
			switch {
			case escaped:
				escaped = false
			case inString:
				escaped = b == '\\'
				inString = b != '"'
			case b == '"':
				inString = true
			case !yield(b):
				return
			}
		}
	}
}

// holdsLoneSurrogate reports whether the text escapes half of a surrogate pair. The decoder would make U+FFFD of it,
// as of bytes that are no UTF-8, so that different passwords became the same.
func holdsLoneSurrogate(text []byte) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++ // what a backslash escapes begins no escape itself
		unit, ok := escapedUnit(text[i:])
		if !ok || !utf16.IsSurrogate(unit) {
			continue
		}
		rest := text[i+len("u0000"):]
		if len(rest) == 0 || rest[0] != '\\' {
			return true
		}
		low, ok := escapedUnit(rest[1:])
		if !ok || utf16.DecodeRune(unit, low) == utf8.RuneError {
			return true
		}
		i += len(`u0000\u0000`) - 1
	}
	return false
}

// escapedUnit reads "u" and four hexadecimal digits.
func escapedUnit(text []byte) (unit rune, ok bool) {
	if len(text) < len("u0000") || text[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[1:len("u0000")]), 16, 16)
	return rune(n), err == nil
}
