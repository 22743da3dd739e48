package server

import "strings"

// wordErrorRate is how much of the true text a transcript got wrong: substitutions, insertions and deletions over
// the number of true words. Case and punctuation do not count. It can exceed 1; it is 0 for an empty true text.
func wordErrorRate(truth, heard string) float64 {
	want, got := spokenWords(truth), spokenWords(heard)
	if len(want) == 0 {
		return 0
	}
	previous := make([]int, len(got)+1)
	for j := range previous {
		previous[j] = j
	}
	for i, word := range want {
		current := make([]int, len(got)+1)
		current[0] = i + 1
		for j, candidate := range got {
			substitution := previous[j]
			if word != candidate {
				substitution++
			}
			current[j+1] = min(substitution, previous[j+1]+1, current[j]+1)
		}
		previous = current
	}
	return float64(previous[len(got)]) / float64(len(want))
}

func spokenWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !(r == '\'' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
	})
}
