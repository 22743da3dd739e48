package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// readersPassword is the one that the pages tell their readers to type.
const readersPassword = "correct horse battery"

// curlBlock is an example of a page: commands with curl, and the answer that the page shows, if it shows one.
type curlBlock struct {
	line     int
	commands string
	// shown is the fenced block that follows under the same heading, where it is an answer; kind is json or text.
	kind, shown string
}

// allowsRefusal tells whether the reader is to see a status, which may be one of a refusal.
func (b curlBlock) allowsRefusal() bool { return strings.Contains(b.commands, "%{http_code}") }

// Rule: every example with curl in the README and in the guide works as printed, and its answer has the form that the
// page shows. The examples of a page run in one shell, in their order, as its reader would type them.
func TestCurlExamplesWorkAsPrinted(t *testing.T) {
	t.Parallel()
	tested := 0
	for _, page := range pagesForReaders(t) {
		blocks := curlBlocks(string(readFile(t, page)))
		if len(blocks) == 0 {
			continue
		}
		tested++
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			runPage(t, page, blocks)
		})
	}
	if tested < 10 {
		t.Errorf("%d pages have examples with curl, want at least 10: are they still found?", tested)
	}
}

// pagesForReaders are the documents that show commands to users.
func pagesForReaders(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		name, err := filepath.Rel(root, path)
		pages = append(pages, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// isExample is true of commands that a reader types while the server runs: requests, the token that they need, and budgets
// that are set beside them.
func isExample(commands string) bool {
	return strings.Contains(commands, "curl") || strings.Contains(commands, "bin/server budget set") || strings.HasPrefix(commands, "ADMIN_TOKEN=")
}

// curlBlocks finds the fenced blocks of shell commands that are examples.
func curlBlocks(page string) []curlBlock {
	var blocks []curlBlock
	var fence string
	var inside []string
	expectsAnswer := false // the last fence was an example, and no heading has come since
	for i, line := range strings.Split(page, "\n") {
		mark, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && fence == "":
			fence, inside = mark+"\n", nil
		case isFence:
			kind, text := strings.TrimSpace(fence), strings.Join(inside, "\n")
			switch {
			case (kind == "sh" || kind == "console") && isExample(text):
				blocks = append(blocks, curlBlock{line: i - len(inside) + 1, commands: text})
				expectsAnswer = true
			case expectsAnswer && (kind == "json" || kind == "text"):
				last := &blocks[len(blocks)-1]
				last.kind, last.shown = kind, text
				expectsAnswer = false
			default:
				expectsAnswer = false
			}
			fence = ""
		case fence != "":
			inside = append(inside, line)
		case strings.HasPrefix(line, "#"):
			expectsAnswer = false
		}
	}
	return blocks
}

// runPage runs the examples of one page against a server of its own.
func runPage(t *testing.T, page string, blocks []curlBlock) {
	folder := t.TempDir()
	environment := servertest.Fresh(t).With(servertest.Environment{
		"ASR_BASE_URL": talkingProvider(t).ASRBaseURL(), "PUBLIC_URL": "https://notes.example.org",
		"TEXT_MODEL_BASE_URL": writingModel(t).BaseURL(), "TEXT_MODEL_NAME": "gpt-4o-mini", "AUTO_SUMMARIZATION": "true",
		"TRANSCRIPTION_MODEL": "whisper-1", "ENABLE_INQUIRE_MODE": "true",
	})
	process := servertest.Start(t, environment)
	variables := maps.Clone(environment)
	variables["STENOMETER_URL"] = process.URL
	// Whoever follows that page makes the account and the token by its own examples.
	if filepath.Base(page) != "getting-started.md" {
		servertest.MustCommand(t, environment, readersPassword, "user", "create", "--email", "ada@example.org", "--username", "ada")
		variables["STENOMETER_TOKEN"] = servertest.CreateToken(t, environment, "ada@example.org")
	}
	placeFiles(t, folder)
	output, err := runShell(t, folder, pageScript(folder, blocks), variables)
	for i, block := range blocks {
		printed, failed := os.ReadFile(answerFile(folder, i))
		if failed != nil {
			break // the shell did not come so far
		}
		if _, failed := os.Stat(answerFile(folder, i+1)); err != nil && failed != nil {
			t.Fatalf("%s:%d: the example failed: %v\n%s\n%s\nprinted: %s", page, block.line, err, block.commands, output, printed)
		}
		if err := printedAsShown(block, printed); err != nil {
			t.Errorf("%s:%d: %v", page, block.line, err)
		}
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", page, err, output)
	}
}

// talkingProvider is a transcription service that always hears two people.
func talkingProvider(t *testing.T) *asrtest.Server {
	provider := asrtest.New(t)
	provider.Always(func(asrtest.Call) asrtest.Reply {
		return asrtest.Segments(
			asrtest.Segment{Start: 0, End: 4, Text: "Good morning, here are the budget figures.", Speaker: "SPEAKER_00"},
			asrtest.Segment{Start: 5, End: 9, Text: "Thank you. I send the minutes by Friday.", Speaker: "SPEAKER_01"},
		)
	})
	return provider
}

// writingModel is a text model that writes what the pages show: of speakers or events, which are asked for as JSON, of
// a chat with its citation, and else a sentence.
func writingModel(t *testing.T) *llmtest.Server {
	model := llmtest.New(t)
	model.Always(func(call llmtest.Call) llmtest.Reply {
		switch {
		case call.JSON:
			return llmtest.Says(`{"SPEAKER_00": "Ada", "SPEAKER_01": ""}`)
		case strings.Contains(string(call.Body), "a person's recorded conversations"):
			return llmtest.Says("By Friday " + regexp.MustCompile(`\[[^\[\]]*\]\(/recordings/[^)]*\)`).FindString(string(call.Body)) + ".")
		case strings.Contains(string(call.Body), "You answer questions"):
			return llmtest.Says(`By Friday [S1 "I send the minutes by Friday"].`)
		}
		return llmtest.Says("Minutes by Friday")
	})
	return model
}

// placeFiles puts what the pages name where their reader would have it, and the settings by which curl ends with an
// error wherever the server refuses, which the pages need not say.
func placeFiles(t *testing.T, folder string) {
	t.Helper()
	source, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"server": filepath.Join(source, "server"), "speech.flac": filepath.Join(source, "server", "demodata", "speech.flac"),
		"bin/server": servertest.Binary(t),
	} {
		path := filepath.Join(folder, link)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(to, path)); err != nil {
			t.Fatal(err)
		}
	}
	for name, settings := range map[string]string{"strict": "fail\nsilent\nshow-error\n", "lenient": "silent\nshow-error\n"} {
		path := filepath.Join(folder, "curl-"+name, ".curlrc")
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(settings), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
}

