package tests

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the repository, seen from this package.
const root = ".."

// TestFloors keeps the layout's promises: who may import whom, which library is used where, and the words that would
// open a way past a guard. It names each offending line.
func TestFloors(t *testing.T) {
	t.Parallel()
	seen := 0
	var faults []string
	walkRepository(t, func(name string) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || within(filepath.Dir(name), testPackages) {
			return
		}
		seen++
		faults = append(faults, faultsOf(name, readFile(t, name))...)
	})
	if seen < 20 {
		t.Errorf("only %d files were checked: is this still the repository's root?", seen)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

// TestVariablesOfPackagesStay finds package variables of the product that are assigned to after they were made.
func TestVariablesOfPackagesStay(t *testing.T) {
	t.Parallel()
	packages := map[string]map[string][]byte{}
	walkRepository(t, func(name string) {
		dir := filepath.Dir(name)
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !within(dir, testPackages) {
			if packages[dir] == nil {
				packages[dir] = map[string][]byte{}
			}
			packages[dir][name] = readFile(t, name)
		}
	})
	for _, sources := range packages {
		for _, fault := range reassignments(sources) {
			t.Error(fault)
		}
	}
}

// TestNothingReadsPastTheRepository: what a clone does not hold cannot be needed to build or test it.
func TestNothingReadsPastTheRepository(t *testing.T) {
	t.Parallel()
	outside := "../" + "shared"
	walkRepository(t, func(name string) {
		for i, line := range strings.Split(string(readFile(t, name)), "\n") {
			if strings.Contains(line, outside) {
				t.Errorf("%s:%d: reads %s, which is not part of the repository", name, i+1, outside)
			}
		}
	})
}

// TestFloorsFindWhatTheyForbid is the proof that the checks above can fail.
func TestFloorsFindWhatTheyForbid(t *testing.T) {
	t.Parallel()
	long := "package api\n" + strings.Repeat("// line\n", longestFile)
	for _, bad := range []struct{ file, source, want string }{
		{"limits/x.go", "package limits\nimport _ \"" + module + "/auth\"\n", "limits/x.go:2: limits may not import auth: its floor lists problems,"},
		{"problems/x.go", "package problems\n\nimport _ \"" + module + "/config\"\n", "problems/x.go:3: problems may not import config: its floor lists nothing"},
		{"api/v1/x.go", "package v1\nimport _ \"" + module + "/models\"\n", "api/v1 may not import models"},
		{"api/v1/admin/x.go", "package admin\nimport _ \"" + module + "/models\"\n", "api/v1/admin may not import models"},
		{"tokens/x.go", "package tokens\nimport _ \"" + module + "/tokens/handlers\"\n", "tokens may not import tokens/handlers"},
		{"cmd/server/x.go", "package main\nimport _ \"" + module + "/models\"\n", "cmd/server may not import models"},
		{"gadgets/x.go", "package gadgets\nimport _ \"" + module + "/models\"\n", "gadgets has no row"},
		{"server/x.go", "package server\nimport _ \"" + module + "/gadgets\"\n", "gadgets has no row"},
		{"server/x.go", "package server\nimport _ \"" + module + "/auth/authtest\"\n", "server may not import auth/authtest: it is for tests"},
		{"recordings/x.go", "package recordings\nimport _ \"github.com/labstack/echo/v4\"\n", "the web framework stays in"},
		{"auth/x.go", "package auth\nimport _ \"gorm.io/gorm\"\n", "rows are for packages"},
		{"jobs/x.go", "package jobs\nimport _ \"github.com/redis/go-redis/v9\"\n", "limits owns the storage connection"},
		{"auth/x.go", "package auth\nimport _ \"github.com/ulule/limiter/v3\"\n", "not rates"},
		{"tokens/x.go", "package tokens\nimport _ \"github.com/riverqueue/river\"\n", "only jobs and the workers"},
		{"accounts/handlers/x.go", "package handlers\nimport _ \"github.com/alexedwards/scs/v2\"\n", "sessions belong to accounts"},
		{"limits/x.go", "package limits\nimport _ \"github.com/prometheus/client_golang/prometheus\"\n", "metrics keeps it"},
		{"speech/x.go", "package speech\nimport _ \"os/exec\"\n", "only starter of child processes"},
		{"auth/x.go", "package auth\nimport \"github.com/labstack/echo/v4\"\nvar _ = echo.New()\n", "auth/x.go:3: echo.New is a way past"},
		{"api/v1/x.go", "package v1\nimport e \"github.com/labstack/echo/v4\"\nvar _ *e.Echo\n", "e.Echo is a way past"},
		{"api/v1/x.go", "package v1\nimport \"github.com/labstack/echo/v4\"\nvar _ *echo.Group\n", "echo.Group is a way past"},
		{"api/v1/x.go", "package v1\nimport \"github.com/labstack/echo/v4\"\nvar _ echo.MiddlewareFunc\n", "only routes and auth may say it"},
		{"api/v1/x.go", "package v1\nimport \"github.com/labstack/echo/v4\"\nfunc f(c echo.Context) { c.Echo() }\n", ".Echo() is a way past"},
		{"speech/x.go", "package speech\nimport \"net/http\"\nvar _ = &http.Client{}\n", "speech/x.go:3: an http.Client of one's own"},
		{"auth/x.go", "package auth\nimport . \"github.com/labstack/echo/v4\"\n", "dot import"},
		{"models/x.go", "package models\nfunc init() {}\n", "models/x.go:2: func init()"},
		{"models/x.go", "package models\nfunc f(db gorm.DB) { db.AutoMigrate() }\n", "AutoMigrate"},
		{"api/v1/x.go", long, "at most 450 lines"},
		{"models/helpers/x.go", "package helpers\n", "name it for what it holds"},
		{"models/x.go", "package models\nfunc\n", "models/x.go:"},
	} {
		faults := faultsOf(bad.file, []byte(bad.source))
		if !slices.ContainsFunc(faults, func(fault string) bool { return strings.Contains(fault, bad.want) }) {
			t.Errorf("%s with\n%s\nfound %q, want a fault with %q", bad.file, firstLines(bad.source), faults, bad.want)
		}
	}
	for _, good := range []struct{ file, source string }{
		{"auth/x.go", "package auth\nimport \"github.com/labstack/echo/v4\"\nvar _ echo.MiddlewareFunc\n"},
		{"routes/x.go", "package routes\nimport \"github.com/labstack/echo/v4\"\nvar _ = echo.New()\nfunc f(c echo.Context) { c.Echo() }\n"},
		{"api/v1/admin/x.go", "package admin\nimport (\n_ \"" + module + "/api/v1\"\n_ \"" + module + "/recordings\"\n_ \"" + module + "/problems\"\n)\n"},
		{"models/x.go", "package models\nimport _ \"gorm.io/gorm\"\ntype t struct{}\nfunc (t) init() {}\n"},
		{"media/x.go", "package media\nimport _ \"os/exec\"\n"},
	} {
		if faults := faultsOf(good.file, []byte(good.source)); len(faults) != 0 {
			t.Errorf("%s with\n%s\nfound %q, want none", good.file, good.source, faults)
		}
	}
}

func TestReassignedVariablesAreFound(t *testing.T) {
	t.Parallel()
	declared := "package p\nvar count, other int\nvar table = map[string]int{}\n"
	for statement, want := range map[string]string{
		"func f() { count = 1 }":             "p/b.go:2: count",
		"func f() { count++ }":               "p/b.go:2: count",
		"func f() { table[\"a\"] = 1 }":      "p/b.go:2: table",
		"func f() { _ = &other }":            "p/b.go:2: other",
		"func f() { count := 1; count = 2 }": "",
		"func f(count int) { count = 2 }":    "",
		"func f() { _ = count }":             "",
	} {
		faults := reassignments(map[string][]byte{"p/a.go": []byte(declared), "p/b.go": []byte("package p\n" + statement + "\n")})
		if want == "" && len(faults) != 0 || want != "" && (len(faults) != 1 || !strings.HasPrefix(faults[0], want)) {
			t.Errorf("%s: %q, want %q", statement, faults, want)
		}
	}
}

// walkRepository calls visit with every file of this module by its path inside the repository, in order. Files that a
// build or a run leaves behind, and folders that are modules of their own, are not part of it.
func walkRepository(t *testing.T, visit func(name string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if !entry.IsDir() {
			visit(filepath.ToSlash(name))
			return nil
		}
		if name == ".git" || name == "bin" || name == "data" || entry.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && name != "." {
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatalf("walk the repository: %v", err)
	}
}

// readFile reads a file by its path inside the repository.
func readFile(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func firstLines(source string) string {
	if len(source) > 200 {
		return fmt.Sprintf("%s… (%d bytes)", source[:200], len(source))
	}
	return source
}
