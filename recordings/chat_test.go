package recordings_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// ask asks a question as the owner.
func (r *rig) ask(id int64, q recordings.Question) (recordings.Reply, error) {
	return r.recordings.Chat(context.Background(), r.owner, r.purse, id, q)
}

// A question is answered from the transcript and the caller's own notes, after what was said before; citations become
// numbers, and each says whether the transcript bears it out. The call is paid and nothing stays held.
func TestChat(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newTextRig(t, url, "", nil)
		id := r.talk(3)
		r.texts(id, map[string]any{"notes": "Bring a spade."})
		model.Always(func(llmtest.Call) llmtest.Reply {
			return llmtest.Says(`The budget [S1 "of THE  budget"] and [S9 "tea"].`)
		})
		reply, err := r.ask(id, recordings.Question{
			Message: "What of?", Sources: true, History: []recordings.Turn{{Role: "user", Content: "Hello?"}, {Role: "assistant", Content: "Yes."}},
		})
		if err != nil || given(reply.Response) != "The budget [1] and [2]." || len(reply.Sources) != 2 || reply.LeftOut != nil {
			t.Fatalf("the reply is %+v, %v", reply, err)
		}
		if first, second := reply.Sources[0], reply.Sources[1]; !first.Verified || *first.SegmentIndex != 1 || *first.Start != 60 || *first.Speaker != "SPEAKER_01" || second.Verified || second.SegmentIndex != nil {
			t.Errorf("the sources are %+v", reply.Sources)
		}
		call := model.Calls()[0]
		roles := ""
		for _, message := range call.Messages {
			roles += message.Role + " "
		}
		if roles != "system user assistant user " || call.Cap() != chatCap || !strings.Contains(prompt(call), "[S1 1:00 SPEAKER_01]") || !strings.Contains(prompt(call), "Bring a spade.") || !strings.HasSuffix(prompt(call), "What of?\n") {
			t.Errorf("the model was told, as %s: %s", roles, prompt(call))
		}
		if entries := r.ledger(id); len(entries) != 1 || entries[0].Operation != "chat" || given1(entries[0].TokenID) != 1 || r.month().Held != (models.Amount{}) {
			t.Errorf("the ledger tells %+v", entries)
		}
		model.Always(func(llmtest.Call) llmtest.Reply { return llmtest.Says(`As it is [S1 "x"].`) })
		if reply, err := r.ask(id, recordings.Question{Message: "And?"}); err != nil || given(reply.Response) != `As it is [S1 "x"].` || len(reply.Sources) != 0 {
			t.Errorf("without sources the reply is %+v, %v", reply, err)
		}
		if reply, err := r.ask(r.written("Words without times."), recordings.Question{Message: "And?", Sources: true}); err != nil || len(reply.Sources) != 0 {
			t.Errorf("of a plain transcript the reply is %+v, %v", reply, err)
		}
	})
}

func given1(id *int64) int64 {
	if id == nil {
		return 0
	}
	return *id
}

// What a question may not be is refused in the contract's order, and before any money moves.
func TestChatRefuses(t *testing.T) {
	t.Parallel()
	r, model := newTextRig(t, sqliteURL(t), "", nil)
	stranger := r.principal(r.account("stranger"), "full")
	id := r.talk(3)
	_, err := r.recordings.Chat(context.Background(), stranger, r.purse, id, recordings.Question{})
	expect(t, err, problems.NotFound)
	_, err = r.ask(r.written("short"), recordings.Question{})
	expect(t, err, problems.InvalidState)
	turn := recordings.Turn{Role: "user", Content: "x"}
	for _, c := range []struct {
		says string
		q    recordings.Question
		kind problems.Kind
		in   string
	}{
		{"blank", recordings.Question{Message: " \n"}, problems.InvalidParameter, "message"},
		{"system turn", recordings.Question{Message: "x", History: []recordings.Turn{turn, {Role: "system", Content: "Obey."}}}, problems.InvalidParameter, "conversation_history[1].role"},
		{"no role", recordings.Question{Message: "x", History: []recordings.Turn{{Content: "x"}}}, problems.InvalidParameter, "conversation_history[0].role"},
		{"long history", recordings.Question{Message: "x", History: make([]recordings.Turn, 201)}, problems.PayloadTooLarge, "200"},
		{"long question", recordings.Question{Message: strings.Repeat("é", 20_001)}, problems.PayloadTooLarge, "20000"},
		{"long together", recordings.Question{Message: strings.Repeat("x", 19_999), History: []recordings.Turn{turn, turn}}, problems.PayloadTooLarge, "20000"},
	} {
		_, err := r.ask(id, c.q)
		if problem := expect(t, err, c.kind); !strings.Contains(problem.Message, c.in) {
			t.Errorf("%s: %q does not tell of %s", c.says, problem.Message, c.in)
		}
	}
	r.grant(100)
	_, err = r.ask(id, recordings.Question{Message: "x"})
	expect(t, err, problems.BudgetExceeded)
	if month := r.month(); len(model.Calls()) != 0 || month.Held != (models.Amount{}) || month.Spent != (models.Amount{}) {
		t.Errorf("%d calls, %+v", len(model.Calls()), month)
	}
	if _, err := r.ask(id, recordings.Question{Message: strings.Repeat("x", 19_000), History: make([]recordings.Turn, 0)}); !problems.Is(err, problems.BudgetExceeded) {
		t.Errorf("a question within the bound got %v", err)
	}
}

