package config

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	secretKeyFile  = "secret.key"
	secretKeyBytes = 32
)

// EnsureSecretKey fills in an empty SecretKey from DATA_DIR/secret.key, which it makes of 32 random bytes at the first
// start (mode 0600; the folder, if it has to be made, 0700). Processes that start at once end up with the same key. It
// does nothing where SECRET_KEY is set.
func EnsureSecretKey(c *Config) error {
	if c.SecretKey.IsSet() {
		return nil
	}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	path := filepath.Join(c.DataDir, secretKeyFile)
	key, err := readSecretKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeSecretKey(c.DataDir, path); err != nil {
			return fmt.Errorf("make the secret key: %w", err)
		}
		key, err = readSecretKey(path)
	}
	if err != nil {
		return fmt.Errorf("read the secret key: %w", err)
	}
	c.SecretKey = NewSecret(key)
	return nil
}

func readSecretKey(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(content))
	if raw, err := base64.StdEncoding.DecodeString(key); err != nil || len(raw) != secretKeyBytes {
		return "", fmt.Errorf("%s is damaged: it must hold %d bytes in base64; restore it from a backup, or remove it and lose what it encrypted", path, secretKeyBytes)
	}
	return key, hideFromOthers(path)
}

// hideFromOthers takes away what a copy or a restored backup may have let other users do with the file.
func hideFromOthers(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return os.Chmod(path, 0o600)
}

// makeSecretKey writes a whole file under a name of its own and links it to its place: a link never replaces another
// process's key, and nobody reads half a key.
func makeSecretKey(folder, path string) (err error) {
	raw := make([]byte, secretKeyBytes)
	if _, err := rand.Read(raw); err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, secretKeyFile+".*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	_, err = file.WriteString(base64.StdEncoding.EncodeToString(raw) + "\n")
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
