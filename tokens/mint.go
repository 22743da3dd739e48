package tokens

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"github.com/stenometer/stenometer/auth"
)

// mint makes a new plaintext: the form that auth.Check knows.
func mint() string {
	random := random62(auth.TokenRandom)
	return auth.TokenPrefix + random + auth.Checksum(random)
}

// random62 draws characters evenly: bytes beyond the last whole multiple of 62 are thrown away, since they would
// make the first characters likelier.
func random62(length int) string {
	const bound = 256 - 256%len(auth.Base62)
	text := make([]byte, 0, length)
	drawn := make([]byte, 2*length)
	for len(text) < length {
		rand.Read(drawn)
		for _, b := range drawn {
			if int(b) < bound && len(text) < length {
				text = append(text, auth.Base62[int(b)%len(auth.Base62)])
			}
		}
	}
	return string(text)
}

// hashed is the form at rest.
func hashed(plaintext string) string {
	sum := sha256.Sum256([]byte(plaintext))
	return hex.EncodeToString(sum[:])
}
