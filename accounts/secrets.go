package accounts

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// What SECRET_KEY is used for here. Each purpose has a key of its own, so that what is signed for one opens nothing of
// another.
const (
	forInvites = "stenometer invites"
	forStates  = "stenometer sign-in states"
)

// maxSecret is the longest token of a link, in bytes: longer ones are nobody's and are not hashed.
const maxSecret = 256

// newSecret is a token that nobody guesses; the prefix tells people what it is for.
func newSecret(prefix string) string { return prefix + rand.Text() }

// hashOf is the form in which a token is kept.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// signature is what only who has SECRET_KEY can make of a text for a purpose.
func (a *Accounts) signature(purpose, text string) ([]byte, error) {
	if a.options.SecretKey == "" {
		return nil, fmt.Errorf("sign for %q: there is no secret key", purpose)
	}
	key, err := hkdf.Key(sha256.New, []byte(a.options.SecretKey), nil, purpose, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("sign for %q: %w", purpose, err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil), nil
}
