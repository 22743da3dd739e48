package recordings_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	standing "github.com/stenometer/stenometer/settings"
	"github.com/stenometer/stenometer/speech"
)

// standingAs is a rig under system settings that the test may change while no job is at work.
func standingAs(values *standing.Values) func(*settings) {
	return func(s *settings) { s.recordings.Standing = func() standing.Values { return *values } }
}

func byDefault() *standing.Values {
	return &standing.Values{MaxFileSizeMB: 10, TranscriptLengthLimit: standing.Unlimited, EnableFolders: true}
}

// Rule: max_file_size_mb bounds an upload from the moment it is set, and never lifts what the configuration bounds.
func TestTheSettingOfTheLargestFile(t *testing.T) {
	t.Parallel()
	values := byDefault()
	r := newRig(t, sqliteURL(t), "", func(s *settings) {
		standingAs(values)(s)
		s.recordings.MaxUploadBytes = 3 << 20
	})
	large := append(wav(1, 1), make([]byte, 2<<20)...)
	r.upload(large)
	values.MaxFileSizeMB = 1
	_, err := r.send(r.owner, "talk.wav", large)
	if refusal := expect(t, err, problems.PayloadTooLarge); refusal.Fields["max_size_mb"] != 1.0 {
		t.Errorf("the refusal tells %v", refusal.Fields)
	}
	values.MaxFileSizeMB = 10
	_, err = r.send(r.owner, "talk.wav", append(wav(1, 1), make([]byte, 4<<20)...))
	expect(t, err, problems.PayloadTooLarge)
}

// Rule: hints of the instance are for recordings for which nobody has any; what is said by an upload stays, and blank is none.
func TestTheSettingsOfHints(t *testing.T) {
	t.Parallel()
	values := byDefault()
	values.DefaultHotwords, values.DefaultInitialPrompt, values.DefaultModel = "Zürich", "A meeting.", "large"
	r := newRig(t, sqliteURL(t), "", standingAs(values))
	heard := make(chan speech.Request, 9)
	r.engine.script(func(_ context.Context, _ int, _ speech.Audio, request speech.Request) (speech.Answer, error) {
		heard <- request
		return says("hello"), nil
	})
	r.start()
	r.await(r.upload(wav(1, 1)).Recording.ID, recordings.StatusCompleted)
	if got := <-heard; got.Hotwords != "Zürich" || got.InitialPrompt != "A meeting." || got.Model != "large" {
		t.Errorf("where nobody says anything the engine is asked %+v", got)
	}
	r.await(r.upload(wav(1, 2), "hotwords", "Bern", "transcription_model", "small").Recording.ID, recordings.StatusCompleted)
	if got := <-heard; got.Hotwords != "Bern" || got.Model != "small" {
		t.Errorf("where an upload says it the engine is asked %+v", got)
	}
}

// Rule: of listed models alone one may be named, and the refusal lists them; a model that was taken from the list since is
// replaced by the default.
func TestTheSettingOfModels(t *testing.T) {
	t.Parallel()
	values := byDefault()
	values.ModelsVisible, values.DefaultModel = []string{"small", "medium"}, "large"
	r := newRig(t, sqliteURL(t), "", standingAs(values))
	heard := make(chan speech.Request, 9)
	r.engine.script(func(_ context.Context, _ int, _ speech.Audio, request speech.Request) (speech.Answer, error) {
		heard <- request
		return says("hello"), nil
	})
	_, err := r.send(r.owner, "talk.wav", wav(1, 1), "transcription_model", "tiny")
	refusal := expect(t, err, problems.InvalidParameter)
	if !strings.Contains(refusal.Message, "small, medium") || refusal.Fields["field"] != "transcription_model" {
		t.Errorf("the refusal is %q, %v", refusal.Message, refusal.Fields)
	}
	id := r.upload(wav(1, 2), "transcription_model", "small").Recording.ID
	values.ModelsVisible = []string{"medium"}
	r.start()
	r.await(id, recordings.StatusCompleted)
	if got := <-heard; got.Model != "large" {
		t.Errorf("a model that may not be named any more is asked for: %q", got.Model)
	}
	_, err = r.recordings.Transcribe(context.Background(), r.owner, r.purse, id, recordings.Hints{Model: new("small")})
	expect(t, err, problems.InvalidParameter)
	if _, err = r.recordings.Transcribe(context.Background(), r.owner, r.purse, id, recordings.Hints{Model: new("large")}); err != nil {
		t.Errorf("the default may not be named: %v", err)
	}
}

// Rule: the instance's prompt is that of summaries for which nobody says another; a transcript is cut at the limit, and the
// summary tells what is left out.
func TestTheSettingsOfSummaries(t *testing.T) {
	t.Parallel()
	values := byDefault()
	values.DefaultSummaryPrompt, values.TranscriptLengthLimit = "Write like a pirate.", 500
	r, model := newTextRig(t, sqliteURL(t), "", standingAs(values))
	model.Always(answers("Arr.", "Bees", "[]"))
	r.start()
	id := r.talk(40)
	if _, err := r.recordings.Summarize(context.Background(), r.owner, r.purse, id, recordings.Instructions{}); err != nil {
		t.Fatal(err)
	}
	row := r.await(id, recordings.StatusCompleted)
	said := prompt(model.Calls()[0])
	if !strings.Contains(said, "like a pirate") || strings.Count(said, "garden") > 6 {
		t.Errorf("the model is told %.2000s", said)
	}
	if row.Summary == nil || !strings.Contains(*row.Summary, "Left out") {
		t.Errorf("the summary does not tell what is left out: %v", row.Summary)
	}
	r.prefer(map[string]any{"summary_prompt": "Write like a judge."})
	if _, err := r.recordings.Summarize(context.Background(), r.owner, r.purse, id, recordings.Instructions{}); err != nil {
		t.Fatal(err)
	}
	r.await(id, recordings.StatusCompleted)
	calls := model.Calls()
	if said := prompt(calls[len(calls)-1]); strings.Contains(said, "pirate") || !strings.Contains(said, "like a judge") {
		t.Errorf("where the account says it the model is told %.2000s", said)
	}
}

// Rule: disable_auto_summarization stops what is summarized by itself, and nothing that somebody asks for.
func TestTheSettingOfSummariesByThemselves(t *testing.T) {
	t.Parallel()
	var off atomic.Bool // asked by the workers, too
	off.Store(true)
	r, model := newTextRig(t, sqliteURL(t), "", func(s *settings) {
		s.recordings.Standing = func() standing.Values {
			values := *byDefault()
			values.DisableAutoSummarization = off.Load()
			return values
		}
	})
	model.Always(answers("Bees.", "Bees", "[]"))
	r.engine.script(func(context.Context, int, speech.Audio, speech.Request) (speech.Answer, error) {
		return says("My name is Ada and I keep bees."), nil
	})
	r.start()
	row := r.await(r.upload(wav(1, 1)).Recording.ID, recordings.StatusCompleted)
	if row.Summary != nil || len(model.Calls()) != 0 {
		t.Errorf("it was summarized: %v", row.Summary)
	}
	off.Store(false)
	if row = r.await(r.upload(wav(1, 2)).Recording.ID, recordings.StatusCompleted); row.Summary == nil {
		t.Error("it was not summarized where that is on")
	}
}
