package streams

import "unicode/utf8"

// maxPiece is how much text in bytes surely fits into one event: in JSON a byte takes at most six.
const maxPiece = maxEvent / 8

// Pieces are a text in parts that fit into an event each: a service may say much at once.
func Pieces(text string) []string {
	var pieces []string
	for len(text) > maxPiece {
		end := maxPiece
		for end > maxPiece-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		pieces, text = append(pieces, text[:end]), text[end:]
	}
	return append(pieces, text)
}
