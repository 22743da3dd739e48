package orgs

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// The bounds of what an organization says for its members, in characters: those of what an account says for itself, and of
// what an upload tells the speech engine.
const (
	maxSummaryPrompt = 10_000
	maxInitialPrompt = 10_000
)

// Profile is what the members of an organization see of it.
type Profile struct {
	ID         int64
	Slug, Name string
	TimeZone   string
	// SummaryPrompt is what summaries are told to be where neither recording nor account says it, InitialPrompt what the
	// speech engine is told; nil for none.
	SummaryPrompt, InitialPrompt *string
}

// Profile is that of the organization of an id.
func (o *Organizations) Profile(ctx context.Context, id int64) (Profile, error) {
	var rows []models.Organization
	if err := o.db.Read.WithContext(ctx).Where("id = ?", id).Limit(1).Find(&rows).Error; err != nil {
		return Profile{}, failed("find an organization", err)
	}
	if len(rows) == 0 {
		return Profile{}, problems.New(problems.NotFound, "There is no such organization.")
	}
	row := rows[0]
	return Profile{
		ID: row.ID, Slug: row.Slug, Name: row.Name, TimeZone: row.TimeZone, SummaryPrompt: row.SummaryPrompt, InitialPrompt: row.InitialPrompt,
	}, nil
}

// Text is what becomes of a text: nothing unless Given, and there is none any more when Value is nil or blank.
type Text struct {
	Given bool
	Value *string
}

// Prompts is what becomes of what an organization says for its members.
type Prompts struct{ SummaryPrompt, InitialPrompt Text }

// SetPrompts keeps them, all that is asked or nothing.
func (o *Organizations) SetPrompts(ctx context.Context, id int64, set Prompts) (Profile, error) {
	columns := map[string]any{}
	for _, column := range []struct {
		name  string
		said  Text
		bound int
	}{
		{"summary_prompt", set.SummaryPrompt, maxSummaryPrompt},
		{"initial_prompt", set.InitialPrompt, maxInitialPrompt},
	} {
		value, err := column.said.check(column.name, column.bound)
		if err != nil {
			return Profile{}, err
		}
		if column.said.Given {
			columns[column.name] = value
		}
	}
	if len(columns) > 0 {
		err := o.db.Transaction(ctx, func(tx *gorm.DB) error {
			return tx.Model(&models.Organization{}).Where("id = ?", id).UpdateColumns(columns).Error
		})
		if err != nil {
			return Profile{}, failed("keep the prompts of an organization", err)
		}
	}
	return o.Profile(ctx, id)
}

// check holds a text to its bound and takes the white space around it away.
func (t Text) check(name string, bound int) (*string, error) {
	if t.Value == nil || strings.TrimSpace(*t.Value) == "" {
		return nil, nil //nolint:nilnil // none is no failure
	}
	text := strings.TrimSpace(*t.Value)
	return &text, problems.OfText(name, text, bound)
}

// Spoken is what the work on a recording takes from its organization.
type Spoken struct {
	SummaryPrompt, InitialPrompt *string
	// Words are those of the vocabulary that were accepted, newest first.
	Words []string
}

// SpokenIn reads it.
func SpokenIn(db *gorm.DB, id int64) (Spoken, error) {
	var rows []models.Organization
	if err := db.Select("summary_prompt", "initial_prompt").Where("id = ?", id).Limit(1).Find(&rows).Error; err != nil {
		return Spoken{}, fmt.Errorf("read the prompts of the organization: %w", err)
	}
	var spoken Spoken
	if len(rows) > 0 {
		spoken.SummaryPrompt, spoken.InitialPrompt = rows[0].SummaryPrompt, rows[0].InitialPrompt
	}
	err := db.Model(&models.VocabularyWord{}).Where("organization_id = ? AND accepted_at IS NOT NULL", id).
		Order("accepted_at DESC, id DESC").Limit(MaxWords).Pluck("word", &spoken.Words).Error
	if err != nil {
		return Spoken{}, fmt.Errorf("read the vocabulary: %w", err)
	}
	return spoken, nil
}
