// Package prompts holds what text models are asked, one file for each use. The words outside of fences are ours, fixed
// and under review; what people said, wrote or chose stands inside them. A model cannot be kept from believing what it
// reads, but what it reads can never pass for one of our own lines.
package prompts

import (
	"embed"
	"strings"
	"text/template"

	"github.com/stenometer/stenometer/llm"
)

// Version names the wording. A prompt that changes gets a new version of its file, so that what was asked of a model
// can be told from what is asked now.
const Version = "v2"

//go:embed files
var files embed.FS

var texts = template.Must(template.ParseFS(files, "files/*."+Version+".tmpl"))

// page is what a prompt's file is filled from.
type page struct {
	fence
	In any
	// Found are the answers to the parts, where parts are joined.
	Found []string
}

// write fills one half of a prompt. It can fail only by a fault in our own file, which the golden requests run.
func (p page) write(prompt, half string) string {
	var text strings.Builder
	if err := texts.ExecuteTemplate(&text, prompt+" "+half, p); err != nil {
		panic("fill the prompt " + prompt + ": " + err.Error())
	}
	return strings.TrimSpace(text.String())
}

// messages is a prompt without a conversation.
func (p page) messages(prompt string) []llm.Message {
	return []llm.Message{
		{Role: llm.System, Text: p.write(prompt, "system")},
		{Role: llm.User, Text: p.write(prompt, "user")},
	}
}
