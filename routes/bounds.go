package routes

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stenometer/stenometer/problems"
)

// keepBounds holds a decoded body against the tags of its fields, which are those that the document shows:
// required, minLength and maxLength in characters, minimum, maximum, minItems, maxItems, enum, and for the members
// of a list eachMinLength, eachMaxLength and eachMinimum. Null and what is absent have no bounds but required. The
// first field that is outside of one is named with it.
func keepBounds(body any) error { return boundsOf(reflect.Indirect(reflect.ValueOf(body)), "") }

func boundsOf(object reflect.Value, path string) error {
	if object.Kind() != reflect.Struct {
		return nil
	}
	for i := range object.NumField() {
		field := object.Type().Field(i)
		if field.Anonymous {
			if err := boundsOf(object.Field(i), path); err != nil {
				return err
			}
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		if err := boundsOfField(object.Field(i), field.Tag, path+name); err != nil {
			return err
		}
	}
	return nil
}

func boundsOfField(value reflect.Value, tags reflect.StructTag, name string) error {
	value, given := given(value)
	if !given {
		if tags.Get("required") == "true" {
			return problems.New(problems.InvalidParameter, "%s must be given.", name)
		}
		return nil
	}
	if err := bound(value, tags, "", name); err != nil {
		return err
	}
	switch value.Kind() {
	case reflect.Slice:
		for i := range value.Len() {
			member := name + "[" + strconv.Itoa(i) + "]"
			if err := bound(value.Index(i), tags, "each", member); err != nil {
				return err
			}
			if err := boundsOf(reflect.Indirect(value.Index(i)), member+"."); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return boundsOf(value, name+".")
	default:
	}
	return nil
}

// given is the value that was sent, behind pointers and Optionals.
func given(value reflect.Value) (sent reflect.Value, ok bool) {
	if wrapped, is := value.Interface().(optional); is {
		content, ok := wrapped.content()
		return reflect.ValueOf(content), ok
	}
	switch value.Kind() {
	case reflect.Pointer:
		return value.Elem(), !value.IsNil()
	case reflect.Slice, reflect.Map:
		return value, !value.IsNil()
	case reflect.Struct:
		return value, true
	default:
		return value, !value.IsZero()
	}
}

// bound holds one value against the tags of one prefix: none for the field itself, "each" for members of a list.
func bound(value reflect.Value, tags reflect.StructTag, prefix, name string) error {
	tag := func(rule string) (number float64, text string, ok bool) {
		if prefix != "" {
			rule = prefix + strings.ToUpper(rule[:1]) + rule[1:]
		}
		text, ok = tags.Lookup(rule)
		if !ok {
			return 0, "", false
		}
		number, _ = strconv.ParseFloat(text, 64)
		return number, text, true
	}
	size, measure, unit := sizeOf(value)
	for _, rule := range measure {
		limit, text, ok := tag(rule)
		switch {
		case !ok:
		case strings.HasPrefix(rule, "min") && size < limit:
			return problems.New(problems.InvalidParameter, "%s must be at least %s%s.", name, text, unit)
		case strings.HasPrefix(rule, "max") && size > limit:
			return problems.New(problems.InvalidParameter, "%s must be at most %s%s.", name, text, unit)
		}
	}
	if _, words, ok := tag("enum"); ok && value.Kind() == reflect.String {
		if !slices.Contains(strings.Split(words, ","), value.String()) {
			return problems.New(problems.InvalidParameter, "%s must be one of %s.", name, strings.ReplaceAll(words, ",", ", "))
		}
	}
	return nil
}

// sizeOf is what the bounds of a kind of value measure.
func sizeOf(value reflect.Value) (size float64, rules []string, unit string) {
	switch value.Kind() {
	case reflect.String:
		return float64(utf8.RuneCountInString(value.String())), []string{"minLength", "maxLength"}, " characters long"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return float64(value.Int()), []string{"minimum", "maximum"}, ""
	case reflect.Float64:
		return value.Float(), []string{"minimum", "maximum"}, ""
	case reflect.Slice:
		return float64(value.Len()), []string{"minItems", "maxItems"}, " long"
	default:
		return 0, nil, ""
	}
}
