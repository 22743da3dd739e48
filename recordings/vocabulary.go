package recordings

import (
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/llm/prompts"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/orgs"
)

// The bounds of what the words of an organization add to what is asked of others, in characters.
const (
	maxHotwordChars = 2000 // of all hotwords: engines read no more
	maxPromptWords  = 4000
)

// heardAs is the row with what the engine is told where nobody has said anything: by its tags and its folder, then by its
// organization, then by the server. The organization's words join the hotwords. A hint that is blank was told to be none.
func (s *Recordings) heardAs(db *gorm.DB, row models.Recording, at placed) (models.Recording, error) {
	spoken, err := orgs.SpokenIn(db, row.OrganizationID)
	if err != nil {
		return models.Recording{}, err //nolint:wrapcheck // orgs says what was attempted
	}
	row = withDefaults(row, at.tags, at.folder)
	if row.InitialPrompt == nil {
		row.InitialPrompt = spoken.InitialPrompt
	}
	row = s.byDefault(row)
	if row.Hotwords == nil || *row.Hotwords != "" {
		row.Hotwords = optional(joinWords(given(row.Hotwords), spoken.Words))
	}
	return row, nil
}

// joinWords are the hotwords with those words behind them that they lack, as many as there is room for, each whole.
func joinWords(hotwords string, words []string) string {
	said := map[string]bool{}
	for word := range strings.SplitSeq(hotwords, ",") {
		said[strings.ToLower(strings.TrimSpace(word))] = true
	}
	joined := []string{}
	if strings.TrimSpace(hotwords) != "" {
		joined = append(joined, hotwords)
	}
	room := maxHotwordChars - utf8.RuneCountInString(hotwords)
	for _, word := range words {
		length := utf8.RuneCountInString(word) + len(", ")
		if said[strings.ToLower(word)] || length > room {
			continue
		}
		joined, room = append(joined, word), room-length
	}
	return strings.Join(joined, ", ")
}

// vocabulary are the words that a prompt tells, newest first and as many as there is room for beside a part of the
// transcript.
func (s *Recordings) vocabulary(words []string) prompts.Vocabulary {
	room := min(maxPromptWords, s.TextBounds.PartChars/8)
	var told prompts.Vocabulary
	for _, word := range words {
		length := utf8.RuneCountInString(word) + len("\"\"\n")
		if length > room {
			continue
		}
		told.Words, room = append(told.Words, word), room-length
	}
	return told
}
