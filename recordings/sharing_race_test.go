package recordings_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// Rule: of two shares with one person at once one is made, and whatever shares and ends at once, feeds end with what is.
func TestSharingAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", func(s *settings) { s.recordings.InternalSharing, s.recordings.ChangesSettle = true, time.Millisecond })
		grace, by := r.member("grace")
		id := r.said(r.user, "talk", time.Now(), "hello")
		wish := recordings.InternalShareWish{With: recordings.Person{ID: grace.ID}}
		atOnce := func(n int, do func(i int) error) (made int) {
			var mu sync.Mutex
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() {
					err := do(i)
					mu.Lock()
					defer mu.Unlock()
					switch kind := refusal(err); {
					case err == nil:
						made++
					case kind != problems.Conflict && kind != problems.NotFound:
						t.Errorf("at once: %v", err)
					}
				})
			}
			all.Wait()
			return made
		}
		share := func(int) error { _, err := r.recordings.ShareInternally(t.Context(), r.owner, id, wish); return err }
		if made := atOnce(6, share); made != 1 {
			t.Errorf("%d shares were made at once, want 1", made)
		}
		atOnce(12, func(i int) error {
			if i%2 == 0 {
				return share(i)
			}
			_, err := r.recordings.EndInternalShareWith(t.Context(), r.owner, id, grace.ID)
			return err
		})
		_, err := r.recordings.Show(t.Context(), by, id)
		seen := err == nil
		var last string
		r.until("the feed tells how it ended", func() bool {
			_, short := r.followBy(by, recordings.ScopeShared, "")
			last = short
			return strings.Contains(short, "+talk") == seen
		})
		var stone models.RecordingTombstone
		if err := r.db.Read.Where("user_id = ?", grace.ID).Order("deleted_at DESC").Take(&stone).Error; err != nil {
			t.Fatal(err)
		}
		if row, _ := r.row(id); seen && !row.UpdatedAt.After(stone.DeletedAt) || !seen && row.UpdatedAt.After(stone.DeletedAt) {
			t.Errorf("shared is %v, and the recording changed at %s, the last end told at %s: %s", seen, row.UpdatedAt, stone.DeletedAt, last)
		}
	})
}

// Rule: with an account goes what it gave and what it was given, and feeds are told.
func TestSharesOfAnErasedAccount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", func(s *settings) { s.recordings.InternalSharing, s.recordings.ChangesSettle = true, time.Millisecond })
		first, one := r.member("first")
		second, two := r.member("second")
		id := r.said(r.user, "talk", time.Now(), "hello")
		r.shareWith(r.owner, id, first, false, true)
		r.shareWith(one, id, second, false, false)
		from, _ := r.followBy(two, recordings.ScopeShared, "")
		if err := r.accountsOf().BeginErase(t.Context(), first.ID); err != nil {
			t.Fatal(err)
		}
		r.start()
		r.until("the feed tells it", func() bool {
			_, short := r.followBy(two, recordings.ScopeShared, from.Next)
			return strings.Contains(short, fmt.Sprintf("-%d:access_revoked", id))
		})
		if _, err := r.recordings.Show(t.Context(), two, id); refusal(err) != problems.NotFound {
			t.Errorf("what an erased account gave: %v", err)
		}
	})
}

// Rule: who asks pays: the work that an editor starts is charged to the editor's account and token, not to the owner's.
func TestWhoAsksPays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", func(s *settings) { s.recordings.InternalSharing, s.prices = true, aCentASecond })
		editor, changer := r.member("editor")
		r.start()
		id := r.upload(wav(1, 1)).Recording.ID
		r.await(id, recordings.StatusCompleted)
		r.shareWith(r.owner, id, editor, true, false)
		purse := r.recordings.Purses.Of(budgets.Payer{OrganizationID: editor.OrganizationID, UserID: editor.ID, TokenID: 7})
		if _, err := r.recordings.Transcribe(t.Context(), changer, purse, id, recordings.Hints{}); err != nil {
			t.Fatal(err)
		}
		r.await(id, recordings.StatusCompleted)
		var payers []string
		for _, entry := range r.ledger(id) {
			payers = append(payers, fmt.Sprint(entry.UserID, ":", *entry.TokenID))
		}
		if want := fmt.Sprint([]string{fmt.Sprint(r.user.ID, ":", 1), fmt.Sprint(editor.ID, ":", 7)}); fmt.Sprint(payers) != want {
			t.Errorf("paid by %v, want %s", payers, want)
		}
	})
}

// Rule: a share that ends while an answer is being made is over at the next look: the model is shown nothing more of it, nor
// ever the owner's notes.
func TestAShareEndsDuringAnAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newLookupRig(t, url, func(o *recordings.InquiryOptions) { o.Notes = true })
		r.recordings.InternalSharing = true
		grace, by := r.member("grace")
		talk := r.said(r.user, "Budget", day(3), "Ada: The budget is ONE.")
		r.texts(talk, map[string]any{"notes": "OWNERS NOTES"})
		r.said(grace, "Mine", day(3), "Grace: Bees.")
		r.shareWith(r.owner, talk, grace, false, false)
		argument := fmt.Sprintf(`{"recording_id":%d}`, talk)
		var told []string
		model.Always(func(call llmtest.Call) llmtest.Reply {
			last := call.Messages[max(len(call.Messages)-2, 0):] // a forced answer has a sentence behind what was looked up
			told = append(told, last[0].Content+last[len(last)-1].Content)
			switch len(told) {
			case 1:
				return llmtest.Asks("get_notes", argument)
			case 2:
				return llmtest.Asks("get_transcript", argument)
			case 3:
				if _, err := r.recordings.EndInternalShareWith(t.Context(), r.owner, talk, grace.ID); err != nil {
					t.Error(err)
				}
				return llmtest.Asks("get_recording_metadata", argument)
			}
			return llmtest.Says("Done.")
		})
		_, err := r.recordings.Inquire(t.Context(), by, r.purse, recordings.Inquiry{Question: "What of the budget?", Mode: "agent", Scope: "all"})
		if err != nil || len(told) != 4 {
			t.Fatalf("%v after %d calls", err, len(told))
		}
		if strings.Contains(told[1], "OWNERS") || !strings.Contains(told[1], "none") || !strings.Contains(told[2], "ONE") {
			t.Errorf("while it was shared the model was told %q and %q", told[1], told[2])
		}
		if !strings.Contains(told[3], "There is no such recording") {
			t.Errorf("after its end the model was told %q", told[3])
		}
	})
}