func answerFile(folder string, i int) string {
	return filepath.Join(folder, fmt.Sprintf("answer-%02d", i))
}

// pageScript is the page's examples, each with what it prints in a file of its own.
func pageScript(folder string, blocks []curlBlock) string {
	var text strings.Builder
	text.WriteString("set -eo pipefail\n")
	for i, block := range blocks {
		how := "strict"
		if block.allowsRefusal() {
			how = "lenient"
		}
		fmt.Fprintf(&text, "export CURL_HOME=%q\nexec >%q\n%s\n", filepath.Join(folder, "curl-"+how), answerFile(folder, i), block.commands)
	}
	return text.String()
}

// runShell runs the script to its end and returns what it wrote to its standard error.
func runShell(t *testing.T, folder, script string, variables servertest.Environment) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var complaints bytes.Buffer
	command := exec.CommandContext(ctx, "bash", "-c", script)
	command.Dir = folder
	command.Stderr = &complaints
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "NO_PROXY=*", "TRUSTED_PROXY_COUNT=0"}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		command.Env = append(command.Env, name+"="+variables[name])
	}
	err := command.Run()
	return complaints.String(), err
}

// printedAsShown compares what an example has printed with what the page shows: text as it stands, JSON by its members.
func printedAsShown(block curlBlock, printed []byte) error {
	switch {
	case block.kind == "text":
		if got := strings.TrimSpace(string(printed)); got != strings.TrimSpace(block.shown) {
			return fmt.Errorf("the page shows %q, the example prints %q", block.shown, got)
		}
	case block.kind == "json":
		want, err := jsonValues(block.shown)
		if err != nil {
			return fmt.Errorf("what the page shows is no JSON: %w", err)
		}
		got, err := jsonValues(string(printed))
		if err != nil {
			return fmt.Errorf("the example prints no JSON: %w: %.300s", err, printed)
		}
		if err := sameMembers("the answer", want, got); err != nil {
			return fmt.Errorf("%w\nthe example prints %.1000s", err, printed)
		}
	case block.allowsRefusal():
		return errors.New("the example prints a status, and the page does not show which")
	}
	return nil
}

// jsonValues reads all JSON values of a text.
func jsonValues(text string) ([]any, error) {
	var all []any
	decoder := json.NewDecoder(strings.NewReader(text))
	for {
		var value any
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
}

// sameMembers compares the members of two values, not what they hold. A list is shown by as many elements as there are.
func sameMembers(where string, want, got any) error {
	switch want := want.(type) {
	case map[string]any:
		object, is := got.(map[string]any)
		shown, has := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(object))
		if !is || !slices.Equal(shown, has) {
			return fmt.Errorf("%s has the members %v, the page shows %v", where, has, shown)
		}
		for _, name := range shown {
			if err := sameMembers(where+"."+name, want[name], object[name]); err != nil {
				return err
			}
		}
	case []any:
		list, is := got.([]any)
		if !is || len(list) != len(want) {
			return fmt.Errorf("%s is %v, the page shows %d elements", where, got, len(want))
		}
		for i := range want {
			if err := sameMembers(fmt.Sprintf("%s[%d]", where, i), want[i], list[i]); err != nil {
				return err
			}
		}
	default:
		if fmt.Sprintf("%T", want) != fmt.Sprintf("%T", got) {
			return fmt.Errorf("%s is %v, the page shows %v", where, got, want)
		}
	}
	return nil
}
