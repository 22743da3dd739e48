package recordings

import (
	"context"
	"strings"
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/prompts"
)

// retrieve finds what the question is answered from; none where nobody said anything.
func (s *Recordings) retrieve(ctx context.Context, p auth.Principal, asked inquiry) ([]excerpt, error) {
	found, err := s.excerpts(s.db.Read.WithContext(ctx), p, asked.query, asked.asks.Question, maxExcerpts, false)
	if err != nil {
		return nil, unavailable("find what the question is answered from", err)
	}
	return found, nil
}

// inquiryErrand is what a model is asked about excerpts. What it is shown is noted.
func (s *Recordings) inquiryErrand(asked inquiry, found []excerpt) errand {
	in := prompts.InquireInput{Today: asked.today, Language: asked.language, History: asked.history, Question: asked.asks.Question}
	material := llm.Material{Question: in.Question}
	for _, e := range found {
		in.Excerpts = append(in.Excerpts, asked.shown.excerpt(e, asked.zone))
		for _, passage := range e.passages {
			passage.Origin = asked.shown.link(e.of, startOf(e.passages))
			material.Passages = append(material.Passages, passage)
		}
	}
	return errand{operation: budgets.Inquiring, parts: []llm.Request{{
		Operation: budgets.Inquiring, Messages: prompts.Inquire(in), MaxTokens: s.TextBounds.ChatTokens, Temperature: chatTemperature,
		Material: material,
	}}}
}

// excerpt is one as a model reads it: its link and day, and below what was said.
func (s shown) excerpt(e excerpt, zone *time.Location) string {
	return s.link(e.of, startOf(e.passages)) + ", " + e.of.at.In(zone).Format(time.DateOnly) + "\n" + prompts.Transcript(e.passages, true, false)
}

// excerpts are several, one below the other.
func (s shown) excerpts(found []excerpt, zone *time.Location) string {
	texts := make([]string, len(found))
	for i, e := range found {
		texts[i] = s.excerpt(e, zone)
	}
	return strings.Join(texts, "\n\n")
}
