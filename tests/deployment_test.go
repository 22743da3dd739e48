package tests

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// starters are the files of the repository that start a server. Each says how many proxies stand in front of it,
// because a wrong count lets callers choose the address that they are counted by, or puts all of them under one.
var starters = []string{"Dockerfile", "Makefile"}

// mentions tell files that name a way to start the server and don't start it for anybody, with the reason.
var mentions = map[string]string{
	"scripts/check-image": "starts it in the image, whose Dockerfile says it",
}

// startsServer matches what starts the server in the files that people deploy with: an image's entry point, a unit
// file, a compose file or a chart that runs the image, a script or a make target.
var startsServer = regexp.MustCompile(`(?m)^\s*(ENTRYPOINT|CMD)\b|^\s*ExecStart=|^\s*-?\s*image:\s*\S*stenometer` +
	`|\bserver["']?,?\s+["']?(serve|demo)\b|\b(docker|podman)\s+run\b.*\bstenometer\b|\bgo run \S*cmd/server\b`)

// saysProxyCount matches TRUSTED_PROXY_COUNT set to a number, in the notations of the files above.
var saysProxyCount = regexp.MustCompile(`(?m)^[^#\n]*\bTRUSTED_PROXY_COUNT["']?\s*(\?=|=|:)\s*["']?[0-9]+\b`)

func TestEveryFileThatStartsTheServerSaysHowManyProxiesStandInFront(t *testing.T) {
	t.Parallel()
	var found []string
	walkRepository(t, func(name string) {
		if isProse(name) || !startsServer.Match(readFile(t, name)) || mentions[name] != "" {
			return
		}
		found = append(found, name)
		if !slices.Contains(starters, name) {
			t.Errorf("%s starts the server and is not on the list of files that do", name)
		}
	})
	for _, name := range starters {
		if !slices.Contains(found, name) {
			t.Errorf("%s is on the list and does not start the server", name)
			continue
		}
		if !saysProxyCount.Match(readFile(t, name)) {
			t.Errorf("%s starts the server and does not set TRUSTED_PROXY_COUNT to a number", name)
		}
	}
}

// isProse: documents show commands, and Go starts the server only in tests and in cmd/server itself.
func isProse(name string) bool {
	return slices.Contains([]string{".md", ".go", ".golden"}, path.Ext(name)) || strings.HasPrefix(name, "LICENSE")
}

// TestDeploymentFilesAreRecognized is the proof that the test above can fail.
func TestDeploymentFilesAreRecognized(t *testing.T) {
	t.Parallel()
	for _, start := range []string{
		"ENTRYPOINT [\"/usr/local/bin/server\"]\n",
		"[Service]\nExecStart=/usr/bin/server serve\n",
		"services:\n  app:\n    image: ghcr.io/stenometer/stenometer:1\n",
		"#!/bin/sh\nexec ./bin/server serve --role web\n",
		"command: [\"server\", \"serve\"]\n",
		"docker run -p 8899:8899 stenometer\n",
	} {
		if !startsServer.MatchString(start) {
			t.Errorf("%q starts the server and is not recognized", start)
		}
	}
	for text, want := range map[string]bool{
		"ENV TRUSTED_PROXY_COUNT=0":                   true,
		"export TRUSTED_PROXY_COUNT ?= 0":             true,
		"      TRUSTED_PROXY_COUNT: \"1\"":            true,
		"      - TRUSTED_PROXY_COUNT=1":               true,
		"Environment=TRUSTED_PROXY_COUNT=1":           true,
		"# TRUSTED_PROXY_COUNT=0":                     false,
		"ENV TRUSTED_PROXY_COUNT=":                    false,
		"TRUSTED_PROXY_COUNT: ${TRUSTED_PROXY_COUNT}": false,
		"TRUSTED_PROXY_NETWORKS=10.0.0.0/8":           false,
	} {
		if got := saysProxyCount.MatchString(text); got != want {
			t.Errorf("%q sets TRUSTED_PROXY_COUNT: %v, want %v", text, got, want)
		}
	}
}
