package rank

// Words are the words of a question that say something, each once and in its order: in small letters, and without the
// endings that say little, so that a text which has another form of the word has it too.
func Words(question string) []string {
	var words []string
	seen := map[string]bool{}
	for _, word := range terms(question) {
		if !seen[word] {
			seen[word], words = true, append(words, word)
		}
	}
	return words
}
