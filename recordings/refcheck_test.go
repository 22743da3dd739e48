package recordings_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// Each member of a reference has its bound, and one that is kept is kept as it was sent.
func TestReferenceBounds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := listing(t, url, models.Recording{})
		id := r.onlyRecording()
		for _, test := range []struct {
			name   string
			change func(*recordings.ExternalRef)
			good   bool
		}{
			{"plain", func(*recordings.ExternalRef) {}, true},
			{"longest words", func(r *recordings.ExternalRef) { r.System, r.Kind = strings.Repeat("a", 40), strings.Repeat("z", 40) }, true},
			{"signs", func(r *recordings.ExternalRef) { r.System = "a0_.-" }, true},
			{"no system", func(r *recordings.ExternalRef) { r.System = "" }, false},
			{"long system", func(r *recordings.ExternalRef) { r.System = strings.Repeat("a", 41) }, false},
			{"capital", func(r *recordings.ExternalRef) { r.Kind = "Kind" }, false},
			{"line end", func(r *recordings.ExternalRef) { r.Kind = "kind\n" }, false},
			{"letter beyond ASCII", func(r *recordings.ExternalRef) { r.Kind = "é" }, false},
			{"longest ref", func(r *recordings.ExternalRef) { r.Ref = strings.Repeat("ü", 500) }, true},
			{"long ref", func(r *recordings.ExternalRef) { r.Ref = strings.Repeat("u", 501) }, false},
			{"no ref", func(r *recordings.ExternalRef) { r.Ref = "" }, false},
			{"control in ref", func(r *recordings.ExternalRef) { r.Ref = "a\x00b" }, false},
			{"tab in ref", func(r *recordings.ExternalRef) { r.Ref = "a\tb" }, false},
			{"bytes that are no text", func(r *recordings.ExternalRef) { r.Ref = "a\xffb" }, false},
			{"space in ref", func(r *recordings.ExternalRef) { r.Ref = "a b 😀" }, true},
			{"longest URL", func(r *recordings.ExternalRef) { r.URL = text("https://e.org/" + strings.Repeat("a", 986)) }, true},
			{"long URL", func(r *recordings.ExternalRef) { r.URL = text("https://e.org/" + strings.Repeat("a", 987)) }, false},
			{"other scheme", func(r *recordings.ExternalRef) { r.URL = text("javascript:alert(1)") }, false},
			{"file", func(r *recordings.ExternalRef) { r.URL = text("file:///etc/passwd") }, false},
			{"no host", func(r *recordings.ExternalRef) { r.URL = text("http:///x") }, false},
			{"space in URL", func(r *recordings.ExternalRef) { r.URL = text("http://e.org/a b") }, false},
			{"long label", func(r *recordings.ExternalRef) { r.Label = text(strings.Repeat("x", 201)) }, false},
			{"longest label", func(r *recordings.ExternalRef) { r.Label = text(strings.Repeat("é", 200)) }, true},
			{"zero in label", func(r *recordings.ExternalRef) { r.Label = text("a\x00") }, false},
		} {
			sent := ref("system", "kind", test.name)
			test.change(&sent)
			stored, _, err := r.recordings.AddRef(context.Background(), r.owner, id, sent)
			if !test.good {
				expect(t, err, problems.InvalidParameter)
				continue
			}
			if err != nil || keyOf(stored) != keyOf(sent) || given(stored.URL) != given(sent.URL) || given(stored.Label) != given(sent.Label) {
				t.Errorf("%s: stored as %+v (%v)", test.name, stored, err)
			}
		}
		_, err := r.recordings.ReplaceRefs(context.Background(), r.owner, id, nil, "", nil)
		expect(t, err, problems.InvalidParameter)
		_, err = r.recordings.ReplaceRefs(context.Background(), r.owner, id, nil, "a", []recordings.ExternalRef{ref("b", "k", "r")})
		expect(t, err, problems.InvalidParameter)
		_, err = r.recordings.ReplaceRefs(context.Background(), r.owner, id, nil, "a", make([]recordings.ExternalRef, 1001))
		expect(t, err, problems.InvalidParameter)
	})
}

func text(s string) *string { return &s }

func given(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
