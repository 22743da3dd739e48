package tests

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
)

// object is a JSON object with exactly these members. A member is a kind, an object, a list, or the value itself.
type object map[string]any

// with is the object with further members.
func (f object) with(more object) object {
	joined := maps.Clone(f)
	maps.Copy(joined, more)
	return joined
}

// without is the object less some members.
func (f object) without(names ...string) object {
	kept := maps.Clone(f)
	for _, name := range names {
		delete(kept, name)
	}
	return kept
}

// some is a JSON object that has these members, and others.
type some map[string]any

// each is a list of any length whose elements all have one form.
type each struct{ of any }

// orNull is null or another kind.
type orNull struct{ of any }

// kind is a class of values.
type kind struct {
	name  string
	holds func(value any) bool
}

func pattern(name, expression string) kind {
	compiled := regexp.MustCompile("^(?:" + expression + ")$")
	return kind{name, func(value any) bool {
		s, ok := value.(string)
		return ok && compiled.MatchString(s)
	}}
}

var (
	text    = kind{"text", func(v any) bool { s, ok := v.(string); return ok && s != "" }}
	boolean = kind{"true or false", func(v any) bool { _, ok := v.(bool); return ok }}
	number  = kind{"a number", func(v any) bool { _, ok := v.(float64); return ok }}
	whole   = kind{"a whole number", func(v any) bool { n, ok := v.(float64); return ok && n == math.Trunc(n) }}
	// The three forms of a time that the contract has, each with its own fields.
	naive = pattern("a UTC time without a zone", `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?`)
	micro = pattern("a UTC time with six digits and Z", `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z`)
)

// differences tells where a decoded JSON value is not as wanted.
func differences(path string, got, want any) []string {
	switch want := want.(type) {
	case object:
		return differentMembers(path, got, want, true)
	case some:
		return differentMembers(path, got, object(want), false)
	case each:
		list, ok := got.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v, want a list", path, got)}
		}
		var faults []string
		for i, element := range list {
			faults = append(faults, differences(fmt.Sprintf("%s[%d]", path, i), element, want.of)...)
		}
		return faults
	case []any:
		return differentElements(path, got, want)
	case orNull:
		if got == nil {
			return nil
		}
		return differences(path, got, want.of)
	case kind:
		if !want.holds(got) {
			return []string{fmt.Sprintf("%s is %v, want %s", path, got, want.name)}
		}
		return nil
	default:
		if !reflect.DeepEqual(got, asDecoded(want)) {
			return []string{fmt.Sprintf("%s is %v, want %v", path, got, want)}
		}
		return nil
	}
}

func differentMembers(path string, got any, want object, exact bool) []string {
	members, ok := got.(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("%s is %v, want an object", path, got)}
	}
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, has := members[name]
		if !has {
			faults = append(faults, fmt.Sprintf("%s.%s is absent", path, name))
			continue
		}
		faults = append(faults, differences(path+"."+name, value, want[name])...)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if _, known := want[name]; exact && !known {
			faults = append(faults, fmt.Sprintf("%s.%s is not in the contract", path, name))
		}
	}
	return faults
}

func differentElements(path string, got any, want []any) []string {
	list, ok := got.([]any)
	if !ok || len(list) != len(want) {
		return []string{fmt.Sprintf("%s is %v, want %d elements", path, got, len(want))}
	}
	var faults []string
	for i := range list {
		faults = append(faults, differences(fmt.Sprintf("%s[%d]", path, i), list[i], want[i])...)
	}
	return faults
}

// asDecoded is a number as encoding/json decodes it.
func asDecoded(value any) any {
	switch n := value.(type) {
	case int:
		return float64(n)
	case int64:
		return float64(n)
	default:
		return value
	}
}