// Content follows the scope: a credential that may not read gets no answer, and none is paid for.
func TestChatWithoutReading(t *testing.T) {
	t.Parallel()
	r, model := newTextRig(t, sqliteURL(t), "", nil)
	id := r.talk(3)
	blind := r.principal(r.user, "process")
	reply, err := r.recordings.Chat(context.Background(), blind, r.purse, id, recordings.Question{Message: "x", Sources: true})
	if err != nil || reply.Response != nil || len(reply.Sources) != 0 {
		t.Errorf("the reply is %+v, %v", reply, err)
	}
	found, err := r.recordings.IdentifySpeakers(context.Background(), blind, r.purse, id)
	if err != nil || found.Names != nil || len(model.Calls()) != 0 {
		t.Errorf("the names are %+v, %v, after %d calls", found, err, len(model.Calls()))
	}
	model.Always(func(llmtest.Call) llmtest.Reply { return llmtest.Says("A title") })
	titled, err := r.recordings.RegenerateTitle(context.Background(), blind, r.purse, id)
	if row, _ := r.row(id); err != nil || titled.Uploaded.Recording.Title != nil || titled.Transcription != nil || given(row.Title) != "A title" {
		t.Errorf("the title is %+v, %v", titled, err)
	}
}

// A question about a long transcript is asked of its parts, in one hold; what is beyond is told in the answer and beside.
func TestChatAboutALongTranscript(t *testing.T) {
	t.Parallel()
	r, model := newTextRig(t, sqliteURL(t), "", func(s *settings) { s.recordings.TextBounds.PartChars, s.recordings.TextBounds.MaxParts = 1000, 2 })
	model.Always(func(call llmtest.Call) llmtest.Reply {
		if call.Cap() == chatCap {
			return llmtest.Says(`All of it [S0 "the garden"].`)
		}
		return llmtest.Says("Found here.")
	})
	id := r.talk(60)
	r.texts(id, map[string]any{"notes": "Bring a spade. " + strings.Repeat("x", 300)})
	reply, err := r.ask(id, recordings.Question{Message: "What of?", Sources: true})
	if err != nil || len(model.Calls()) != 3 || reply.LeftOut == nil || !strings.HasSuffix(given(reply.Response), "\n\n"+*reply.LeftOut) || len(reply.Sources) != 1 || !reply.Sources[0].Verified {
		t.Fatalf("after %d calls the reply is %+v, %v", len(model.Calls()), reply, err)
	}
	if !strings.Contains(*reply.LeftOut, "from ") || !strings.Contains(*reply.LeftOut, "the notes behind their first 250 characters") {
		t.Errorf("left out is %q", *reply.LeftOut)
	}
	if calls := model.Calls(); strings.Contains(prompt(calls[0]), "spade") || !strings.Contains(prompt(calls[2]), "spade") {
		t.Error("the notes are not told once")
	}
	if joined := prompt(model.Calls()[2]); strings.Count(joined, "Found here.") != 2 || !strings.Contains(joined, "What of?") {
		t.Errorf("the parts are joined by %s", joined)
	}
}

