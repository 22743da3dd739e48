package admin

import (
	"errors"
	"math"
	"net/url"
	"strconv"

	"github.com/stenometer/stenometer/problems"
)

// defaultPerPage is how many things a page has by itself, and maxPerPage the most.
const (
	defaultPerPage = 25
	maxPerPage     = 100
)

// paging reads which page is asked for.
func paging(query url.Values) (page, perPage int, err error) {
	if page, err = number(query, "page", 1, math.MaxInt32); err != nil {
		return 0, 0, err
	}
	perPage, err = number(query, "per_page", defaultPerPage, maxPerPage)
	return page, perPage, err
}

// number reads a whole number from 1 to most. Administrators are told what is wrong, not given something else.
func number(query url.Values, name string, otherwise, most int) (int, error) {
	value, err := whole(query, name, int64(most))
	if value == 0 && err == nil {
		return otherwise, nil
	}
	return int(value), err
}

// whole reads a whole number from 1 to most; 0 where there is none.
func whole(query url.Values, name string, most int64) (int64, error) {
	text := query.Get(name)
	if text == "" {
		return 0, nil
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || value < 1 || value > most {
		return 0, problems.New(problems.InvalidParameter, "%s must be a whole number from 1 to %d.", name, most).With("field", name)
	}
	return value, nil
}

// mark reads true or false; nil where there is none.
func mark(query url.Values, name string) (*bool, error) {
	switch query.Get(name) {
	case "":
		return nil, nil //nolint:nilnil // none is no failure
	case "true":
		return new(true), nil
	case "false":
		return new(false), nil
	}
	return nil, problems.New(problems.InvalidParameter, "%s must be true or false.", name).With("field", name)
}
