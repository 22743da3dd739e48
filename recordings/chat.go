package recordings

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/citations"
	"github.com/stenometer/stenometer/llm/prompts"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// maxHistory is how many turns of a conversation a request may bring.
const maxHistory = 200

// Turn is what was said before, by the caller or by a model: a client keeps the conversation, this server does not.
type Turn struct{ Role, Content string }

// Question is what is asked about a recording.
type Question struct {
	Message string
	History []Turn
	// Sources asks where in the transcript the answer stands.
	Sources bool
}

// Reply is an answer. Response is nil for a caller that may not read: no model is asked for it then.
type Reply struct {
	Response *string
	Sources  []citations.Source
	// LeftOut says what of the recording no model has seen, nil for nothing. The response ends with it.
	LeftOut *string
}

// Chat answers a question about a recording that the caller may see, while the caller waits.
func (s *Recordings) Chat(ctx context.Context, p auth.Principal, purse budgets.Purse, id int64, q Question) (Reply, error) {
	asked, err := s.question(ctx, p, id, q)
	if err != nil || asked.unread {
		return Reply{}, err
	}
	answers, err := s.run(ctx, purse.About(id), asked.errand)
	if err != nil {
		return Reply{}, modelProblem("answer the question", err)
	}
	reply := Reply{LeftOut: optional(asked.leftOut)}
	answer := answers[0]
	if q.cites(asked.words) {
		answer.Text, reply.Sources = citations.Resolve(answer.Text, asked.words.all)
	}
	reply.Response = new(withRemarks(answer, asked.leftOut))
	return reply, nil
}

// question is one that may be asked.
type question struct {
	errand  errand
	words   spoken
	leftOut string
	// foreign is true of another's recording, which can be taken from the caller while it is answered.
	foreign bool
	// unread is true of a caller that may not read: no model is asked.
	unread bool
}

// question refuses what may not be asked, and makes of the rest what a model is asked.
func (s *Recordings) question(ctx context.Context, p auth.Principal, id int64, q Question) (question, error) {
	db := s.db.Read.WithContext(ctx)
	row, err := s.visible(db, p, id)
	if err != nil {
		return question{}, err
	}
	words, err := s.spokenIn(db, row)
	if err != nil {
		return question{}, err
	}
	history, err := q.check(s.TextBounds.InputChars)
	if err != nil {
		return question{}, err
	}
	if err := s.can(budgets.Chatting); err != nil {
		return question{}, err
	}
	if !p.MayRead() {
		return question{unread: true}, nil
	}
	asked, err := s.chatErrand(db, p, row, words, q, history)
	if err != nil {
		return question{}, unavailable("read what the question is about", err)
	}
	return question{errand: asked, words: words, leftOut: s.leftOut(row, words), foreign: row.UserID != p.UserID()}, nil
}

// cites reports whether the answer names its sources: a plain transcript has none to name.
func (q Question) cites(words spoken) bool { return q.Sources && words.timed() }

// check holds a question to its bounds and gives what was said before it.
func (q Question) check(chars int) ([]llm.Message, error) {
	if strings.TrimSpace(q.Message) == "" {
		return nil, problems.New(problems.InvalidParameter, "message must be given and not be blank.")
	}
	history, said, err := checkTurns("conversation_history", q.History)
	if err != nil {
		return nil, err
	}
	return history, checkInput(said+utf8.RuneCountInString(q.Message), chars)
}

// checkTurns gives what was said before as a model is told it, and how many characters that is.
func checkTurns(field string, turns []Turn) (history []llm.Message, said int, err error) {
	if len(turns) > maxHistory {
		return nil, 0, problems.New(problems.PayloadTooLarge, "%s must have at most %d turns.", field, maxHistory).
			With("max_items", maxHistory)
	}
	for i, turn := range turns {
		role := llm.Role(turn.Role)
		if role != llm.User && role != llm.Assistant {
			return nil, 0, problems.New(problems.InvalidParameter, "%s[%d].role must be user or assistant.", field, i).
				With("field", fmt.Sprintf("%s[%d].role", field, i))
		}
		said += utf8.RuneCountInString(turn.Content)
		if strings.TrimSpace(turn.Content) != "" {
			history = append(history, llm.Message{Role: role, Text: turn.Content})
		}
	}
	return history, said, nil
}

// chatErrand is what a model is asked for an answer.
func (s *Recordings) chatErrand(
	db *gorm.DB, p auth.Principal, row models.Recording, words spoken, q Question, history []llm.Message,
) (errand, error) {
	at, err := s.aroundOf(db, row)
	if err != nil {
		return errand{}, err
	}
	if at.user, err = accountOf(db, p.UserID()); err != nil { // who reads the answer
		return errand{}, err
	}
	cite := q.cites(words)
	in := prompts.ChatInput{
		Title: given(row.Title), Participants: given(row.Participants), When: at.when(row),
		Notes: cutTo(given(row.Notes), s.noteChars()), Language: given(at.user.OutputLanguage),
		Vocabulary: s.vocabulary(at.spoken.Words), Cite: cite, History: history, Question: q.Message, Parts: len(words.parts),
	}
	request := func(messages []llm.Message, most int, passages []llm.Passage) llm.Request {
		return llm.Request{
			Operation: budgets.Chatting, Messages: messages, MaxTokens: most, Temperature: chatTemperature,
			Material: llm.Material{Title: in.Title, Passages: passages, Question: q.Message, Cite: cite},
		}
	}
	asked := errand{operation: budgets.Chatting}
	for i, part := range words.parts {
		of := in
		of.Transcript, of.PartNo = prompts.Transcript(part, words.timed(), cite), i+1
		if len(words.parts) == 1 {
			asked.parts = []llm.Request{request(prompts.Chat(of), s.TextBounds.ChatTokens, part)}
			return asked, nil
		}
		of.Notes = "" // they are for the call that joins
		asked.parts = append(asked.parts, request(prompts.ChatPart(of), s.partTokens(s.TextBounds.ChatTokens, len(words.parts)), part))
	}
	asked.join = func(found []string) llm.Request {
		return request(prompts.ChatJoin(in, found), s.TextBounds.ChatTokens, nil)
	}
	return asked, nil
}

// modelProblem is what a caller is told who waited for a model.
func modelProblem(attempt string, err error) error {
	if errors.Is(err, budgets.ErrHoldLost) {
		return unavailable(attempt, err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return problems.New(problems.ProviderTimeout, "The text model took longer than a request may take.").
			Because(fmt.Errorf("%s: %w", attempt, err))
	}
	return unavailable(attempt, problems.OfProvider(err))
}
