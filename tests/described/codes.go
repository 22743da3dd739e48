package described

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
)

// listed is how the document lists the codes of a status: "Forbidden. Codes: `cross_origin`, `insufficient_scope`."
var (
	listed = regexp.MustCompile("Codes: (`.*`)\\.")
	quoted = regexp.MustCompile("`([a-z_]+)`")
)

func codesIn(description string) (codes []string) {
	found := listed.FindStringSubmatch(description)
	if found == nil {
		return nil
	}
	for _, code := range quoted.FindAllStringSubmatch(found[1], -1) {
		codes = append(codes, code[1])
	}
	return codes
}

// checkCode says so when a refusal is none of those that the document lists for its status: clients tell them apart by
// their code.
func (a answer) checkCode(e Exchange) error {
	if e.Status < http.StatusBadRequest || len(a.codes) == 0 {
		return nil
	}
	var told struct {
		Code  string
		Error json.RawMessage // a sentence, or on OpenAI's wire what has the code
	}
	if err := json.Unmarshal(e.Body, &told); err != nil {
		return fmt.Errorf("%s %s answered %d with what is no object: %w", e.Method, e.Path, e.Status, err)
	}
	if told.Code == "" {
		var inner struct{ Code string }
		if json.Unmarshal(told.Error, &inner) == nil {
			told.Code = inner.Code
		}
	}
	if !slices.Contains(a.codes, told.Code) {
		return fmt.Errorf("%s %s answered %d %s; the document lists %v", e.Method, e.Path, e.Status, told.Code, a.codes)
	}
	return nil
}
