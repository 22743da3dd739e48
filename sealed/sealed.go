// Package sealed encrypts what is stored and must be read again: the secrets that others share with us. Each purpose has
// a key of its own, derived from SECRET_KEY, and what was sealed opens only for the purpose and the row for which it was
// sealed: who can write to the database cannot move one row's secret to another.
package sealed

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// version begins what is sealed in the present way, so that another can come beside it.
const version = "v1."

// keyBytes are those of AES-256.
const keyBytes = 32

// ErrCannotOpen is the error of what was not sealed with this key, for this purpose and row, or was changed since. It
// does not tell which.
var ErrCannotOpen = errors.New("the secret cannot be opened with the present SECRET_KEY")

// Keys derives keys from SECRET_KEY. It is safe for concurrent use.
type Keys struct{ secret []byte }

// New makes Keys of SECRET_KEY, which must not be empty.
func New(secretKey string) (*Keys, error) {
	if secretKey == "" {
		return nil, errors.New("seal secrets: SECRET_KEY is empty")
	}
	return &Keys{[]byte(secretKey)}, nil
}

// Seal encrypts a text for one row of one purpose. The same text is sealed differently each time.
func (k *Keys) Seal(purpose string, row int64, text string) (string, error) {
	aead, err := k.aead(purpose)
	if err != nil {
		return "", err
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(text)+aead.Overhead())
	rand.Read(nonce)
	return version + base64.RawURLEncoding.EncodeToString(aead.Seal(nonce, nonce, []byte(text), bound(purpose, row))), nil
}

// Open decrypts what Seal made for the same row of the same purpose.
func (k *Keys) Open(purpose string, row int64, text string) (string, error) {
	encoded, known := strings.CutPrefix(text, version)
	if !known {
		return "", fmt.Errorf("open a secret of %s: %w", purpose, ErrCannotOpen)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return "", fmt.Errorf("open a secret of %s: %w", purpose, ErrCannotOpen)
	}
	aead, err := k.aead(purpose)
	if err != nil {
		return "", err
	}
	if len(raw) < aead.NonceSize() {
		return "", fmt.Errorf("open a secret of %s: %w", purpose, ErrCannotOpen)
	}
	plain, err := aead.Open(nil, raw[:aead.NonceSize()], raw[aead.NonceSize():], bound(purpose, row))
	if err != nil {
		return "", fmt.Errorf("open a secret of %s: %w", purpose, ErrCannotOpen)
	}
	return string(plain), nil
}

func (k *Keys) aead(purpose string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, k.secret, nil, "stenometer sealed "+version+" "+purpose, keyBytes)
	if err != nil {
		return nil, fmt.Errorf("derive the key of %s: %w", purpose, err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("seal for %s: %w", purpose, err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("seal for %s: %w", purpose, err)
	}
	return aead, nil
}

func bound(purpose string, row int64) []byte {
	return []byte(version + purpose + "\x00" + strconv.FormatInt(row, 10))
}
