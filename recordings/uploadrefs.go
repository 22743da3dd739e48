package recordings

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/stenometer/stenometer/problems"
)

// sentRef is a reference as a form writes it.
type sentRef struct {
	System string  `json:"system"`
	Kind   string  `json:"kind"`
	Ref    string  `json:"ref"`
	URL    *string `json:"url"`
	Label  *string `json:"label"`
}

// readRefs reads the references of an upload: a JSON array in the field external_refs, blank for none. It is read
// member by member, so that a field of a million commas costs no more than the first thousand.
func readRefs(fields form) ([]ExternalRef, error) {
	text := fields.text("external_refs")
	if text == "" {
		return nil, nil
	}
	if !utf8.ValidString(text) {
		return nil, noRefs(nil)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	if opened, err := decoder.Token(); err != nil || opened != json.Delim('[') {
		return nil, noRefs(err)
	}
	var sent []ExternalRef
	for decoder.More() {
		if len(sent) > maxRefsSent {
			break
		}
		var ref *sentRef
		if err := decoder.Decode(&ref); err != nil || ref == nil {
			return nil, noRefs(err)
		}
		sent = append(sent, ExternalRef{System: ref.System, Kind: ref.Kind, Ref: ref.Ref, URL: ref.URL, Label: ref.Label})
	}
	if len(sent) <= maxRefsSent {
		if _, err := decoder.Token(); err != nil {
			return nil, noRefs(err)
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return nil, noRefs(err)
		}
	}
	return checkRefs("external_refs", sent)
}

func noRefs(cause error) *problems.Error {
	return problems.New(problems.InvalidParameter, "external_refs must be a JSON array of objects with system, kind and ref.").Because(cause)
}
