package prompts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// fence sets material apart from our own words.
type fence struct{ mark string }

// newFence makes a mark that is in none of the texts. It is derived from the first of them, the longest lived: the
// same transcript has the same mark from question to question, and a provider that remembers the beginnings of
// requests finds this one again.
func newFence(texts ...string) fence {
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s", n, texts[0]))
		mark := hex.EncodeToString(sum[:6])
		if !anyHolds(texts, mark) {
			return fence{mark}
		}
	}
}

// anyHolds does not mind case: neither do models.
func anyHolds(texts []string, mark string) bool {
	for _, text := range texts {
		if strings.Contains(strings.ToLower(text), mark) {
			return true
		}
	}
	return false
}

// Mark is for the rules, which tell the model what the fence looks like.
func (f fence) Mark() string { return f.mark }

// Section is a named piece of material between its fences, or nothing when there is none.
func (f fence) Section(name, text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return fmt.Sprintf("<<< %s %s\n%s\n>>> %s\n\n", f.mark, name, strings.Trim(text, "\n"), f.mark)
}

// Part is a Section that is named by its place.
func (f fence) Part(place int, text string) string {
	return f.Section(fmt.Sprintf("part %d", place+1), text)
}

// about lists what is known of a recording, one line each: name, value, name, value. Nothing that is blank is listed.
func about(pairs ...string) string {
	var lines []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if value := strings.Join(strings.Fields(pairs[i+1]), " "); value != "" {
			lines = append(lines, pairs[i]+": "+value)
		}
	}
	return strings.Join(lines, "\n")
}
