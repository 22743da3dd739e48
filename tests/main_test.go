// Package tests looks at the whole server from outside: the built binary over HTTP, or the assembled route table.
package tests

import (
	"os"
	"testing"

	"github.com/stenometer/stenometer/tests/servertest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	servertest.RemoveBinaries()
	os.Exit(code)
}
