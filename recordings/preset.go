package recordings

import (
	"strings"

	"github.com/stenometer/stenometer/problems"
)

// The bounds of what tags and folders say, in characters; their hints have those of a recording's.
const (
	maxBelongingName   = 50
	maxDefaultLanguage = 10
	maxCustomPrompt    = 10_000
)

// Preset is what becomes of what tags and folders have in common. A Color of nil is the default one.
type Preset struct {
	Name                     Edit[string]
	Color                    Edit[string]
	CustomPrompt             Edit[string]
	DefaultLanguage          Edit[string]
	MinSpeakers, MaxSpeakers Edit[int]
}

// presetColumns are the columns that a Preset is written to.
type presetColumns struct {
	name, color              *string
	prompt, language         **string
	minSpeakers, maxSpeakers **int
}

// write holds what is given to its bounds and writes it. A name must be there afterwards.
func (e Preset) write(to presetColumns, defaultColor string) error {
	if e.Name.Given {
		*to.name = strings.TrimSpace(given(e.Name.Value))
	}
	if *to.name == "" {
		return problems.New(problems.InvalidParameter, "name must be given and not be blank.")
	}
	if err := problems.OfText("name", *to.name, maxBelongingName); err != nil {
		return err
	}
	switch {
	case e.Color.Value != nil:
		*to.color = *e.Color.Value
	case e.Color.Given, *to.color == "":
		*to.color = defaultColor
	}
	if !isColor(*to.color) {
		return problems.New(problems.InvalidParameter, "color must be # and six hexadecimal digits.")
	}
	if err := writeText("custom_prompt", e.CustomPrompt, maxCustomPrompt, to.prompt); err != nil {
		return err
	}
	if err := writeText("default_language", e.DefaultLanguage, maxDefaultLanguage, to.language); err != nil {
		return err
	}
	return e.writeSpeakers(to)
}

// isColor reports whether text is # and six hexadecimal digits.
func isColor(text string) bool {
	digits, marked := strings.CutPrefix(text, "#")
	return marked && len(digits) == 6 && strings.Trim(digits, "0123456789abcdefABCDEF") == ""
}

func (e Preset) writeSpeakers(to presetColumns) error {
	for _, count := range []struct {
		name string
		edit Edit[int]
		to   **int
	}{
		{"default_min_speakers", e.MinSpeakers, to.minSpeakers},
		{"default_max_speakers", e.MaxSpeakers, to.maxSpeakers},
	} {
		if value := count.edit.Value; value != nil && (*value < 1 || *value > maxSpeakers) {
			return problems.New(problems.InvalidParameter, "%s must be 1 to %d.", count.name, maxSpeakers)
		}
		if count.edit.Given {
			*count.to = count.edit.Value
		}
	}
	if least, most := *to.minSpeakers, *to.maxSpeakers; least != nil && most != nil && *least > *most {
		return problems.New(problems.InvalidParameter, "default_min_speakers must not be above default_max_speakers.")
	}
	return nil
}

// writeText writes a text that may be none; a blank one is none.
func writeText(name string, edit Edit[string], bound int, to **string) error {
	if !edit.Given {
		return nil
	}
	text := strings.TrimSpace(given(edit.Value))
	if err := problems.OfText(name, text, bound); err != nil {
		return err
	}
	*to = optional(text)
	return nil
}
