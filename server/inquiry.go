package server

import (
	"time"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/agent"
	"github.com/stenometer/stenometer/recordings"
)

// inquiryOptions is how questions about many recordings are answered, by the settings.
func inquiryOptions(cfg *config.Config, text *llm.Adapter, now func() time.Time) recordings.InquiryOptions {
	options := recordings.InquiryOptions{Enabled: cfg.InquireMode, Summaries: cfg.AgentSummaries, Notes: cfg.AgentNotes}
	if cfg.InquireAgent {
		options.Agent = agent.New(text, agent.Options{
			MaxSteps: cfg.AgentSteps, MaxToolCalls: cfg.AgentToolCalls, Timeout: cfg.AgentTimeout,
			ResultTokens: cfg.AgentResultTokens, ContextTokens: cfg.AgentContext, AnswerTokens: cfg.ChatMaxTokens,
			Temperature: agentTemperature, Mode: agent.Mode(cfg.AgentToolMode), Now: now,
		})
	}
	return options
}

// agentTemperature is low: what a model looks up is to follow from the question.
const agentTemperature = 0.3
