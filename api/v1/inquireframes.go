package v1

import (
	"github.com/stenometer/stenometer/llm/agent"
	"github.com/stenometer/stenometer/recordings"
)

// The events of a streamed answer to a question about many recordings, beside chatDelta.
type (
	inquireStatus struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	}
	inquireThinking struct {
		Thinking string `json:"thinking"`
	}
	inquireStep struct {
		Step inquireStepForm `json:"agent_step"`
	}
	inquireStepForm struct {
		ID     string `json:"id"`
		Tool   string `json:"tool"`
		Icon   string `json:"icon"`
		Label  string `json:"label"`
		Status string `json:"status"`
		Detail string `json:"detail,omitempty"`
	}
	inquireSteps struct {
		Summary inquireStepsForm `json:"agent_summary"`
	}
	inquireStepsForm struct {
		Steps int    `json:"steps"`
		Line  string `json:"line"`
	}
	inquireUsage struct {
		Percent int `json:"context_usage"`
	}
	inquireFolded struct {
		Folded inquireFoldedForm `json:"context_compacted"`
	}
	inquireFoldedForm struct {
		Memory   string `json:"memory"`
		KeepLast int    `json:"keep_last"`
	}
	inquireMemory struct {
		Memory string `json:"conversation_memory"`
	}
)

func inquireFrames() recordings.InquireFrames {
	return recordings.InquireFrames{
		Delta:    func(text string) any { return chatDelta{text} },
		Status:   func(status, message string) any { return inquireStatus{status, message} },
		Usage:    func(percent int) any { return inquireUsage{percent} },
		Thinking: func(text string) any { return inquireThinking{text} },
		Step: func(step agent.Step) any {
			return inquireStep{inquireStepForm{step.ID, step.Tool, step.Icon, step.Label, string(step.Status), step.Detail}}
		},
		Folded: func(memory string, kept int) any { return inquireFolded{inquireFoldedForm{memory, kept}} },
		Memory: func(memory string) any { return inquireMemory{memory} },
		Steps:  func(steps int, line string) any { return inquireSteps{inquireStepsForm{steps, line}} },
	}
}
