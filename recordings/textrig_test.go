package recordings_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// The caps tell a test what a call was for.
const (
	summaryCap = 500
	chatCap    = 400
	eventCap   = 300
	titleCap   = 50
)

// textPrices make the arithmetic plain: a token of a prompt costs 1 micro-dollar, one of an answer 10; speech is free.
const textPrices = "currency: USD\naudio:\n  - {model: m, per_minute: 0}\ntext:\n  - {model: scripted, input: 1, output: 10}\n"

// newTextRig is a rig before a scripted text model, which is reached as any is: over HTTP, through the adapter.
func newTextRig(t testing.TB, url, folder string, change func(*settings)) (*rig, *llmtest.Server) {
	t.Helper()
	model := llmtest.New(t)
	return textRigBefore(t, model, url, folder, change), model
}

func textRigBefore(t testing.TB, model *llmtest.Server, url, folder string, change func(*settings)) *rig {
	t.Helper()
	engine, err := llm.New(llm.Options{
		BaseURL: model.BaseURL(), APIKey: "sk-key-of-the-tests", Model: "scripted", Client: outbound.Operator(patience),
	})
	if err != nil {
		t.Fatal(err)
	}
	return newRig(t, url, folder, func(s *settings) {
		s.prices = textPrices
		s.recordings.AutoSummaries = true
		s.recordings.Text = llm.NewAdapter(engine, llm.AdapterOptions{
			Attempts: 1, Breaker: outbound.NewBreaker(time.Millisecond, time.Now), Logger: slog.New(slog.DiscardHandler),
		})
		s.recordings.TextBounds = recordings.TextBounds{
			InputChars: 20_000, PartChars: 60_000, MaxParts: 8,
			SummaryTokens: summaryCap, ChatTokens: chatCap, TitleTokens: titleCap, EventTokens: eventCap,
		}
		if change != nil {
			change(s)
		}
	})
}

// answers answers calls by what they are for.
func answers(summary, title, events string) func(llmtest.Call) llmtest.Reply {
	return func(call llmtest.Call) llmtest.Reply {
		switch call.Cap() {
		case titleCap:
			return llmtest.Says(title)
		case eventCap:
			return llmtest.Says(events)
		}
		return llmtest.Says(summary)
	}
}

// prompt is all that a call says.
func prompt(call llmtest.Call) string {
	var said strings.Builder
	for _, message := range call.Messages {
		said.WriteString(message.Content + "\n")
	}
	return said.String()
}

// prefer changes the owner's account.
func (r *rig) prefer(columns map[string]any) {
	r.t.Helper()
	r.write(func(tx *gorm.DB) error {
		return tx.Model(&models.User{}).Where("id = ?", r.user.ID).UpdateColumns(columns).Error
	})
}

// grant sets the budget of the owner's organization, in micro-dollars.
func (r *rig) grant(micros int64) {
	r.t.Helper()
	_, err := r.budgets.Set(context.Background(), budgets.Subject{OrganizationID: r.user.OrganizationID}, budgets.SetMicros(&micros))
	if err != nil {
		r.t.Fatal(err)
	}
}

// talk is a transcript of so many timed segments, one a minute, by Ada and Grace in turn.
func (r *rig) talk(segments int) int64 {
	r.t.Helper()
	rows := make([]models.TranscriptSegment, segments)
	for i := range rows {
		start, end, speaker := float64(60*i), float64(60*i+30), []string{"SPEAKER_00", "SPEAKER_01"}[i%2]
		rows[i] = models.TranscriptSegment{
			Position: i, StartSeconds: &start, EndSeconds: &end, Speaker: &speaker, SpeakerLabel: &speaker,
			Text: "We spoke of the budget and of the garden, at length.",
		}
	}
	return r.store(models.Transcript{Kind: recordings.Segmented, Gaps: "[]", Engine: "test", CreatedAt: day(1)}, rows)
}

// texts writes columns of a recording.
func (r *rig) texts(id int64, columns map[string]any) {
	r.t.Helper()
	r.write(func(tx *gorm.DB) error {
		return tx.Model(&models.Recording{}).Where("id = ?", id).UpdateColumns(columns).Error
	})
}
