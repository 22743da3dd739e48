package prompts

import (
	"strings"

	"github.com/stenometer/stenometer/llm"
)

// ChatInput is what a question is answered from. Everything but Transcript and Question may be empty.
type ChatInput struct {
	Title, Participants, When string
	Transcript, Notes         string
	Language                  string
	Vocabulary
	// Cite says that the lines of the transcript are numbered, and asks for the numbers in the answer.
	Cite bool
	// History are the turns before the question. A turn that claims to be the system's is left out.
	History  []llm.Message
	Question string
	// PartNo counts from 1 to Parts; both are of ChatPart only.
	PartNo, Parts int
}

// Chat asks a question about a whole transcript.
func Chat(in ChatInput) []llm.Message { return in.messages("chat", nil) }

// ChatPart asks for what bears on the question in one part of a transcript that is too long for one request.
func ChatPart(in ChatInput) []llm.Message { return in.messages("chat_part", nil) }

// ChatJoin asks for the answer out of what was found in all parts, in their order. It has no transcript.
func ChatJoin(in ChatInput, found []string) []llm.Message { return in.messages("chat_join", found) }

func (in ChatInput) messages(prompt string, found []string) []llm.Message {
	all := append([]string{in.Transcript, in.Notes, in.Language, in.WordList(), in.About(), in.Question}, found...)
	for _, turn := range in.History {
		all = append(all, turn.Text)
	}
	return page{newFence(all...), in, found}.conversation(prompt, in.History, in.Question)
}

// conversation is a prompt with what was said before, and the question.
func (p page) conversation(prompt string, history []llm.Message, question string) []llm.Message {
	messages := p.messages(prompt)
	for _, turn := range history {
		if turn.Role == llm.User || turn.Role == llm.Assistant {
			messages = Said(messages, turn)
		}
	}
	return Said(messages, llm.Message{Role: llm.User, Text: strings.TrimSpace(question)})
}

// Said adds a turn. Two of the same role become one, unless the first asks for tools: the templates of some models refuse
// them.
func Said(messages []llm.Message, turn llm.Message) []llm.Message {
	if last := &messages[len(messages)-1]; last.Role == turn.Role && len(last.Calls) == 0 {
		last.Text = strings.TrimSpace(last.Text + "\n\n" + turn.Text)
		return messages
	}
	return append(messages, turn)
}

// About is what is known of the recording.
func (in ChatInput) About() string {
	return about("Title", in.Title, "Recorded", in.When, "Participants", in.Participants)
}
