package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every guard that is to be taken out stands where its mutation says, once: one that was moved would no longer be
// proved, and nobody runs the mutations at every change.
func TestEveryMutationFindsItsGuard(t *testing.T) {
	t.Parallel()
	for _, m := range mutations() {
		code, err := os.ReadFile(filepath.Join("..", "..", m.file))
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Count(string(code), m.old); found != 1 {
			t.Errorf("%s: what it takes out stands %d times in %s", m.name, found, m.file)
		}
	}
}
