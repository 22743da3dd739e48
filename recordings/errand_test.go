package recordings_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// What is held for a transcript in parts is enough for all of it, whatever the parts come to: the call that joins them is
// not refused after all others were paid for. Letters that take several bytes are the costliest.
func TestAHoldIsEnoughForTheLastCall(t *testing.T) {
	t.Parallel()
	r, model := newTextRig(t, sqliteURL(t), "", func(s *settings) { s.recordings.TextBounds.PartChars, s.recordings.TextBounds.MaxParts = 1000, 2 })
	model.Always(func(llmtest.Call) llmtest.Reply { return llmtest.Says(strings.Repeat("漢", 1000)).WithoutUsage() })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	held := func(calls int) (hold models.BudgetHold) {
		t.Helper()
		if err := model.Await(ctx, func(s *llmtest.Server) bool { return len(s.Calls()) == calls }); err != nil {
			t.Fatal(err)
		}
		if err := r.db.Read.Take(&hold).Error; err != nil {
			t.Fatal(err)
		}
		return hold
	}
	model.Pause()
	r.start()
	id := r.talk(12)
	if _, err := r.recordings.Summarize(ctx, r.owner, r.purse, id, recordings.Instructions{}); err != nil {
		t.Fatal(err)
	}
	first := held(1)
	model.AnswerWhen(func(s *llmtest.Server) bool { return len(s.Calls()) < 3 })
	last := held(3)
	spent := int64(0)
	for _, entry := range r.ledger(id) {
		spent += entry.ChargedMicros
	}
	if spent == 0 || last.Left.Micros+spent != first.Left.Micros {
		t.Errorf("%d were held; after %d were spent, %d are", first.Left.Micros, spent, last.Left.Micros)
	}
	model.AnswerWhen(nil)
	r.await(id, recordings.StatusCompleted)
}
