package routes

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/problems"
)

// maxShownField is how much of the name of a refused member is told.
const maxShownField = 100

// DecodeStrictJSON is DecodeJSON for rows of administration: a member that is not known, in exactly these letters, or that
// is sent twice, is 400 and named, so that nobody believes that it was set.
func DecodeStrictJSON(c echo.Context, dst any) error {
	body, err := decoded(c, dst, false)
	if err != nil {
		return err
	}
	strict := json.NewDecoder(bytes.NewReader(body))
	strict.DisallowUnknownFields()
	if err := strict.Decode(dst); err != nil {
		_, quoted, _ := strings.Cut(err.Error(), "unknown field ")
		name, _ := strconv.Unquote(quoted) // the decoder's own quoting: it was decoded before, so that nothing else can fail
		return notKnown(name).Because(err)
	}
	members, twice := membersOf(body)
	if twice != "" {
		return problems.New(problems.InvalidParameter, "The body has a member twice: %q. Nothing was changed.", shownField(twice))
	}
	typ := reflect.TypeOf(dst).Elem()
	for _, name := range members {
		// The decoder takes a member in any case of its letters.
		if typ.Kind() == reflect.Struct && !hasMember(typ, name) {
			return notKnown(name)
		}
	}
	return nil
}

func notKnown(name string) *problems.Error {
	return problems.New(problems.InvalidParameter, "The body has a member that is not known here: %q. Nothing was changed.", shownField(name))
}

func shownField(name string) string {
	if runes := []rune(name); len(runes) > maxShownField {
		return string(runes[:maxShownField]) + "…"
	}
	return name
}

// membersOf are the names of the outermost members of a valid object, and the first name that any object in it has twice.
func membersOf(body []byte) (outermost []string, twice string) {
	tokens := json.NewDecoder(bytes.NewReader(body))
	type level struct {
		names map[string]bool // nil in a list
		value bool            // whether a value is next, not a name
	}
	var open []level
	for {
		token, err := tokens.Token()
		if err != nil {
			return outermost, "" // its end: it was decoded before
		}
		if name, isText := token.(string); isText && len(open) > 0 && open[len(open)-1].names != nil && !open[len(open)-1].value {
			now := &open[len(open)-1]
			if now.names[name] {
				return outermost, name
			}
			now.names[name], now.value = true, true
			if len(open) == 1 {
				outermost = append(outermost, name)
			}
			continue
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{names: map[string]bool{}})
			continue
		case json.Delim('['):
			open = append(open, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			open[len(open)-1].value = false
		}
	}
}

// hasMember reports whether a type has a member of exactly this name, its embedded types' included.
func hasMember(typ reflect.Type, name string) bool {
	for field := range typ.Fields() {
		tagged, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tagged == name || tagged == "" && field.Anonymous && field.Type.Kind() == reflect.Struct && hasMember(field.Type, name) {
			return true
		}
	}
	return false
}
