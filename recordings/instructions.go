package recordings

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/llm/prompts"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// The bounds of the variables that prompts are filled with.
const (
	maxPromptVariables     = 50
	maxPromptVariable      = 2000 // characters of a value
	maxPromptVariableName  = 100
	maxPromptVariableBytes = 200_000 // of a form's field
)

// variableName is what stands between the braces of a prompt.
var variableName = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_]*$`)

// Instructions is what a request says about the summary that it asks for.
type Instructions struct {
	// Prompt is nil where nothing is said.
	Prompt *string
	// Append puts it behind what tags, folder or account say, rather than in their place.
	Append bool
	// Variables fill {{name}} in prompts, before the recording's own.
	Variables map[string]string
}

// check holds them to their bounds; chars is how much a request may say to a model in all.
func (i Instructions) check(chars int) error {
	said := utf8.RuneCountInString(given(i.Prompt))
	if err := problems.OfText("custom_prompt", given(i.Prompt), maxCustomPrompt); err != nil {
		return err
	}
	if len(i.Variables) > maxPromptVariables {
		return problems.New(problems.InvalidParameter, "prompt_variables must have at most %d names.", maxPromptVariables).
			With("field", "prompt_variables").With("max_items", maxPromptVariables)
	}
	for _, name := range slices.Sorted(maps.Keys(i.Variables)) {
		if !variableName.MatchString(name) || utf8.RuneCountInString(name) > maxPromptVariableName {
			return problems.New(problems.InvalidParameter,
				"A name in prompt_variables must be letters, digits and underscores, at most %d, and begin with no digit.", maxPromptVariableName)
		}
		if err := problems.OfText("prompt_variables."+name, i.Variables[name], maxPromptVariable); err != nil {
			return err
		}
		said += utf8.RuneCountInString(i.Variables[name])
	}
	return checkInput(said, chars)
}

// checkInput refuses a request that says more to a model than it may.
func checkInput(said, most int) error {
	if said <= most {
		return nil
	}
	return problems.New(problems.PayloadTooLarge, "A request may send a model at most %d characters; this one has %d.", most, said).
		With("max_input_chars", most)
}

// readVariables reads the variables of an upload. What is no object of texts is none, as the contract has it; so is what
// is over the bounds, which a recording is not refused for.
func readVariables(fields form) *string {
	text := fields.text("prompt_variables")
	if text == "" || len(text) > maxPromptVariableBytes {
		return nil
	}
	var sent map[string]any
	if json.Unmarshal([]byte(text), &sent) != nil {
		return nil
	}
	kept := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		value, ok := variableText(sent[name])
		if ok && len(kept) < maxPromptVariables && variableName.MatchString(name) && utf8.RuneCountInString(name) <= maxPromptVariableName {
			kept[name] = value
		}
	}
	if len(kept) == 0 {
		return nil
	}
	stored, err := json.Marshal(kept)
	if err != nil {
		return nil
	}
	return new(string(stored))
}

// variableText is a value as a text: numbers and truths as they are written.
func variableText(value any) (text string, ok bool) {
	switch value := value.(type) {
	case string:
		text = value
	case float64, bool:
		text = fmt.Sprint(value)
	default:
		return "", false
	}
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7F {
			return -1
		}
		return r
	}, text))
	return cutTo(text, maxPromptVariable), true
}

// variablesOf are those of a recording. Only readVariables writes them; what is not of its making is none.
func variablesOf(row models.Recording) map[string]string {
	variables := map[string]string{}
	if row.PromptVariables == nil || json.Unmarshal([]byte(*row.PromptVariables), &variables) != nil {
		return map[string]string{}
	}
	return variables
}

// resolve is what a summary is told to be: what the request says, else the recording's tags together, else its folder,
// else its account, else its organization, else the instance; "" where nobody says anything, which leaves it to the built-in prompt.
func (i Instructions) resolve(row models.Recording, at around) string {
	variables := variablesOf(row)
	maps.Copy(variables, i.Variables)
	var said []string
	for _, tag := range at.tags {
		said = appendSaid(said, tag.CustomPrompt)
	}
	if len(said) == 0 && at.folder != nil {
		said = appendSaid(said, at.folder.CustomPrompt)
	}
	for _, prompt := range []*string{at.user.SummaryPrompt, at.spoken.SummaryPrompt, &at.standing.DefaultSummaryPrompt} {
		if len(said) == 0 {
			said = appendSaid(said, prompt)
		}
	}
	if own := appendSaid(nil, i.Prompt); len(own) > 0 && !i.Append {
		said = own
	} else {
		said = append(said, own...)
	}
	return prompts.Fill(strings.Join(said, "\n\n"), variables)
}

func appendSaid(said []string, prompt *string) []string {
	if text := strings.TrimSpace(given(prompt)); text != "" {
		return append(said, text)
	}
	return said
}

// accountOf reads the account that a recording belongs to.
func accountOf(db *gorm.DB, userID int64) (models.User, error) {
	var user models.User
	if err := db.Where("id = ?", userID).Take(&user).Error; err != nil {
		return models.User{}, fmt.Errorf("read the account: %w", err)
	}
	return user, nil
}
