package tests

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/servertest"
	"github.com/stenometer/stenometer/webhooks"
)

// delivered is one request as a receiver got it, in the form that the verifiers read.
type delivered struct {
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// mailbox is a receiver on loopback that keeps what it is sent.
type mailbox struct {
	*httptest.Server

	mu   sync.Mutex // protects what follows
	kept []delivered
}

func newMailbox(t *testing.T) *mailbox {
	t.Helper()
	m := &mailbox{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.kept = append(m.kept, delivered{"", lower(r.Header), string(body)})
	}))
	t.Cleanup(m.Close)
	return m
}

func lower(header http.Header) map[string]string {
	headers := make(map[string]string, len(header))
	for name := range header {
		headers[strings.ToLower(name)] = header.Get(name)
	}
	return headers
}

func (m *mailbox) all() []delivered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]delivered(nil), m.kept...)
}

// Rule: what a webhook is sent is taken by the packages that others verify with, and by the guide's examples; a changed
// byte, an old timestamp and a wrong secret are refused, and while the secret changes both are right.
func TestReceiversVerifyWhatTheyAreSent(t *testing.T) {
	t.Parallel()
	receiver := newMailbox(t)
	_, client := signedUp(t, quiet(t).With(servertest.Environment{"WEBHOOK_INTRANET_HOST_ALLOWLIST": `127\.0\.0\.1`, "WEBHOOK_DISPATCHER_INTERVAL_SECONDS": "0.05"}))
	made := client.Send(http.MethodPost, "/api/v1/webhooks", map[string]any{
		"name": "mine", "url": receiver.URL, "allow_http": true, "events": []string{"recording.created", "recording.updated"},
	}).JSON(t)
	first, _ := made["secret"].(string)
	webhook := recordingID(t, made)
	recording := mustUpload(t, client, tone(t))
	servertest.Eventually(t, time.Minute, "the event arrives", func() bool { return len(receiver.all()) == 1 })
	rotated := client.Send(http.MethodPost, at("/api/v1/webhooks/%d/rotate-secret", webhook), nil).JSON(t)
	second, _ := rotated["secret"].(string)
	if answer := client.Send(http.MethodPatch, at("/api/v1/recordings/%d", recording), map[string]any{"title": "Ünïcode <&> 🎙"}); answer.Status != http.StatusOK {
		t.Fatal(answer)
	}
	servertest.Eventually(t, time.Minute, "the second event arrives", func() bool { return len(receiver.all()) >= 2 })
	kept := receiver.all()
	before, during := kept[0], kept[1]

	changed, old, unsigned := before, before, before
	changed.Body = strings.Replace(before.Body, "recording", "recorded.", 1)
	stale, err := webhooks.Headers(before.Headers["webhook-id"], "recording.created", 1, []byte(before.Body), []string{first}, time.Now().Add(-6*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	old.Headers, unsigned.Headers = lower(stale), map[string]string{}
	with := func(d delivered, secret string) delivered { d.Secret = secret; return d }
	cases := []struct {
		name  string
		given delivered
		taken bool
	}{
		{"as it was sent", with(before, first), true},
		{"during the change, by the old secret", with(during, first), true},
		{"during the change, by the new secret", with(during, second), true},
		{"by a wrong secret", with(before, second), false},
		{"with a changed byte", with(changed, first), false},
		{"with an old timestamp", with(old, first), false},
		{"without a signature", with(unsigned, first), false},
	}
	given := make([]delivered, len(cases))
	for i, c := range cases {
		given[i] = c.given
	}
	input, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	for name, results := range verdicts(t, input) {
		if len(results) != len(cases) {
			t.Errorf("%s came to %v", name, results)
			continue
		}
		for i, c := range cases {
			if results[i] != c.taken {
				t.Errorf("%s, %s: taken is %v", name, c.name, results[i])
			}
		}
	}
	if !strings.Contains(during.Body, "<&> 🎙") || !strings.HasPrefix(during.Headers["speakr-signature-v2"], "t=") {
		t.Errorf("sent %+v", during)
	}
}

// verdicts are what each verifier makes of the input.
func verdicts(t *testing.T, input []byte) map[string][]bool {
	t.Helper()
	var byPackage []struct{ Standardwebhooks, Svix bool }
	command := node(t, "webhooks.mjs")
	command.Dir = "clients"
	run(t, command, input, &byPackage)
	results := map[string][]bool{}
	for _, one := range byPackage {
		results["standardwebhooks"] = append(results["standardwebhooks"], one.Standardwebhooks)
		results["svix"] = append(results["svix"], one.Svix)
	}
	folder := t.TempDir()
	libraries, err := filepath.Abs(filepath.Join("clients", "node_modules"))
	if err == nil {
		err = os.Symlink(libraries, filepath.Join(folder, "node_modules"))
	}
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("verify.mjs", exampleOf(t, "js"))
	write("main.mjs", `import fs from "node:fs"; import { verify } from "./verify.mjs";
console.log(JSON.stringify(JSON.parse(fs.readFileSync(0, "utf8")).map((one) => verify(one.secret, one.headers, one.body))));`)
	python := write("main.py", exampleOf(t, "python")+`
import json, sys
print(json.dumps([verify(one["secret"], one["headers"], one["body"].encode()) for one in json.load(sys.stdin)]))
`)
	verifier := write("verify.go", exampleOf(t, "go"))
	driver := write("main.go", goDriver)
	javascript := node(t, "main.mjs")
	javascript.Dir = folder
	for name, command := range map[string]*exec.Cmd{
		"the example for Node":   javascript,
		"the example for Python": exec.CommandContext(t.Context(), "python3", python),
		"the example for Go":     exec.CommandContext(t.Context(), "go", "run", driver, verifier),
	} {
		var taken []bool
		run(t, command, input, &taken)
		results[name] = taken
	}
	return results
}

// exampleOf is the guide's example in a language.
func exampleOf(t *testing.T, language string) string {
	t.Helper()
	_, rest, _ := strings.Cut(string(readFile(t, "docs/user-guide/webhooks.md")), "```"+language+"\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatalf("the page has no example in %s", language)
	}
	return example
}

func run(t *testing.T, command *exec.Cmd, input []byte, into any) {
	t.Helper()
	var complaints bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(input), &complaints
	printed, err := command.Output()
	if err == nil {
		err = json.Unmarshal(printed, into)
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", command.Args, err, printed, complaints.String())
	}
}

const goDriver = `package main

import (
	"encoding/json"
	"net/http"
	"os"
)

func main() {
	var given []struct {
		Secret, Body string
		Headers      map[string]string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		panic(err)
	}
	taken := make([]bool, len(given))
	for i, one := range given {
		headers := http.Header{}
		for name, value := range one.Headers {
			headers.Set(name, value)
		}
		taken[i] = verify(one.Secret, headers, []byte(one.Body))
	}
	if err := json.NewEncoder(os.Stdout).Encode(taken); err != nil {
		panic(err)
	}
}
`
