package routes_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/routes"
)

// Rule (H-006): rows of administration refuse a member that they do not know, in exactly these letters, or that is sent twice,
// and name it, at any depth; a long name is cut.
func TestStrictBodiesNameWhatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	h := open(t, bare("PUT", "/api/v1/strict", auth.Write, func(c echo.Context, _ auth.Principal) error {
		var in struct {
			Name *string `json:"name" maxLength:"3"`
			In   struct {
				Count int `json:"count"`
			} `json:"in"`
		}
		if err := routes.DecodeStrictJSON(c, &in); err != nil {
			return err
		}
		return c.NoContent(http.StatusOK)
	}))
	token := bearer(h.token(1, "write"))
	for sent, named := range map[string]string{
		`{"name":"a","in":{"count":1}}`:          "",
		`{}`:                                     "",
		`{"name":"a","names":"b"}`:               `"names"`,
		`{"in":{"count":1,"counts":2}}`:          `"counts"`,
		`{"` + strings.Repeat("x", 200) + `":1}`: strings.Repeat("x", 100) + "…",
		`{"Name":"a"}`:                           `"Name"`,
		`{"na\"me":"a"}`:                         `"na\"me"`,
		`{"name":"a","NAME":"b"}`:                `"NAME"`,
		`{"name":"a","name":"b"}`:                `"name"`,
		`{"in":{"count":1,"count":2}}`:           `"count"`,
		`{"in":{"count":1},"name":"in"}`:         "",
		`{"name":"in","in":{}}`:                  "",
		`{"name":"abcd"}`:                        "at most 3",
		`{"name":7}`:                             `"name"`,
	} {
		got := h.call("PUT", "/api/v1/strict", token, body(sent))
		if named == "" {
			h.want(got, 200, "")
			continue
		}
		h.want(got, 400, "invalid_parameter")
		if sentence, _ := got.json(t)["error"].(string); !strings.Contains(sentence, named) || len(sentence) > 250 {
			t.Errorf("%.40s: the error %q does not name %q, or is long", sent, sentence, named)
		}
	}
}
