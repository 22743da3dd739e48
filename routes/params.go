package routes

import (
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/problems"
)

// IDParam reads the id that stands in the path for a noun. What cannot be an id, a sign, leading zeros and a number beyond
// int64 included, is 404 like an id that nothing has.
func IDParam(c echo.Context, noun string) (int64, error) {
	text := c.Param(noun)
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, noSuch(noun)
		}
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || text[0] == '0' {
		return 0, noSuch(noun)
	}
	return id, nil
}

func noSuch(noun string) error { return problems.New(problems.NotFound, "There is no such %s.", noun) }
