package recordings_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// What a summary is to be says the request, else the tags together, else the folder, else the account, else this server;
// variables are the request's, else the recording's. A request may add to what stands.
func TestWhoSaysWhatASummaryIs(t *testing.T) {
	t.Parallel()
	r, model := newTextRig(t, sqliteURL(t), "", nil)
	r.start()
	r.prefer(map[string]any{"summary_prompt": "of the account for {{who}}"})
	said := func(p string) recordings.TagEdit {
		return recordings.TagEdit{Preset: recordings.Preset{Name: recordings.Edit[string]{Given: true, Value: ptr(strings.ToUpper(p))}, CustomPrompt: recordings.Edit[string]{Given: true, Value: ptr(p)}}}
	}
	first, second := r.tag(r.owner, said("of the first tag")), r.tag(r.owner, said("of the second tag"))
	folder, err := r.recordings.CreateFolder(context.Background(), r.owner, recordings.FolderEdit{Preset: said("of the folder").Preset})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says   string
		tags   []int64
		folder bool
		told   recordings.Instructions
		want   []string
	}{
		{says: "account", want: []string{"of the account for Ada"}},
		{says: "variables of the request", told: recordings.Instructions{Variables: map[string]string{"who": "Grace"}}, want: []string{"of the account for Grace"}},
		{says: "folder", folder: true, want: []string{"of the folder"}},
		{says: "tags", folder: true, tags: []int64{second, first}, want: []string{"of the second tag\n\nof the first tag"}},
		{says: "request", folder: true, tags: []int64{first}, told: recordings.Instructions{Prompt: ptr("of the request, {{who}}{{none}}")}, want: []string{"of the request, Ada\n"}},
		{says: "request appends", tags: []int64{first}, told: recordings.Instructions{Prompt: ptr("of the request"), Append: true}, want: []string{"of the first tag\n\nof the request"}},
		{says: "blank request", tags: []int64{first}, told: recordings.Instructions{Prompt: ptr("  ")}, want: []string{"of the first tag"}},
	} {
		id := r.talk(2)
		columns := map[string]any{"title": "x", "title_by_user": true, "prompt_variables": `{"who":"Ada"}`}
		if c.folder {
			columns["folder_id"] = folder.ID
		}
		r.texts(id, columns)
		for i, tag := range c.tags {
			r.write(func(tx *gorm.DB) error {
				return tx.Create(&models.RecordingTag{RecordingID: id, TagID: tag, Position: i}).Error
			})
		}
		if _, err := r.recordings.Summarize(context.Background(), r.owner, r.purse, id, c.told); err != nil {
			t.Fatal(err)
		}
		r.await(id, recordings.StatusCompleted)
		calls := model.Calls()
		_, text, _ := strings.Cut(prompt(calls[len(calls)-1]), " instructions\n")
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in %s", c.says, want, text)
			}
		}
		for _, other := range []string{"of the account", "of the folder", "of the first tag", "of the second tag", "of the request"} {
			if strings.Contains(text, other) && !strings.Contains(c.want[0], other) {
				t.Errorf("%s: %q is in %s", c.says, other, text)
			}
		}
	}
}

// The variables of an upload are kept as texts, within bounds; what is no object of texts is none.
func TestPromptVariablesOfAnUpload(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), "", nil)
	for sent, want := range map[string]string{
		`{"who":" Ada ","n":7,"yes":true,"bad name":"x","deep":{},"none":null}`: `map[n:7 who:Ada yes:true]`,
		`["who"]`:            `map[]`,
		`{`:                  `map[]`,
		`{"who":"a\u0000b"}`: `map[who:ab]`,
		`{"who":"` + strings.Repeat("é", 2500) + `"}`: `map[who:` + strings.Repeat("é", 2000) + `]`,
	} {
		got := r.upload(wav(1, 1), "prompt_variables", sent).Recording.PromptVariables
		if fmt.Sprint(got) != want {
			t.Errorf("%.60s is kept as %.80v", sent, got)
		}
	}
	var many strings.Builder
	for i := range 60 {
		fmt.Fprintf(&many, `,"v%02d":"x"`, i)
	}
	accepted := r.upload(wav(1, 1), "prompt_variables", "{"+many.String()[1:]+"}").Recording
	if got := accepted.PromptVariables; len(got) != 50 {
		t.Errorf("%d variables are kept", len(got))
	}
}

