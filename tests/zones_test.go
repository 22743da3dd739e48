package tests

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Months are counted in time zones also where the system has no files of them: the program brings its own.
func TestTimeZonesAreBuiltIn(t *testing.T) {
	t.Parallel()
	list, err := exec.Command("go", "list", "-deps", "../cmd/server").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(strings.Fields(string(list)), "time/tzdata") {
		t.Error("the program is built without time/tzdata")
	}
}
