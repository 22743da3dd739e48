// Package servertest runs the built binary for black-box tests: real processes, real commands, HTTP from outside.
// Every process listens on a free port and keeps its data in the test's own folder.
package servertest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Environment is the settings of a process; what it does not name has its default.
type Environment map[string]string

// With is a copy with further settings.
func (e Environment) With(more Environment) Environment {
	joined := make(Environment, len(e)+len(more))
	for _, settings := range []Environment{e, more} {
		for name, value := range settings {
			joined[name] = value
		}
	}
	return joined
}

func (e Environment) list() []string {
	list := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(), "TRUSTED_PROXY_COUNT=0"}
	for name, value := range e {
		list = append(list, name+"="+value)
	}
	return list
}

// Fresh is an environment with a data folder of its own and a free port, in which nothing is summarized unasked: what
// is tested is the state after the transcript.
func Fresh(t testing.TB) Environment {
	t.Helper()
	return Environment{"DATA_DIR": filepath.Join(t.TempDir(), "data"), "LISTEN_ADDR": "127.0.0.1:0", "AUTO_SUMMARIZATION": "false"}
}

// build makes the binary once for all tests of the calling package; instrumented finds races in it too.
type build struct {
	once   sync.Once
	path   string
	failed error
}

// builds are the binaries that every test of the calling package shares; each is written once.
var builds = struct{ instrumented, plain build }{}

// Binary is the path of the server, built with the race detector.
func Binary(t testing.TB) string {
	t.Helper()
	return builds.instrumented.make(t, "-race")
}

// PlainBinary is the server as operators run it, for measurements.
func PlainBinary(t testing.TB) string {
	t.Helper()
	return builds.plain.make(t)
}

func (b *build) make(t testing.TB, flags ...string) string {
	t.Helper()
	b.once.Do(func() {
		folder, err := os.MkdirTemp("", "stenometer-binary-")
		if err != nil {
			b.failed = err
			return
		}
		b.path = filepath.Join(folder, "server")
		// Without what only debuggers read it is linked in half the time, as go test links its own.
		arguments := append([]string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", b.path}, flags...)
		command := exec.Command("go", append(arguments, "github.com/stenometer/stenometer/cmd/server")...)
		if output, err := command.CombinedOutput(); err != nil {
			b.failed = fmt.Errorf("building the server: %w\n%s", err, output)
		}
	})
	if b.failed != nil {
		t.Fatal(b.failed)
	}
	return b.path
}

// RemoveBinaries takes away what was built; a package's TestMain calls it last.
func RemoveBinaries() {
	for _, b := range []*build{&builds.instrumented, &builds.plain} {
		if b.path != "" {
			_ = os.RemoveAll(filepath.Dir(b.path))
		}
	}
}

// Result is how a command ended.
type Result struct {
	Code           int
	Output, Errors string
}

// Command runs one subcommand to its end and returns how it ended.
func Command(t testing.TB, environment Environment, input string, arguments ...string) Result {
	t.Helper()
	return command(t, Binary(t), environment, input, arguments...)
}

func command(t testing.TB, binary string, environment Environment, input string, arguments ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var output, errors bytes.Buffer
	command := exec.CommandContext(ctx, binary, arguments...)
	command.Dir = t.TempDir()
	command.Env = environment.list()
	command.Stdin = strings.NewReader(input)
	command.Stdout, command.Stderr = &output, &errors
	err := command.Run()
	if command.ProcessState == nil {
		t.Fatalf("running server %s: %v", strings.Join(arguments, " "), err)
	}
	return Result{command.ProcessState.ExitCode(), output.String(), errors.String()}
}

// MustCommand is Command for a command that has to succeed; it returns its output without the last line's end.
func MustCommand(t testing.TB, environment Environment, input string, arguments ...string) string {
	t.Helper()
	return succeeded(t, Command(t, environment, input, arguments...), arguments)
}

// Prepare is MustCommand for what a test needs before it begins: hashing a password takes ten times as long in the
// binary that finds races.
func Prepare(t testing.TB, environment Environment, input string, arguments ...string) string {
	t.Helper()
	return succeeded(t, command(t, PlainBinary(t), environment, input, arguments...), arguments)
}

func succeeded(t testing.TB, result Result, arguments []string) string {
	t.Helper()
	if result.Code != 0 {
		t.Fatalf("server %s ended with %d: %s", strings.Join(arguments, " "), result.Code, result.Errors)
	}
	return strings.TrimSuffix(result.Output, "\n")
}
