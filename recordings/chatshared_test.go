package recordings_test

import (
	"testing"
	"time"

	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// Rule: an answer about another's recording that is being written ends with the share, and the provider is left.
func TestAStreamEndsWithTheShare(t *testing.T) {
	t.Parallel()
	r, model := newTextRig(t, sqliteURL(t), "", sharing)
	member, seen := r.member("member")
	id := r.talk(3)
	share := r.shareWith(r.owner, id, member, false, false)
	model.Always(func(llmtest.Call) llmtest.Reply { return llmtest.Chunks("All ", "of it.").Each(patience) })
	whole := make(chan bool, 1)
	go func() {
		_, _, end, _ := r.streamed(seen, id, recordings.Question{Message: "What of?"})
		whole <- end
	}()
	if err := model.Await(t.Context(), func(s *llmtest.Server) bool { return s.InFlight() == 1 }); err != nil {
		t.Fatal(err)
	}
	if _, err := r.recordings.EndInternalShare(t.Context(), r.owner, id, share.ID); err != nil {
		t.Fatal(err)
	}
	select {
	case end := <-whole:
		if end {
			t.Error("the answer ended as if it were whole")
		}
	case <-time.After(patience / 2):
		t.Fatal("the answer is still being written")
	}
	if err := model.Await(t.Context(), func(s *llmtest.Server) bool { return s.InFlight() == 0 }); err != nil {
		t.Error(err)
	}
}
