package recordings

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/prompts"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/orgs"
	"github.com/stenometer/stenometer/settings"
)

// How freely a model may word what it writes.
const (
	summaryTemperature = 0.5
	chatTemperature    = 0.7
	titleTemperature   = 0.7
	readingTemperature = 0.2 // of what is only read off: appointments, names
)

// maxModelText bounds, in bytes, what a model's text may be that is stored: that of a text which people write.
const maxModelText = maxTextBytes - 4096

// around is what a prompt says of a recording besides its words.
type around struct {
	placed
	user models.User
	zone *time.Location
	// spoken is what the organization says, standing the instance.
	spoken   orgs.Spoken
	standing settings.Values
}

func (s *Recordings) aroundOf(db *gorm.DB, row models.Recording) (around, error) {
	at, err := placedAt(db, row)
	if err != nil {
		return around{}, err
	}
	user, err := accountOf(db, row.UserID)
	if err != nil {
		return around{}, err
	}
	zone, err := zoneOf(db, row.OrganizationID)
	if err != nil {
		return around{}, err
	}
	spoken, err := orgs.SpokenIn(db, row.OrganizationID)
	return around{at, user, zone, spoken, s.standing()}, err
}

// zoneOf is where an organization is: days that people speak of are days there.
func zoneOf(db *gorm.DB, organizationID int64) (*time.Location, error) {
	var organization models.Organization
	if err := db.Where("id = ?", organizationID).Take(&organization).Error; err != nil {
		return nil, fmt.Errorf("find the organization: %w", err)
	}
	zone, err := time.LoadLocation(organization.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("find the time zone of organization %d: %w", organizationID, err)
	}
	return zone, nil
}

// when is the day and hour of the recording as a prompt writes them.
func (at around) when(row models.Recording) string {
	if row.MeetingDate == nil {
		return ""
	}
	return row.MeetingDate.In(at.zone).Format("Monday, 2006-01-02 15:04")
}

func (at around) folderName() string {
	if at.folder == nil {
		return ""
	}
	return at.folder.Name
}

func (at around) tagNames() []string {
	names := make([]string, len(at.tags))
	for i, tag := range at.tags {
		names[i] = tag.Name
	}
	return names
}

// summaryErrand is what a model is asked for a summary.
func (s *Recordings) summaryErrand(row models.Recording, words spoken, at around, told Instructions) errand {
	in := prompts.SummaryInput{
		Title: given(row.Title), When: at.when(row), Tags: at.tagNames(), Folder: at.folderName(),
		Participants: given(row.Participants), Instructions: told.resolve(row, at), Language: given(at.user.OutputLanguage),
		Vocabulary: s.vocabulary(at.spoken.Words),
		Notes:      cutTo(given(row.Notes), s.noteChars()), Parts: len(words.parts),
	}
	request := func(messages []llm.Message, most int, passages []llm.Passage) llm.Request {
		return llm.Request{
			Operation: budgets.Summarizing, Messages: messages, MaxTokens: most, Temperature: summaryTemperature,
			Material: llm.Material{Title: in.Title, Passages: passages},
		}
	}
	asked := errand{operation: budgets.Summarizing}
	for i, part := range words.parts {
		of := in
		of.Transcript, of.PartNo = prompts.Transcript(part, words.timed(), false), i+1
		if len(words.parts) == 1 {
			asked.parts = []llm.Request{request(prompts.Summary(of), s.TextBounds.SummaryTokens, part)}
			return asked
		}
		of.Notes = "" // they are for the call that joins
		asked.parts = append(asked.parts, request(prompts.SummaryPart(of), s.partTokens(s.TextBounds.SummaryTokens, len(words.parts)), part))
	}
	asked.join = func(found []string) llm.Request {
		return request(prompts.SummaryJoin(in, found), s.TextBounds.SummaryTokens, nil)
	}
	return asked
}

// summary asks for it. It ends with what it does not cover.
func (s *Recordings) summary(
	ctx context.Context, purse budgets.Purse, row models.Recording, words spoken, at around, args SummarizeArgs,
) (string, error) {
	asked := s.summaryErrand(row, words, at, Instructions{Prompt: args.Prompt, Append: args.Append, Variables: args.Variables})
	answers, err := s.run(ctx, purse, asked)
	if err != nil {
		return "", err
	}
	return withRemarks(answers[0], s.leftOut(row, words)), nil
}

// noteChars is how much of a recording's notes stands in a call, beside a part of the transcript.
func (s *Recordings) noteChars() int { return s.TextBounds.PartChars / 4 }

// leftOut tells what of a recording no model has seen that was given its transcript and notes; "" for nothing.
func (s *Recordings) leftOut(row models.Recording, words spoken) string {
	said := words.leftOut
	if utf8.RuneCountInString(given(row.Notes)) > s.noteChars() {
		said += fmt.Sprintf(" Left out: the notes behind their first %d characters.", s.noteChars())
	}
	return strings.TrimSpace(said)
}

// withRemarks is an answer with what its reader must know of it.
func withRemarks(answer llm.Answer, leftOut string) string {
	text := cutBytes(answer.Text, maxModelText)
	if answer.Cut {
		text += "\n\nThe model stopped here, at the length that this server allows it."
	}
	if leftOut != "" {
		text += "\n\n" + leftOut
	}
	return text
}

// cutBytes is the beginning of a text, of at most so many bytes and whole characters.
func cutBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
