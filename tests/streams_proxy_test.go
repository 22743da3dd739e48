package tests

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/servertest"
)

// A proxy's configuration has nothing about buffers: theirs are its defaults. Each listens on a socket of its own.
const (
	nginxConfiguration = `
daemon off; master_process off; pid %[1]s/pid; error_log stderr;
events {}
http {
	access_log off; client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	gzip on; gzip_types *; gzip_min_length 0;
	server { listen unix:%[1]s/socket; location / { proxy_pass %[2]s; } }
}`
	caddyConfiguration = `
{
	admin off
	auto_https off
}
http://proxy {
	bind unix/%[1]s/socket
	encode gzip
	reverse_proxy %[2]s
}`
)

// proxied starts a proxy in front of an address and returns the way to it.
func proxied(t *testing.T, configuration, address string, command ...string) *http.Transport {
	t.Helper()
	folder, err := os.MkdirTemp("", "proxy-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	file := filepath.Join(folder, "configuration")
	if err := os.WriteFile(file, fmt.Appendf(nil, configuration, folder, address), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range command {
		command[i] = strings.ReplaceAll(command[i], "FILE", file)
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	program, err := exec.LookPath(command[0])
	if err != nil {
		program = filepath.Join("/usr/sbin", command[0]) // where Debian has what it takes for an administrator's
	}
	proxy := exec.Command(program, command[1:]...)
	proxy.Env = []string{"HOME=" + folder, "XDG_DATA_HOME=" + folder, "XDG_CONFIG_HOME=" + folder, "PATH=" + os.Getenv("PATH")}
	proxy.Stdout, proxy.Stderr, proxy.SysProcAttr = log, log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := proxy.Start(); err != nil {
		t.Fatalf("start %s, which scripts/install-dependencies test installs: %v", command[0], err)
	}
	t.Cleanup(func() {
		_ = proxy.Process.Kill()
		_ = proxy.Wait()
	})
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(folder, "socket"))
	}
	servertest.Eventually(t, 20*time.Second, command[0]+" listens", func() bool {
		conn, err := dial(t.Context(), "", "")
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return &http.Transport{Proxy: nil, DisableCompression: true, DisableKeepAlives: true, DialContext: dial}
}

// Rule: behind a proxy as it comes, with buffers and compression, the first piece is with its client within a second of
// the provider's saying it, and what the headers say reaches it (H-019).
func TestProxiesPassStreamsOn(t *testing.T) {
	t.Parallel()
	r := streamRig(t, "", nil)
	client, id := r.payer(t, "behind", "none")
	for name, way := range map[string]*http.Transport{
		"nginx": proxied(t, nginxConfiguration, r.process.URL, "nginx", "-c", "FILE"),
		"Caddy": proxied(t, caddyConfiguration, r.process.URL, "caddy", "run", "--config", "FILE", "--adapter", "caddyfile"),
	} {
		for _, packed := range []string{"gzip", "identity"} {
			t.Run(name+" "+packed, func(t *testing.T) { passedOn(t, r, client, id, name, packed, way) })
		}
	}
}

func passedOn(t *testing.T, r *moneyRig, client *servertest.Client, id int64, name, packed string, way *http.Transport) {
	t.Helper()
	var later gate
	var said atomic.Pointer[time.Time]
	reply := until(1, later.open)
	waits := reply.Gate
	reply.Gate = func(ctx context.Context, piece int) bool {
		if now := time.Now(); piece == 0 {
			said.Store(&now)
		}
		return waits(ctx, piece)
	}
	r.model.Script(reply)
	behind := servertest.ClientOf(t, "http://proxy")
	behind.Header = client.Header
	stream := opensStream(t, way, behind, at("/api/v1/recordings/%d/chat", id), object{"message": "What?", "stream": true}, "Accept-Encoding", packed).begun()
	if isPacked := stream.response.Header.Get("Content-Encoding") == "gzip"; isPacked {
		unpacked, err := gzip.NewReader(stream.lines)
		if err != nil {
			t.Fatal(err)
		}
		stream.lines = bufio.NewReader(unpacked)
	} else if name == "nginx" && packed == "gzip" {
		t.Error("the proxy does not pack: that it could is not tried")
	}
	first := stream.event()
	if took := time.Since(*said.Load()); first["delta"] != "bees" || took > time.Second {
		t.Errorf("the first event is %v after %v", first, took)
	}
	later.opened.Store(true)
	if events, text := stream.rest(); text != " bees" || events[len(events)-1]["end_of_stream"] != true {
		t.Errorf("then came %v", events)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "private, no-cache, no-transform", "Content-Length": "",
	} {
		if got := stream.response.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
