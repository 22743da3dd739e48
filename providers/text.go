package providers

// Cut keeps at most so many characters of a text that a provider is sent, or has sent.
func Cut(text string, most int) string {
	for i := range text {
		if most == 0 {
			return text[:i]
		}
		most--
	}
	return text
}
