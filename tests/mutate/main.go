// Command mutate takes each guard out of the code in turn and shows the test that notices. A guard that can be taken
// out without a failing test is a fault: mutate ends with 1 and names it. The tree is not touched; the compiler is
// given the changed file as an overlay. Some guards show on PostgreSQL alone, whose tests are skipped without one. With an
// argument it tries only those whose file or name holds it:
//
//	scripts/with-services go run ./tests/mutate budgets/
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	wanted := strings.Join(os.Args[1:], " ")
	tried, survivors := 0, 0
	for _, m := range mutations() {
		if !strings.Contains(m.file, wanted) && !strings.Contains(m.name, wanted) {
			continue
		}
		tried++
		killer, err := m.try(ctx)
		switch {
		case err != nil:
			fmt.Printf("BROKEN    %s: %v\n", m.name, err)
			survivors++
		case killer == "":
			fmt.Printf("SURVIVED  %s\n", m.name)
			survivors++
		default:
			fmt.Printf("noticed   %s by %s\n", m.name, killer)
		}
	}
	fmt.Printf("%d passed, %d failed\n", tried-survivors, survivors)
	if survivors > 0 || tried == 0 {
		stop()
		os.Exit(1)
	}
}

// mutation is one guard taken out: in file, the text old, which stands there once, becomes new.
type mutation struct {
	name     string
	file     string
	old, new string
	// tests are the packages and the -run pattern that have to notice.
	run      string
	packages []string
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// try runs the tests against the mutated code. killer is the first test that failed; empty when none did.
func (m mutation) try(ctx context.Context) (killer string, err error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return "", fmt.Errorf("%s holds the guard %d times, want once: %q", m.file, n, m.old)
	}
	folder, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	overlay, err := m.overlay(folder, strings.Replace(string(source), m.old, m.new, 1))
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, "go", append([]string{"test", "-count=1", "-run", m.run}, m.packages...)...)
	// By GOFLAGS, so that the server that black-box tests build is mutated too.
	command.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay)
	output, err := command.CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err == nil {
		return "", nil
	}
	if bytes.Contains(output, []byte("[build failed]")) || bytes.Contains(output, []byte("[setup failed]")) {
		return "", fmt.Errorf("the mutated code does not compile:\n%s", output)
	}
	if found := failure.FindSubmatch(output); found != nil {
		return string(found[1]), nil
	}
	return "", fmt.Errorf("the tests ended without naming a failure:\n%s", output)
}

func (m mutation) overlay(folder, source string) (string, error) {
	changed := filepath.Join(folder, "mutated.go")
	if err := os.WriteFile(changed, []byte(source), 0o600); err != nil {
		return "", err
	}
	file, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	content, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, content, 0o600)
}
