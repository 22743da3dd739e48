package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/servertest"
)

// readerPage reads a stream with the browser's own EventSource and tells what it was given. The end of a stream is an
// error to an EventSource: it would ask again.
const readerPage = `<!doctype html><script>
const seen = {messages: [], errors: 0}, source = new EventSource("/relay");
const done = () => { source.close(); fetch("/seen", {method: "POST", body: JSON.stringify(seen)}); };
source.onmessage = (event) => {
	seen.messages.push(event.data);
	if (event.data.includes("end_of_stream") || event.data === "[DONE]") done();
};
source.onerror = () => { seen.errors++; done(); };
</script>`

// Rule: heartbeats are nothing to who reads streams. A browser's EventSource, which can neither post nor send a token,
// is given our bytes as they are: it takes the answer with the silence in its middle for what the model said (H-016).
func TestABrowserReadsAStreamWithHeartbeats(t *testing.T) {
	t.Parallel()
	r := streamRig(t, "", servertest.Environment{"AI_STREAM_HEARTBEAT_SECONDS": "0.2"})
	client, id := r.payer(t, "browser", "none")
	var later gate
	r.model.Script(until(1, later.open))
	stream := asksForStream(t, client, id, nil).begun()
	seen, relayed := make(chan []byte, 1), make(chan string, 1)
	pages := http.NewServeMux()
	pages.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, readerPage)
	})
	pages.HandleFunc("GET /relay", func(w http.ResponseWriter, _ *http.Request) {
		time.AfterFunc(time.Second, func() { later.opened.Store(true) }) // the silence, of which the browser hears at least this
		w.Header().Set("Content-Type", stream.response.Header.Get("Content-Type"))
		var raw bytes.Buffer
		for some, err := make([]byte, 4096), error(nil); err == nil; {
			var n int
			n, err = stream.lines.Read(some)
			raw.Write(some[:n])
			_, _ = w.Write(some[:n])
			_ = http.NewResponseController(w).Flush()
		}
		relayed <- raw.String()
	})
	pages.HandleFunc("POST /seen", func(_ http.ResponseWriter, r *http.Request) {
		told, _ := io.ReadAll(r.Body)
		seen <- told
	})
	server := httptest.NewServer(pages)
	t.Cleanup(server.Close)
	browse(t, server.URL)

	var told struct {
		Messages []string
		Errors   int
	}
	select {
	case text := <-seen:
		if err := json.Unmarshal(text, &told); err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the browser has not told what it read")
	}
	raw := <-relayed
	if beats := strings.Count(raw, "\n: heartbeat\n"); beats < 3 || strings.Contains(raw, ": heartbeat\n\n") {
		t.Errorf("a silence of a second with a heartbeat every 0.2 is %q", raw)
	}
	if want := []string{`{"delta":"bees"}`, `{"delta":" bees"}`, `{"end_of_stream":true}`}; strings.Join(told.Messages, "\n") != strings.Join(want, "\n") || told.Errors != 0 {
		t.Errorf("the browser was given %q and %d errors, want %q", told.Messages, told.Errors, want)
	}
}

// browse opens a page in a browser that ends with the test.
func browse(t *testing.T, address string) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	browser := exec.CommandContext(ctx, "chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--no-proxy-server",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-port=0", address) // without a port it goes as soon as the page is there
	browser.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	browser.Cancel = func() error { return syscall.Kill(-browser.Process.Pid, syscall.SIGKILL) }
	if err := browser.Start(); err != nil {
		end()
		t.Fatalf("start the browser, which scripts/install-dependencies test installs: %v", err)
	}
	t.Cleanup(func() {
		end()
		_ = browser.Wait()
	})
}
