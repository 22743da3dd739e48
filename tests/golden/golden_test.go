package golden

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// recorder stands in for a test whose failures are looked at.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func TestDifferencesFailAndUpdatesWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "testdata", "table.golden")
	r := &recorder{TB: t}
	compare := func(want string) string {
		r.failures = nil
		Compare(r, file, want)
		return strings.Join(r.failures, "\n")
	}
	t.Setenv("STENOMETER_UPDATE_GOLDEN", "")
	if got := compare("one\ntwo\n"); !strings.Contains(got, "table.golden:1 differs") {
		t.Errorf("without the file: %q", got)
	}
	t.Setenv("STENOMETER_UPDATE_GOLDEN", "1")
	if got := compare("one\ntwo\n"); got != "" {
		t.Errorf("an update failed: %q", got)
	}
	t.Setenv("STENOMETER_UPDATE_GOLDEN", "")
	if got := compare("one\ntwo\n"); got != "" {
		t.Errorf("the same text: %q", got)
	}
	if got := compare("one\n2\n"); !strings.Contains(got, "table.golden:2 differs") || !strings.Contains(got, `"two"`) {
		t.Errorf("another second line: %q", got)
	}
	if got := compare("one\ntwo\nthree\n"); !strings.Contains(got, "table.golden:3 differs") {
		t.Errorf("one more line: %q", got)
	}
}