// A transcript that is longer than a call is worked through in parts, all in one hold, and joined; what is beyond the
// parts is left out, and the summary says from when on.
func TestALongTranscriptIsSummarizedInParts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newTextRig(t, url, "", func(s *settings) { s.recordings.TextBounds.PartChars, s.recordings.TextBounds.MaxParts = 1000, 3 })
		model.Always(func(call llmtest.Call) llmtest.Reply {
			return llmtest.Says(fmt.Sprintf("Notes with a cap of %d. %s", call.Cap(), strings.Repeat("More. ", 200)))
		})
		r.start()
		id := r.talk(60)
		r.texts(id, map[string]any{"title": "x", "title_by_user": true})
		if _, err := r.recordings.Summarize(context.Background(), r.owner, r.purse, id, recordings.Instructions{}); err != nil {
			t.Fatal(err)
		}
		row := r.await(id, recordings.StatusCompleted)
		calls := model.Calls()
		if len(calls) != 4 {
			t.Fatalf("%d calls, want three parts and one that joins", len(calls))
		}
		minutes, seen := regexp.MustCompile(`\[(\d+):00\]`), map[string]int{}
		for i, call := range calls[:3] {
			for _, found := range minutes.FindAllStringSubmatch(prompt(call), -1) {
				seen[found[1]]++
			}
			if call.Cap() > 1000/3 || strings.Count(prompt(call), "garden") > 10 {
				t.Errorf("part %d has a cap of %d", i, call.Cap())
			}
		}
		next := fmt.Sprintf("%d:00", len(seen))
		for minute, times := range seen {
			if times != 1 {
				t.Errorf("minute %s is in %d parts", minute, times)
			}
		}
		joined := prompt(calls[3])
		if calls[3].Cap() != summaryCap || strings.Count(joined, "Notes with a cap of") != 3 || strings.Count(joined, "More.") > 3*60 {
			t.Errorf("the parts are joined by %s", joined)
		}
		if left := "Left out: what was said from " + next + " on, about "; !strings.Contains(given(row.Summary), left) {
			t.Errorf("the summary does not say %q: %s", left, given(row.Summary))
		}
		holds := map[int64]bool{}
		for _, entry := range r.ledger(id) {
			holds[entry.HoldID] = true
		}
		if len(holds) != 1 || len(r.ledger(id)) != 4 {
			t.Errorf("%d calls in %d holds", len(r.ledger(id)), len(holds))
		}
	})
}

// A transcript without times says how much was left out; one line that is longer than a part is cut.
func TestALongLineIsCut(t *testing.T) {
	t.Parallel()
	r, model := newTextRig(t, sqliteURL(t), "", func(s *settings) { s.recordings.TextBounds.PartChars, s.recordings.TextBounds.MaxParts = 1000, 2 })
	r.start()
	id := r.written(strings.Repeat("word ", 1000))
	r.texts(id, map[string]any{"title": "x", "title_by_user": true})
	if _, err := r.recordings.Summarize(context.Background(), r.owner, r.purse, id, recordings.Instructions{}); err != nil {
		t.Fatal(err)
	}
	row := r.await(id, recordings.StatusCompleted)
	if !regexp.MustCompile(`Left out: the last 6\d % of the transcript`).MatchString(given(row.Summary)) || len(model.Calls()) != 3 {
		t.Errorf("after %d calls the summary is %s", len(model.Calls()), given(row.Summary))
	}
	if strings.Contains(prompt(model.Calls()[0]), "wor\n") {
		t.Error("a word was cut")
	}
}
