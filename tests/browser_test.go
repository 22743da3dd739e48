package tests

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/servertest"
)

// tab is one page of a real browser, driven by its own protocol over a pair of pipes. It finds the server of the test
// under publicHost.
type tab struct {
	t       *testing.T
	ask     *os.File
	answers *os.File
	lines   *bufio.Reader
	session string
	asked   int
}

func openTab(t *testing.T, process *servertest.Process) *tab {
	t.Helper()
	theirs, ask, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, said, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	browser := exec.CommandContext(ctx, "chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--no-proxy-server", "--remote-debugging-pipe",
		"--user-data-dir="+t.TempDir(), "--host-resolver-rules=MAP "+publicHost+":80 "+strings.TrimPrefix(process.URL, "http://"))
	browser.ExtraFiles = []*os.File{theirs, said}
	browser.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	browser.Cancel = func() error { return syscall.Kill(-browser.Process.Pid, syscall.SIGKILL) }
	if err := browser.Start(); err != nil {
		end()
		t.Fatalf("start the browser, which scripts/install-dependencies test installs: %v", err)
	}
	_, _ = theirs.Close(), said.Close()
	t.Cleanup(func() {
		end()
		_ = browser.Wait()
		_, _ = ask.Close(), answers.Close()
	})
	b := &tab{t: t, ask: ask, answers: answers, lines: bufio.NewReader(answers)}
	target := b.command("Target.createTarget", map[string]any{"url": "about:blank"})["targetId"]
	b.session, _ = b.command("Target.attachToTarget", map[string]any{"targetId": target, "flatten": true})["sessionId"].(string)
	return b
}

// command is one call of the protocol, and its result; what the browser tells of itself meanwhile is passed over.
func (b *tab) command(method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.asked++
	call := map[string]any{"id": b.asked, "method": method, "params": params}
	if b.session != "" {
		call["sessionId"] = b.session
	}
	written, err := json.Marshal(call)
	if err == nil {
		_, err = b.ask.Write(append(written, 0))
	}
	if err == nil {
		err = b.answers.SetReadDeadline(time.Now().Add(time.Minute))
	}
	if err != nil {
		b.t.Fatalf("ask the browser: %v", err)
	}
	for {
		line, err := b.lines.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("%s: the browser does not answer: %v", method, err)
		}
		var answer struct {
			ID     int
			Result map[string]any
		}
		if err := json.Unmarshal(line[:len(line)-1], &answer); err != nil {
			b.t.Fatal(err)
		}
		if answer.ID == b.asked {
			return answer.Result
		}
	}
}

// open goes to an address as if it had been typed.
func (b *tab) open(path string) {
	b.t.Helper()
	b.command("Page.navigate", map[string]any{"url": "about:blank"}) // an address that differs behind # alone would load nothing
	b.command("Page.navigate", map[string]any{"url": "http://" + publicHost + path})
}

// value is what an expression is in the page; nil where it cannot be told, as between two pages.
func (b *tab) value(expression string) any {
	b.t.Helper()
	result, _ := b.command("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true})["result"].(map[string]any)
	return result["value"]
}

// await waits until an expression is true in the page.
func (b *tab) await(what, expression string) {
	b.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) { //nolint:forbidigo // looks again, up to a deadline
		if b.value(expression) == true {
			return
		}
	}
	b.t.Fatalf("%s: %s is not so at %v:\n%v", what, expression, b.value("location.href"), b.value("document.body.innerText"))
}

// at waits for a page to be there, and for a sentence on it.
func (b *tab) at(path, sentence string) {
	b.t.Helper()
	wanted, _ := json.Marshal([]string{"http://" + publicHost + path, sentence})
	b.await(path, "(([at, said]) => location.href === at && document.readyState === 'complete' && document.body.innerText.includes(said))("+string(wanted)+")")
}

// fill types into the fields of a form and presses its button.
func (b *tab) fill(form string, fields map[string]string) {
	b.t.Helper()
	written, _ := json.Marshal(map[string]any{"form": form, "fields": fields})
	b.await("the form "+form, `(({form, fields}) => {
		const found = document.getElementById(form);
		if (document.readyState !== "complete" || !found || found.hidden) return false;
		for (const [name, text] of Object.entries(fields)) found.elements[name].value = text;
		found.querySelector("button").click();
		return true;
	})(`+string(written)+`)`)
}
