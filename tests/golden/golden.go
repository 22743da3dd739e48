// Package golden compares what the code makes with a file that is under review. A test that compares has Golden in
// its name: make golden runs those, and they rewrite their files.
package golden

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Compare fails the test when the file does not hold want, and names the first line that differs. With
// STENOMETER_UPDATE_GOLDEN=1 it writes the file instead.
func Compare(t testing.TB, file, want string) {
	t.Helper()
	if os.Getenv("STENOMETER_UPDATE_GOLDEN") == "1" {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if string(got) == want {
		return
	}
	held, made := strings.Split(string(got), "\n"), strings.Split(want, "\n")
	line := 0
	for line < len(held) && line < len(made) && held[line] == made[line] {
		line++
	}
	t.Errorf("%s:%d differs from what the code makes; run make golden and review the diff\n holds %q\n  want %q",
		file, line+1, lineAt(held, line), lineAt(made, line))
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(no more lines)"
}

// Section is Compare for the part of a document between the markers `<!-- name:begin … -->` and `<!-- name:end -->`,
// each on a line of its own.
func Section(t testing.TB, file, name, want string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), "<!-- "+name+":begin")
	head, rest, closed := strings.Cut(rest, "-->\n")
	_, after, ended := strings.Cut(rest, "<!-- "+name+":end -->")
	if !found || !closed || !ended {
		t.Fatalf("%s has no section %s between markers", file, name)
	}
	Compare(t, file, before+"<!-- "+name+":begin"+head+"-->\n"+want+"<!-- "+name+":end -->"+after)
}
