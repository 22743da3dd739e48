package routes_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/routes"
)

// What a body's tags tell in the document is what is refused, with the field and its bound named: of embedded fields, of
// members of lists and of objects within too. What is absent or null has no bounds but that it must be given.
func TestBodiesKeepTheBoundsThatTheyShow(t *testing.T) {
	t.Parallel()
	type shared struct {
		Color routes.Optional[string] `json:"color" minLength:"7" maxLength:"7"`
	}
	type member struct {
		Ref string `json:"ref" required:"true" maxLength:"3"`
	}
	h := open(t, bare("POST", "/api/v1/things", auth.Write, func(c echo.Context, _ auth.Principal) error {
		var in struct {
			shared
			Name    string                  `json:"name" required:"true" minLength:"1" maxLength:"4"`
			Days    routes.Optional[int]    `json:"days" minimum:"-1" maximum:"10"`
			Share   *float64                `json:"share" minimum:"0.5" maximum:"1"`
			Sort    string                  `json:"sort" enum:"asc,desc"`
			IDs     []int64                 `json:"ids" minItems:"1" maxItems:"2" eachMinimum:"1"`
			Words   []string                `json:"words" eachMinLength:"2" eachMaxLength:"3"`
			Members []member                `json:"members"`
			Inner   routes.Optional[member] `json:"inner"`
		}
		if err := routes.DecodeJSON(c, &in); err != nil {
			return err
		}
		return c.NoContent(http.StatusNoContent)
	}))
	token := bearer(h.token(1, "full"))
	for sent, refusal := range map[string]string{
		`{"name":"éééé","color":"#123456","days":-1,"share":0.5,"sort":"asc","ids":[1,2],"words":["ab"],"members":[{"ref":"x"}],"inner":{"ref":"x"}}`: "",
		`{"name":"a","color":null,"days":null,"share":null,"ids":null,"words":[],"members":null,"inner":null}`:                                        "",
		`{}`:                                                  "name must be given.",
		`{"name":null}`:                                       "name must be given.",
		`{"name":"ééééé"}`:                                    "name must be at most 4 characters long.",
		`{"name":"a","color":"#1234"}`:                        "color must be at least 7 characters long.",
		`{"name":"a","days":-2}`:                              "days must be at least -1.",
		`{"name":"a","days":11}`:                              "days must be at most 10.",
		`{"name":"a","share":0.4}`:                            "share must be at least 0.5.",
		`{"name":"a","sort":"up"}`:                            "sort must be one of asc, desc.",
		`{"name":"a","ids":[]}`:                               "ids must be at least 1 long.",
		`{"name":"a","ids":[1,2,3]}`:                          "ids must be at most 2 long.",
		`{"name":"a","ids":[1,0]}`:                            "ids[1] must be at least 1.",
		`{"name":"a","words":["ab","abcd"]}`:                  "words[1] must be at most 3 characters long.",
		`{"name":"a","words":["a"]}`:                          "words[0] must be at least 2 characters long.",
		`{"name":"a","members":[{}]}`:                         "members[0].ref must be given.",
		`{"name":"a","inner":{"ref":"abcd"}}`:                 "inner.ref must be at most 3 characters long.",
		`{"name":"a","members":[{"ref":"x"},{"ref":"abcd"}]}`: "members[1].ref must be at most 3 characters long.",
	} {
		answer := h.call("POST", "/api/v1/things", token, body(sent))
		if refusal == "" {
			h.want(answer, http.StatusNoContent, "")
			continue
		}
		h.want(answer, http.StatusBadRequest, "invalid_parameter")
		if !strings.Contains(answer.text, refusal) {
			t.Errorf("%s is answered %s, want %q", sent, answer.text, refusal)
		}
	}
}
