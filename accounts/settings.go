package accounts

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// The bounds of what models are told for an account, in characters.
const (
	maxSummaryPrompt  = 10_000
	maxOutputLanguage = 50
)

// Text is what becomes of a text: nothing unless Given, and there is none any more when Value is nil or blank.
type Text struct {
	Given bool
	Value *string
}

// Processing is what becomes of how an account's recordings are worked on. What is not given stays.
type Processing struct {
	SummaryPrompt, OutputLanguage Text
	ExtractEvents                 *bool
}

// SetProcessing keeps it, all that is asked or nothing, and gives the account as it then is.
func (a *Accounts) SetProcessing(ctx context.Context, id int64, set Processing) (User, error) {
	columns := map[string]any{}
	for _, column := range []struct {
		name  string
		said  Text
		bound int
	}{
		{"summary_prompt", set.SummaryPrompt, maxSummaryPrompt},
		{"output_language", set.OutputLanguage, maxOutputLanguage},
	} {
		value, err := column.said.check(column.name, column.bound)
		if err != nil {
			return User{}, err
		}
		if column.said.Given {
			columns[column.name] = value
		}
	}
	if set.ExtractEvents != nil {
		columns["extract_events"] = *set.ExtractEvents
	}
	if len(columns) > 0 {
		if err := a.keep(ctx, id, columns); err != nil {
			return User{}, err
		}
	}
	return a.Find(ctx, id)
}

// check holds a text to its bound and takes the white space around it away.
func (t Text) check(name string, bound int) (*string, error) {
	if t.Value == nil || strings.TrimSpace(*t.Value) == "" {
		return nil, nil //nolint:nilnil // none is no failure
	}
	text := strings.TrimSpace(*t.Value)
	return &text, problems.OfText(name, text, bound)
}

// SetAutoSummarization keeps whether the account's recordings are summarized by themselves.
func (a *Accounts) SetAutoSummarization(ctx context.Context, id int64, enabled bool) error {
	return a.keep(ctx, id, map[string]any{"auto_summarization": enabled})
}

func (a *Accounts) keep(ctx context.Context, id int64, columns map[string]any) error {
	err := a.db.Transaction(ctx, func(tx *gorm.DB) error {
		changed := tx.Model(&models.User{}).Where("id = ?", id).UpdateColumns(columns)
		if changed.Error != nil {
			return fmt.Errorf("write the account: %w", changed.Error)
		}
		if changed.RowsAffected == 0 {
			return noSuchAccount()
		}
		return nil
	})
	if err != nil {
		return failed("keep a setting of an account", err)
	}
	return nil
}
