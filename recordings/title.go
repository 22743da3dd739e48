package recordings

import (
	"context"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/prompts"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// placeholderTitle begins the title of a recording that nobody has named.
const placeholderTitle = "Recording - "

// wantsTitle reports whether nobody has named the recording.
func wantsTitle(row models.Recording) bool {
	return !row.TitleByUser && (given(row.Title) == "" || strings.HasPrefix(given(row.Title), placeholderTitle))
}

// Titled is a recording that a model has named.
type Titled struct {
	Uploaded
	Detail
}

// RegenerateTitle has a model name a recording that the caller may change, whoever named it before. The model is asked while
// the caller waits.
func (s *Recordings) RegenerateTitle(ctx context.Context, p auth.Principal, purse budgets.Purse, id int64) (Titled, error) {
	db := s.db.Read.WithContext(ctx)
	row, err := s.editable(db, p, id)
	if err != nil {
		return Titled{}, err
	}
	words, err := s.spokenIn(db, row)
	if err != nil {
		return Titled{}, err
	}
	if err := s.can(budgets.Titling); err != nil {
		return Titled{}, err
	}
	at, err := s.aroundOf(db, row)
	if err != nil {
		return Titled{}, unavailable("read what the title is about", err)
	}
	title, err := s.titleFor(ctx, purse.About(id), row, words, at)
	if err != nil {
		return Titled{}, modelProblem("find a title", err)
	}
	err = s.change(ctx, p, id, nil, "store the title", func(tx *gorm.DB, row *models.Recording) ([]Field, error) {
		return retitle(tx, row, title)
	})
	if err != nil {
		return Titled{}, err
	}
	var titled Titled
	if titled.Uploaded, err = s.told(ctx, p, id); err == nil {
		titled.Detail, err = s.Find(ctx, p, id, true)
	}
	return titled, err
}

// retitle gives a row a title that is a model's: automatic titles may replace it.
func retitle(tx *gorm.DB, row *models.Recording, title string) ([]Field, error) {
	renamed := title != given(row.Title)
	row.Title, row.TitleByUser = &title, false
	err := tx.Model(&models.Recording{}).Where("id = ?", row.ID).
		UpdateColumns(map[string]any{"title": title, "title_by_user": false}).Error
	if err != nil || !renamed {
		return nil, err
	}
	return []Field{FieldTitle}, nil
}

// titleFor asks for a title of what is said first, which is where people say what they meet for.
func (s *Recordings) titleFor(ctx context.Context, purse budgets.Purse, row models.Recording, words spoken, at around) (string, error) {
	answer, err := s.Text.Ask(ctx, purse, llm.Request{
		Operation: budgets.Titling, MaxTokens: s.TextBounds.TitleTokens, Temperature: titleTemperature,
		Messages: prompts.Title(prompts.TitleInput{
			When: at.when(row), Language: given(at.user.OutputLanguage), Vocabulary: s.vocabulary(at.spoken.Words),
			Transcript: prompts.Transcript(words.parts[0], false, false),
		}),
		Material: llm.Material{Passages: words.parts[0]},
	})
	if err != nil {
		return "", err //nolint:wrapcheck // the adapter says what was attempted
	}
	title := cleanTitle(answer.Text)
	if title == "" {
		return "", unreadable("a title")
	}
	return title, nil
}

// cleanTitle is the first line that says something, without what models put around a title.
func cleanTitle(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.Map(visible, line))
		if label, rest, found := strings.Cut(line, ":"); found && strings.EqualFold(strings.Trim(label, "*# "), "title") {
			line = rest
		}
		line = strings.TrimSpace(strings.Trim(strings.TrimSpace(line), "\"'`*#_“”„«»"))
		if line == "" {
			continue
		}
		if utf8.RuneCountInString(line) > maxTitle {
			line = strings.TrimSpace(string([]rune(line)[:maxTitle-1])) + "…"
		}
		return line
	}
	return ""
}

// unreadable is told where a model has answered what nobody can use.
func unreadable(what string) *problems.Error {
	return problems.New(problems.ProviderFailed, "The text model answered, but not with %s.", what)
}
