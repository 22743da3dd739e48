package prompts

import (
	"regexp"

	"github.com/stenometer/stenometer/llm"
)

// AgentInput is what a model is told that looks things up before it answers.
type AgentInput struct {
	// Instructions are the words of whoever asks.
	Instructions string
	Tools        []llm.Tool
	// Plain tells the tools in words, to models that know no other way.
	Plain bool
}

// Agent is the words for one question.
type Agent struct {
	fence
	forbidden *regexp.Regexp
}

// NewAgent makes a mark that is in none of the texts that are known by now. What is found later has it taken out.
func NewAgent(instructions string, texts ...string) Agent {
	f := newFence(append([]string{instructions}, texts...)...)
	return Agent{f, regexp.MustCompile("(?i)" + f.mark)}
}

// System is the system's message.
func (a Agent) System(in AgentInput) string { return a.say("system", in) }

// Result is what a look-up found, as data, behind remarks of ours.
func (a Agent) Result(remarks, found string) string {
	return remarks + a.section("result", remarks, found)
}

// Memory is what is left of older look-ups, as data.
func (a Agent) Memory(lines string) string { return a.section("memory", "", lines) }

func (a Agent) section(name, before, text string) string {
	section := a.Section(name, a.forbidden.ReplaceAllLiteralString(text, ""))
	if section == "" || before == "" {
		return section
	}
	return "\n" + section
}

// Again says of a result that it was found before.
func (a Agent) Again() string { return a.say("again", nil) }

// Malformed says why a call was not run whose arguments make no sense.
func (a Agent) Malformed(bytes int) string { return a.say("malformed", bytes) }

// Unknown says why a call was not run whose tool is none of those that are listed.
func (a Agent) Unknown(known string) string { return a.say("unknown", known) }

// Skipped says why a call was not run that came behind a bound.
func (a Agent) Skipped() string { return a.say("skipped", nil) }

// Late says what became of a look-up that took too long.
func (a Agent) Late() string { return a.say("late", nil) }

// Nothing says that a look-up found nothing.
func (a Agent) Nothing() string { return a.say("nothing", nil) }

// Nudge says what to do about look-ups that find nothing.
func (a Agent) Nudge() string { return a.say("nudge", nil) }

// Closing asks for the answer.
func (a Agent) Closing() string { return a.say("closing", nil) }

func (a Agent) say(half string, in any) string { return page{a.fence, in, nil}.write("agent", half) }
