package prompts

import "github.com/stenometer/stenometer/llm"

// InquireInput is what a question about many recordings is answered from. Language and History may be empty.
type InquireInput struct {
	// Today is the day on which it is asked, so that "last week" has a meaning.
	Today, Language string
	// Excerpts are what was found, each under a line with its link.
	Excerpts []string
	// History are the turns before the question. A turn that claims to be the system's is left out.
	History  []llm.Message
	Question string
}

// Inquire asks a question about excerpts of several recordings.
func Inquire(in InquireInput) []llm.Message {
	return in.page().conversation("inquire", in.History, in.Question)
}

// InquireAgent tells a model that may look things up what it is to do. It has neither excerpts nor the question.
func InquireAgent(in InquireInput) string { return in.page().write("inquire_agent", "system") }

func (in InquireInput) page() page {
	all := append([]string{in.Language, in.Today, in.Question}, in.Excerpts...)
	for _, turn := range in.History {
		all = append(all, turn.Text)
	}
	return page{newFence(all...), in, in.Excerpts}
}
