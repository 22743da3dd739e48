package config_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stenometer/stenometer/config"
)

func dataDir(t *testing.T, folder string) *config.Config {
	t.Helper()
	return load(t, "DATA_DIR="+folder)
}

// The key is made once, hidden from other users, and read back at every later start.
func TestSecretKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	first, second := dataDir(t, folder), dataDir(t, folder)
	for _, c := range []*config.Config{first, second} {
		if err := config.EnsureSecretKey(c); err != nil {
			t.Fatal(err)
		}
	}
	if first.SecretKey.Reveal() != second.SecretKey.Reveal() || len(first.SecretKey.Reveal()) < 32 {
		t.Error("the second start has another key")
	}
	for path, mode := range map[string]os.FileMode{folder: 0o700 | os.ModeDir, filepath.Join(folder, "secret.key"): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != mode {
			t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// Processes that start at the same moment end up with one key.
func TestSecretKeyOfProcessesThatStartAtOnce(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	const processes = 16
	keys := make([]string, processes)
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range processes {
		c := dataDir(t, folder)
		done.Go(func() {
			start.Wait()
			if err := config.EnsureSecretKey(c); err != nil {
				t.Error(err)
			}
			keys[i] = c.SecretKey.Reveal()
		})
	}
	start.Done()
	done.Wait()
	for _, key := range keys {
		if key == "" || key != keys[0] {
			t.Fatalf("several keys: %v", keys)
		}
	}
}

// A key that is set is used, and none is made.
func TestSecretKeyOfTheOperator(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	c := load(t, "DATA_DIR="+folder, "SECRET_KEY=0123456789abcdef")
	if err := config.EnsureSecretKey(c); err != nil || c.SecretKey.Reveal() != "0123456789abcdef" {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(folder); len(entries) > 0 {
		t.Errorf("made %v", entries)
	}
}

// A damaged key stops the start: a new one would make what the old one encrypted unreadable. One that others may read
// is hidden from them.
func TestSecretKeyFileIsCheckedAtEveryStart(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "c2hvcnQ=", "not base64 at all, though it is long enough to be it"} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "secret.key"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := config.EnsureSecretKey(dataDir(t, folder)); err == nil {
			t.Errorf("%q is taken for a key", content)
		}
	}
	folder := t.TempDir()
	if err := config.EnsureSecretKey(dataDir(t, folder)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "secret.key")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := config.EnsureSecretKey(dataDir(t, folder)); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
