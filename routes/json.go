package routes

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
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

// DecodeStrictJSON is DecodeJSON for rows of administration: a member that is not known is 400 and named, so that nobody
// believes that it was set.
func DecodeStrictJSON(c echo.Context, dst any) error {
	body, err := decoded(c, dst, false)
	if err != nil {
		return err
	}
	strict := json.NewDecoder(bytes.NewReader(body))
	strict.DisallowUnknownFields()
	if err := strict.Decode(dst); err != nil {
		_, field, _ := strings.Cut(err.Error(), "unknown field ")
		if runes := []rune(field); len(runes) > maxShownField {
			field = string(runes[:maxShownField]) + "…"
		}
		return problems.New(problems.InvalidParameter, "The body has a member that is not known here: %s. Nothing was changed.", field).Because(err)
	}
	return nil
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

// maxShownField is how much of the name of an unknown member is told.
const maxShownField = 100

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
		return problems.New(problems.InvalidParameter, "%s cannot be this %s.", fieldName(wrong.Field), valueName(wrong.Value)).Because(err)
	}
	return problems.New(problems.BadRequest, "The body is not valid JSON.").Because(err)
}

func fieldName(field string) string {
	if field == "" {
		return "The body"
	}
	return strconv.Quote(field)
}

// valueName is the kind of a value without the value, which may be a secret or very long.
func valueName(value string) string {
	kind, _, _ := strings.Cut(value, " ")
	return kind
}

// depth is how deeply the text nests; it looks at brackets outside strings and needs no valid JSON.
func depth(text []byte) int {
	deepest, now := 0, 0
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
		case b == '{' || b == '[':
			now++
			deepest = max(deepest, now)
		case b == '}' || b == ']':
			now--
		}
	}
	return deepest
}

// nullInList reports whether a list has null among its members. The decoder would make 0 of it, or an empty text.
func nullInList(text []byte) bool {
	var open []byte
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