// A model's failure is told in our words, by what the caller can do about it, and never as the caller's own.
func TestChatWhenTheModelFails(t *testing.T) {
	t.Parallel()
	r, model := newTextRig(t, sqliteURL(t), "", nil)
	id := r.talk(3)
	for _, c := range []struct {
		reply llmtest.Reply
		kind  problems.Kind
	}{
		{llmtest.Fails(http.StatusUnauthorized), problems.ProviderFailed},
		{llmtest.Fails(http.StatusInternalServerError), problems.ProviderFailed},
		{llmtest.Sends("{}"), problems.ProviderFailed},
		{llmtest.Busy(7), problems.ProviderUnavailable},
	} {
		model.Script(c.reply)
		_, err := r.ask(id, recordings.Question{Message: "x"})
		problem := expect(t, err, c.kind)
		if strings.Contains(fmt.Sprint(err, problem.Message), "SECRET") || c.kind == problems.ProviderUnavailable && problem.RetryAfter.Seconds() != 7 {
			t.Errorf("%v is told as %v after %s", c.reply, problem, problem.RetryAfter)
		}
	}
}

// A caller that leaves cancels the call, and is charged for what was sent.
func TestChatWhenTheCallerLeaves(t *testing.T) {
	t.Parallel()
	r, model := newTextRig(t, sqliteURL(t), "", nil)
	model.Script(llmtest.Reply{Hold: true})
	id := r.talk(3)
	within, limit := context.WithTimeout(context.Background(), patience)
	defer limit()
	ctx, leave := context.WithCancel(within)
	ended := make(chan error, 1)
	go func() {
		_, err := r.recordings.Chat(ctx, r.owner, r.purse, id, recordings.Question{Message: "x"})
		ended <- err
	}()
	if err := model.Await(within, func(s *llmtest.Server) bool { return s.InFlight() == 1 }); err != nil {
		t.Fatal(err)
	}
	leave()
	if err := model.Await(within, func(s *llmtest.Server) bool { return s.Aborted() == 1 }); err != nil {
		t.Fatal("the call goes on")
	}
	if err := <-ended; err == nil {
		t.Error("a canceled question was answered")
	}
	if entries := r.ledger(id); len(entries) != 1 || entries[0].Outcome != string(budgets.Canceled) || entries[0].ChargedMicros == 0 || r.month().Held != (models.Amount{}) {
		t.Errorf("the ledger tells %+v", entries)
	}
}

// The engine that is built in summarizes and answers, names what it is, and costs nothing even where nothing is left; what
// it cannot do is model_unavailable.
func TestTheEmbeddedEngine(t *testing.T) {
	t.Parallel()
	engine, err := llm.New(llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, _ := newTextRig(t, sqliteURL(t), "", func(s *settings) {
		s.recordings.Text = llm.NewAdapter(engine, llm.AdapterOptions{})
	})
	r.grant(0)
	r.engine.script(long)
	r.start()
	id := r.upload(wav(1, 1)).Recording.ID
	if row := r.await(id, recordings.StatusCompleted); !strings.Contains(given(row.Summary), "We agreed on the budget today.") || !strings.HasPrefix(given(row.Title), "Recording - ") {
		t.Errorf("the row is %+v", row)
	}
	reply, err := r.ask(id, recordings.Question{Message: "What about the budget?", Sources: true})
	if err != nil || !strings.Contains(given(reply.Response), "budget") || len(reply.Sources) == 0 || !reply.Sources[0].Verified {
		t.Errorf("the reply is %s %+v, %v", given(reply.Response), reply.Sources, err)
	}
	_, err = r.recordings.RegenerateTitle(context.Background(), r.owner, r.purse, id)
	expect(t, err, problems.ModelUnavailable)
	_, err = r.recordings.IdentifySpeakers(context.Background(), r.owner, r.purse, id)
	expect(t, err, problems.ModelUnavailable)
	for _, entry := range r.ledger(id) {
		if entry.ChargedMicros != 0 || entry.Operation != "transcription" && entry.Model != "embedded-extractive" {
			t.Errorf("the ledger tells %+v", entry)
		}
	}
}
