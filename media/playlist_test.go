package media

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A playlist under an audio name makes ffmpeg neither connect nor open another file, also where the kernel gives no
// network namespace: the lists of formats and protocols must hold alone.
func TestPlaylistsAreNotFollowed(t *testing.T) {
	t.Parallel()
	m := sandbox(t)
	m.isolation = isolation{}
	dir := t.TempDir()
	for _, name := range []string{"neighbor.mp3", "neighbor.ts"} {
		tone := []string{"-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", "sine=duration=2", filepath.Join(dir, name)}
		if out, err := exec.Command("ffmpeg", tone...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	address, connected := listen(t)
	target := "http://" + address + "/secret.mp3"
	for name, content := range map[string]string{
		"hls":             "#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n" + target + "\n#EXT-X-ENDLIST\n",
		"hls neighbor":    "#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\nneighbor.ts\n#EXT-X-ENDLIST\n",
		"hls absolute":    "#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\nfile://" + dir + "/neighbor.ts\n#EXT-X-ENDLIST\n",
		"concat":          "ffconcat version 1.0\nfile " + target + "\n",
		"concat neighbor": "ffconcat version 1.0\nfile neighbor.mp3\n",
		"concat password": "ffconcat version 1.0\nfile 'file:///etc/passwd'\n",
		"dash":            `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period><AdaptationSet><Representation id="1" bandwidth="1"><BaseURL>` + target + `</BaseURL></Representation></AdaptationSet></Period></MPD>`,
		"a bare address":  target + "\n",
	} {
		path := filepath.Join(dir, name+".m4a")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if info, err := m.Probe(context.Background(), path); !errors.Is(err, ErrNotMedia) {
			t.Errorf("%s: Probe gave %+v, %v; want ErrNotMedia", name, info, err)
		}
		if length, err := m.Duration(context.Background(), path); !errors.Is(err, ErrNotMedia) {
			t.Errorf("%s: Duration gave %v, %v; want ErrNotMedia", name, length, err)
		}
	}
	select {
	case <-connected:
		t.Error("a connection was made")
	default:
	}
}

// listen accepts and drops connections; each one is told on the channel.
func listen(t *testing.T) (address string, connected <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen, done := make(chan struct{}, 64), make(chan struct{})
	go func() {
		defer close(done)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			connection.Close()
			seen <- struct{}{}
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
	})
	return listener.Addr().String(), seen
}
