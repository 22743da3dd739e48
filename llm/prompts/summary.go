package prompts

import (
	"strings"

	"github.com/stenometer/stenometer/llm"
)

// SummaryInput is what a summary is made of. Everything but Transcript may be empty.
type SummaryInput struct {
	Title, When  string
	Tags         []string
	Folder       string
	Participants string
	// Instructions are what the reader wants; Standard() when empty. Their variables are filled already.
	Instructions string
	Language     string
	Vocabulary
	Transcript string
	Notes      string
	// PartNo counts from 1 to Parts; both are of SummaryPart only.
	PartNo, Parts int
}

// Standard are the instructions for a summary when nobody gave any.
func Standard() string {
	text, err := files.ReadFile("files/standard." + Version + ".txt")
	if err != nil {
		panic("read the standard instructions: " + err.Error())
	}
	return strings.TrimSpace(string(text))
}

// Summary asks for a summary of a whole transcript.
func Summary(in SummaryInput) []llm.Message { return in.page(nil).messages("summary") }

// SummaryPart asks for notes about one part of a transcript that is too long for one request.
func SummaryPart(in SummaryInput) []llm.Message { return in.page(nil).messages("summary_part") }

// SummaryJoin asks for one summary out of the notes about all parts, in their order. It has no transcript.
func SummaryJoin(in SummaryInput, found []string) []llm.Message {
	return in.page(found).messages("summary_join")
}

func (in SummaryInput) page(found []string) page {
	if strings.TrimSpace(in.Instructions) == "" {
		in.Instructions = Standard()
	}
	all := append([]string{in.Transcript, in.Notes, in.Instructions, in.Language, in.WordList(), in.About()}, found...)
	return page{newFence(all...), in, found}
}

// About is what is known of the recording.
func (in SummaryInput) About() string {
	return about("Title", in.Title, "Recorded", in.When, "Participants", in.Participants, "Folder", in.Folder,
		"Tags", strings.Join(in.Tags, ", "))
}
