package recordings_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// The names that a model suggests are cleaned, stand under exactly the transcript's labels, and are stored nowhere.
func TestIdentifySpeakers(t *testing.T) {
	t.Parallel()
	r, model := newTextRig(t, sqliteURL(t), "", nil)
	id := r.spoken("SPEAKER_00", "SPEAKER_01", "", "SPEAKER_00")
	for answer, want := range map[string]string{
		`{"SPEAKER_00":"Ada Lovelace","SPEAKER_01":"Grace"}`:                              "Ada Lovelace|Grace",
		"Here it is:\n```json\n{\"speaker_00\": \" Ada   Lovelace (host) \"}\n```":        "Ada Lovelace|",
		`{"SPEAKER_00":"Unknown","SPEAKER_01":"N/A"}`:                                     "|",
		`{"SPEAKER_00":"Ada, the host","SPEAKER_01":"Grace / Speaker 2"}`:                 "Ada|Grace",
		`{"Ada":"SPEAKER_00","Grace":"SPEAKER_01"}`:                                       "Ada|Grace",
		`{"SPEAKER_00":"SPEAKER_01","SPEAKER_01":"Speaker B"}`:                            "|",
		`{"SPEAKER_00":null,"SPEAKER_01":7,"SPEAKER_02":"Nobody","other":"x"}`:            "|",
		`{"SPEAKER_00":"` + strings.Repeat("x", 101) + `","SPEAKER_01":"Gr\u0000ace; x"}`: "|Grace",
		`{}`: "|",
	} {
		model.Script(llmtest.Says(answer))
		found, err := r.recordings.IdentifySpeakers(context.Background(), r.owner, r.purse, id)
		if got := found.Names["SPEAKER_00"] + "|" + found.Names["SPEAKER_01"]; err != nil || got != want || len(found.Names) != 2 || found.LeftOut != nil {
			t.Errorf("%s is read as %v, %v", answer, found.Names, err)
		}
	}
	call := model.Calls()[0]
	if !call.JSON || call.Cap() != eventCap || !strings.Contains(prompt(call), "SPEAKER_01: words 1") {
		t.Errorf("the model was told %s", prompt(call))
	}
	if names := r.known(r.owner); len(names) != 0 || fmt.Sprint(r.heard(id)) != "[SPEAKER_00 SPEAKER_01  SPEAKER_00]" {
		t.Errorf("something was stored: %v, %v", names, r.heard(id))
	}
	model.Script(llmtest.Says("I cannot tell."))
	_, err := r.recordings.IdentifySpeakers(context.Background(), r.owner, r.purse, id)
	expect(t, err, problems.ProviderFailed)
	for _, nobody := range []int64{r.spoken("", "", ""), r.written("a plain transcript")} {
		_, err = r.recordings.IdentifySpeakers(context.Background(), r.owner, r.purse, nobody)
		expect(t, err, problems.InvalidState)
	}
}

// Of a long transcript every part is asked; who was found first stays.
func TestIdentifySpeakersInParts(t *testing.T) {
	t.Parallel()
	r, model := newTextRig(t, sqliteURL(t), "", func(s *settings) { s.recordings.TextBounds.PartChars, s.recordings.TextBounds.MaxParts = 1000, 2 })
	model.Script(llmtest.Says(`{"SPEAKER_00":"Ada","SPEAKER_01":""}`), llmtest.Says(`{"SPEAKER_00":"Eve","SPEAKER_01":"Grace"}`))
	found, err := r.recordings.IdentifySpeakers(context.Background(), r.owner, r.purse, r.talk(60))
	if err != nil || fmt.Sprint(found.Names) != "map[SPEAKER_00:Ada SPEAKER_01:Grace]" || found.LeftOut == nil || len(model.Calls()) != 2 {
		t.Errorf("found %+v, %v", found, err)
	}
}

// A model's title replaces any, and is nobody's: the next automatic one may replace it. The change is told.
func TestRegenerateTitle(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newTextRig(t, url, "", nil)
		id := r.talk(3)
		r.texts(id, map[string]any{"title": "Mine", "title_by_user": true})
		for answer, want := range map[string]string{
			"The budget": "The budget", "\n# Title: **\"The garden\"**\nand more": "The garden",
			strings.Repeat("x", 300): strings.Repeat("x", 199) + "…", "Re: the plan": "Re: the plan",
		} {
			model.Script(llmtest.Says(answer))
			before := r.events(id)["recording.updated"]
			titled, err := r.recordings.RegenerateTitle(context.Background(), r.owner, r.purse, id)
			row, _ := r.row(id)
			if err != nil || given(row.Title) != want || row.TitleByUser || given(titled.Uploaded.Recording.Title) != want || titled.Transcription == nil {
				t.Errorf("%.40q became %+v, %v", answer, titled.Uploaded.Recording, err)
			}
			if told := r.events(id)["recording.updated"] - before; told != 1 {
				t.Errorf("the change was told %d times", told)
			}
		}
		model.Script(llmtest.Says("***"))
		_, err := r.recordings.RegenerateTitle(context.Background(), r.owner, r.purse, id)
		expect(t, err, problems.ProviderFailed)
		_, err = r.recordings.RegenerateTitle(context.Background(), r.owner, r.purse, r.written("short"))
		expect(t, err, problems.InvalidState)
	})
}

// Assigning speakers with a new summary queues it in the same breath; where none can be made the names count all the same.
func TestAssignWithANewSummary(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newTextRig(t, url, "", nil)
		assign := func(id int64) (recordings.Recording, bool) {
			t.Helper()
			recording, queued, err := r.recordings.AssignSpeakers(context.Background(), r.owner, id, nil, []recordings.Assignment{{Label: "SPEAKER_00", Name: "Ada"}}, true)
			if err != nil {
				t.Fatal(err)
			}
			return recording, queued
		}
		id := r.talk(3)
		if recording, queued := assign(id); !queued || recording.Status != recordings.StatusCompleted {
			t.Errorf("queued is %t, the recording %+v", queued, recording)
		}
		if row, _ := r.row(id); row.AICharged || row.Status != recordings.StatusSummarizing {
			t.Error("a request of another category was charged for the summary")
		}
		if _, queued := assign(id); queued {
			t.Error("a second summary was queued beside the first")
		}
		if recording, queued := assign(r.spoken("SPEAKER_00")); queued || given(recording.Participants) != "Ada" {
			t.Errorf("of too little: queued is %t, the participants are %s", queued, given(recording.Participants))
		}
		r.start()
		r.await(id, recordings.StatusCompleted)
		if told := prompt(model.Calls()[0]); !strings.Contains(told, "Ada: We spoke") {
			t.Errorf("the model was told %s", told)
		}
	})
}
