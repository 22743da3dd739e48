package auth

import (
	"hash/crc32"
	"strings"
)

// The form of a token: the prefix, TokenRandom characters of base62 randomness, and Checksum of those.
const (
	TokenPrefix   = "stn_"
	TokenRandom   = 43
	tokenChecksum = 6
)

// Base62 is the alphabet of a token, in the order of its digits.
const Base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// maxCredential bounds what is hashed and looked up; imported tokens are shorter by far.
const maxCredential = 512

// Checksum is the last part of a token: six base62 digits of the CRC32 of its random characters. It catches
// tokens that were cut short or mistyped; it proves nothing about who made them.
func Checksum(random string) string {
	digits := checksum(random)
	return string(digits[:])
}

func checksum(random string) (digits [tokenChecksum]byte) {
	sum := crc32.ChecksumIEEE([]byte(random))
	for i := tokenChecksum - 1; i >= 0; i-- {
		digits[i] = Base62[sum%62]
		sum /= 62
	}
	return digits
}

func isBase62(b byte) bool {
	return '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z'
}

// Check reports whether a token is worth a look-up. One that carries our prefix must have our form to the last
// digit; one without it (imported from elsewhere) must only be printable and of bounded length.
func Check(plain string) bool {
	if len(plain) == 0 || len(plain) > maxCredential {
		return false
	}
	for i := range len(plain) {
		if plain[i] <= ' ' || plain[i] > '~' {
			return false
		}
	}
	rest, ours := strings.CutPrefix(plain, TokenPrefix)
	if !ours {
		return true
	}
	if len(rest) != TokenRandom+tokenChecksum {
		return false
	}
	for i := range len(rest) {
		if !isBase62(rest[i]) {
			return false
		}
	}
	digits := checksum(rest[:TokenRandom])
	return string(digits[:]) == rest[TokenRandom:]
}
