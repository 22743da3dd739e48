package routes

import (
	"net/http"
	"strconv"
	"strings"
)

// appliesTo reports whether the range counts: not when a condition on the file's tag says that
// the client has the file already, or had another one.
func appliesTo(header http.Header, hash string) bool {
	if known := header.Get("If-None-Match"); known == "*" || strings.Contains(known, `"`+hash+`"`) {
		return false
	}
	condition := header.Get("If-Range")
	return condition == "" || condition == `"`+hash+`"`
}

// What a Range header asks for.
const (
	rangeNone    = iota // nothing that is understood: the whole file
	rangeInside         // at least one range that overlaps the file
	rangeOutside        // ranges, none of which does
)

// readRange judges a Range header before http.ServeContent does, which answers 416 in a form of its own, also to
// units that it does not know and to ranges that are none: RFC 9110 has those ignored.
func readRange(text string, size int64) int {
	list, ok := strings.CutPrefix(text, "bytes=")
	if !ok {
		return rangeNone
	}
	found := rangeNone
	for spec := range strings.SplitSeq(list, ",") {
		if spec = strings.TrimSpace(spec); spec == "" {
			continue
		}
		inside, ok := overlaps(spec, size)
		switch {
		case !ok:
			return rangeNone
		case inside:
			found = rangeInside
		case found == rangeNone:
			found = rangeOutside
		}
	}
	return found
}

// overlaps reads one range, "first-last", "first-" or "-length"; ok is false for what is none.
func overlaps(spec string, size int64) (inside, ok bool) {
	first, last, ok := strings.Cut(spec, "-")
	if !ok || !digits(first) || !digits(last) || first+last == "" {
		return false, false
	}
	if first == "" {
		length, err := strconv.ParseInt(last, 10, 64)
		return err == nil && length > 0 && size > 0, err == nil
	}
	from, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return false, false
	}
	if last != "" {
		if to, err := strconv.ParseInt(last, 10, 64); err != nil || to < from {
			return false, false
		}
	}
	return from < size, true
}

func digits(text string) bool { return strings.Trim(text, "0123456789") == "" }
