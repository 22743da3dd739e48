package prompts

import (
	"strings"

	"github.com/stenometer/stenometer/llm"
)

// TitleInput is what a title is made of. Everything but Transcript may be empty.
type TitleInput struct {
	When, Language, Transcript string
	Vocabulary
}

// Title asks for a title: one line.
func Title(in TitleInput) []llm.Message {
	return page{newFence(in.Transcript, in.When, in.Language, in.WordList()), in, nil}.messages("title")
}

// EventsInput is what appointments are found in. Without When, dates that are relative to the day cannot be told.
type EventsInput struct {
	When, Language, Transcript string
}

// Events asks for the appointments that were agreed on, as JSON: {"events": […]}.
func Events(in EventsInput) []llm.Message {
	return page{newFence(in.Transcript, in.When, in.Language), in, nil}.messages("events")
}

// SpeakersInput is what the names of speakers are found in.
type SpeakersInput struct {
	Labels     []string
	Transcript string
}

// Speakers asks who the speakers are, as a JSON object from label to name, "" where the transcript does not tell.
func Speakers(in SpeakersInput) []llm.Message {
	return page{newFence(in.Transcript, in.List()), in, nil}.messages("speakers")
}

// List has one label a line.
func (in SpeakersInput) List() string {
	lines := make([]string, len(in.Labels))
	for i, label := range in.Labels {
		lines[i] = strings.Join(strings.Fields(label), " ")
	}
	return strings.Join(lines, "\n")
}
