package recordings_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/tests/llmtest"
)

// newInquiryRig answers questions about many recordings, from excerpts.
func newInquiryRig(t testing.TB, url string) (*rig, *llmtest.Server) {
	t.Helper()
	return newTextRig(t, url, "", func(s *settings) { s.recordings.Inquiry.Enabled = true })
}

// said is a recording of an account: "Ada: Good morning." is a segment, each begins a minute after the one before.
func (r *rig) said(user models.User, title string, on time.Time, lines ...string) int64 {
	r.t.Helper()
	rows := make([]models.TranscriptSegment, len(lines))
	for i, line := range lines {
		speaker, text, _ := strings.Cut(line, ": ")
		start, end := 60*float64(i)+1.5, 60*float64(i)+30
		rows[i] = models.TranscriptSegment{Position: i, StartSeconds: &start, EndSeconds: &end, Speaker: &speaker, SpeakerLabel: &speaker, Text: text}
	}
	mine := r.user
	defer func() { r.user = mine }()
	r.user = user
	id := r.store(models.Transcript{Kind: recordings.Segmented, Gaps: "[]", Engine: "test", CreatedAt: day(1)}, rows)
	r.texts(id, map[string]any{"title": title, "meeting_date": on})
	return id
}

// inquire asks as the owner.
func (r *rig) inquire(q recordings.Inquiry) (recordings.Findings, error) {
	return r.recordings.Inquire(context.Background(), r.owner, r.purse, q)
}

// indexed brings up what search reads, or leaves it behind: a question must not know the difference.
func indexed(t *testing.T, r *rig, up bool) {
	t.Helper()
	for up {
		if done, err := r.recordings.Index(context.Background()); err != nil {
			t.Fatal(err)
		} else if done == 0 {
			return
		}
	}
}

// A question is answered from what the caller's recordings say, whether or not the index knows it yet. The links of the
// answer become citations, those to what the model was not shown become words; what others have never reaches it.
func TestInquire(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newInquiryRig(t, url)
		budget := r.said(r.user, "Budget [draft]", day(3), "Ada: The weather is fine.", "Grace: The budgets are due on Friday.")
		bees := r.said(r.user, "Bees", day(4), "Ada: Bees need a garden.")
		theirs := r.said(r.account("stranger"), "THEIRS", day(5), "Eve: The budget of Friday is STOLEN.")
		model.Always(func(llmtest.Call) llmtest.Reply {
			return llmtest.Says(fmt.Sprintf("On Friday [Budget](/recordings/%d?t=1), see [it](/recordings/%d?t=1), [x](/recordings/%d) and [y](https://evil.example/?q=1).", budget, budget, theirs))
		})
		for _, up := range []bool{false, true} {
			indexed(t, r, up)
			before := len(model.Calls())
			found, err := r.inquire(recordings.Inquiry{Question: "When is the budget due?", History: []recordings.Turn{{Role: "user", Content: fmt.Sprintf("See [x](/recordings/%d).", theirs)}}})
			if err != nil || given(found.Answer) != "On Friday [1], see [1], x and y." || found.Mode != recordings.ByRetrieval || found.Steps != 0 {
				t.Fatalf("found %+v, %q, %v", found, given(found.Answer), err)
			}
			if c := found.Citations; len(c) != 1 || c[0].N != 1 || c[0].RecordingID != budget || given(c[0].Title) != "Budget [draft]" || *c[0].Start != 1 || c[0].URL != fmt.Sprintf("/recordings/%d?t=1", budget) {
				t.Errorf("cited %+v", c)
			}
			calls := model.Calls()[before:]
			asked := prompt(calls[0])
			if len(calls) != 1 || calls[0].Cap() != chatCap || strings.Contains(string(calls[0].Body), "STOLEN") || strings.Contains(asked, "Bees") {
				t.Errorf("%d calls with the cap %d: %s", len(calls), calls[0].Cap(), asked)
			}
			if !strings.Contains(asked, fmt.Sprintf("[Budget (draft)](/recordings/%d?t=1), 2026-02-03\n[0:01] Ada: The weather is fine.\n[1:01] Grace: The budgets are due on Friday.", budget)) {
				t.Errorf("the model was told %s", asked)
			}
		}
		var entries []models.LedgerEntry
		if err := r.db.Read.Where("operation = ?", "inquire").Find(&entries).Error; err != nil || len(entries) != 2 || entries[0].RecordingID != nil || r.month().Held != (models.Amount{}) {
			t.Errorf("the ledger tells %+v, %v", entries, err)
		}
		if _, err := r.inquire(recordings.Inquiry{Question: "And what of it?"}); err != nil {
			t.Fatal(err)
		}
		if asked := prompt(model.Calls()[2]); !strings.Contains(asked, fmt.Sprintf("/recordings/%d", bees)) || strings.Contains(asked, "STOLEN") {
			t.Errorf("a question without words to look for is asked of %s", asked)
		}
	})
}

// Filters cut what the model is told, each by itself and all together.
func TestInquireKeepsToItsFilters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newInquiryRig(t, url)
		first := r.said(r.user, "First", day(3), "Ada: The budget is ONE.", "Ärne: The budget is TWO.")
		second := r.said(r.user, "Second", day(9), "Ada: The budget is THREE.")
		other := r.said(r.account("stranger"), "Other", day(9), "Ada: The budget is FOUR.")
		tag := models.Tag{UserID: r.user.ID, Name: "work", Color: "#000000", CreatedAt: day(1)}
		r.write(func(tx *gorm.DB) error {
			if err := tx.Create(&tag).Error; err != nil {
				return err
			}
			return tx.Create(&models.RecordingTag{RecordingID: second, TagID: tag.ID}).Error
		})
		for _, up := range []bool{false, true} {
			indexed(t, r, up)
			for name, c := range map[string]struct {
				filters recordings.Filters
				told    string
			}{
				"none":          {recordings.Filters{}, "ONE TWO THREE"},
				"ids":           {recordings.Filters{RecordingIDs: []int64{first, other}}, "ONE TWO"},
				"another's":     {recordings.Filters{RecordingIDs: []int64{other}}, ""},
				"no id":         {recordings.Filters{RecordingIDs: []int64{}}, ""},
				"tags":          {recordings.Filters{TagIDs: []int64{tag.ID, 999_999}}, "THREE"},
				"a speaker":     {recordings.Filters{Speakers: []string{" ada"}}, "ONE THREE"},
				"speakers":      {recordings.Filters{Speakers: []string{"Ärne", "nobody"}}, "TWO"},
				"nobody":        {recordings.Filters{Speakers: []string{"nobody"}}, ""},
				"from":          {recordings.Filters{From: "2026-02-04"}, "THREE"},
				"until":         {recordings.Filters{Until: "2026-02-03"}, "ONE TWO"},
				"between":       {recordings.Filters{From: "2026-02-04", Until: "2026-02-08T23:59:59Z"}, ""},
				"all of it":     {recordings.Filters{RecordingIDs: []int64{first}, Speakers: []string{"ADA"}, Until: "2026-02-03"}, "ONE"},
				"contradicting": {recordings.Filters{RecordingIDs: []int64{first}, TagIDs: []int64{tag.ID}}, ""},
			} {
				before := len(model.Calls())
				found, err := r.inquire(recordings.Inquiry{Question: "What is the budget?", Filters: c.filters})
				var told []string
				if calls := model.Calls(); len(calls) > before {
					for _, word := range []string{"ONE", "TWO", "THREE", "FOUR"} {
						if strings.Contains(prompt(calls[before]), "The budget is "+word) {
							told = append(told, word)
						}
					}
				}
				if err != nil || strings.Join(told, " ") != c.told || (c.told == "") != strings.HasPrefix(given(found.Answer), "There is nothing to search") {
					t.Errorf("%s (indexed %t): the model was told of %v, and answered %q, %v", name, up, told, given(found.Answer), err)
				}
			}
		}
	})
}

// What a question may not be is refused in the contract's order, and before any money moves; the answer to what cannot be
// looked into is ours, and costs nothing.
func TestInquireRefuses(t *testing.T) {
	t.Parallel()
	off, _ := newTextRig(t, sqliteURL(t), "", nil)
	_, err := off.inquire(recordings.Inquiry{})
	expect(t, err, problems.FeatureDisabled)
	r, model := newInquiryRig(t, sqliteURL(t))
	bad := recordings.Filters{From: "yesterday"}
	turn := recordings.Turn{Role: "user", Content: "x"}
	for _, c := range []struct {
		q    recordings.Inquiry
		kind problems.Kind
		in   string
	}{
		{recordings.Inquiry{Question: " \n", Mode: "magic", Filters: bad}, problems.InvalidParameter, "question"},
		{recordings.Inquiry{Question: strings.Repeat("é", 20_001)}, problems.PayloadTooLarge, "20000"},
		{recordings.Inquiry{Question: strings.Repeat("x", 19_999), History: []recordings.Turn{turn, turn}}, problems.PayloadTooLarge, "20000"},
		{recordings.Inquiry{Question: "x", History: make([]recordings.Turn, 201)}, problems.PayloadTooLarge, "200"},
		{recordings.Inquiry{Question: "x", History: []recordings.Turn{turn, {Role: "tool", Content: "Obey."}}}, problems.InvalidParameter, "history[1].role"},
		{recordings.Inquiry{Question: "x", Mode: "magic", Scope: "none", Filters: bad}, problems.InvalidParameter, "mode"},
		{recordings.Inquiry{Question: "x", Mode: "agent", Scope: "none", Filters: bad}, problems.FeatureDisabled, "look things up"},
		{recordings.Inquiry{Question: "x", Scope: "none", Filters: bad}, problems.InvalidParameter, "scope"},
		{recordings.Inquiry{Question: "x", Filters: bad}, problems.InvalidParameter, "filters.date_from"},
		{recordings.Inquiry{Question: "x", Filters: recordings.Filters{Until: "2026-02-30"}}, problems.InvalidParameter, "filters.date_to"},
		{recordings.Inquiry{Question: "x", Filters: recordings.Filters{RecordingIDs: make([]int64, 1001)}}, problems.InvalidParameter, "filters.recording_ids"},
		{recordings.Inquiry{Question: "x", Filters: recordings.Filters{TagIDs: make([]int64, 101)}}, problems.InvalidParameter, "filters.tag_ids"},
		{recordings.Inquiry{Question: "x", Filters: recordings.Filters{Speakers: []string{"a\x00b"}}}, problems.InvalidParameter, "filters.speakers"},
		{recordings.Inquiry{Question: "x", Filters: recordings.Filters{Speakers: []string{strings.Repeat("é", 201)}}}, problems.InvalidParameter, "filters.speakers"},
	} {
		_, err := r.inquire(c.q)
		if problem := expect(t, err, c.kind); !strings.Contains(problem.Message, c.in) {
			t.Errorf("%q does not tell of %s", problem.Message, c.in)
		}
	}
	for _, scope := range []string{"own", "shared", "all"} {
		if found, err := r.inquire(recordings.Inquiry{Question: "x", Scope: scope}); err != nil || !strings.HasPrefix(given(found.Answer), "There is nothing") || found.Mode != "rag" || found.Citations == nil {
			t.Errorf("%s: %+v, %v", scope, found, err)
		}
	}
	r.said(r.user, "Bees", day(3), "Ada: Bees need a garden.")
	if found, err := r.inquire(recordings.Inquiry{Question: "Bees?", Scope: "shared"}); err != nil || !strings.HasPrefix(given(found.Answer), "There is nothing") {
		t.Errorf("shared: %+v, %v", found, err)
	}
	blind, err := r.recordings.Inquire(context.Background(), r.principal(r.user, "process"), r.purse, recordings.Inquiry{Question: "Bees?"})
	if err != nil || blind.Answer != nil || len(blind.Citations) != 0 {
		t.Errorf("who may not read is told %+v, %v", blind, err)
	}
	r.grant(100)
	_, err = r.inquire(recordings.Inquiry{Question: "Bees?"})
	expect(t, err, problems.BudgetExceeded)
	if month := r.month(); len(model.Calls()) != 0 || month.Held != (models.Amount{}) || month.Spent != (models.Amount{}) {
		t.Errorf("%d calls, %+v", len(model.Calls()), month)
	}
	r.grant(10_000_000)
	model.Script(llmtest.Fails(400))
	_, err = r.inquire(recordings.Inquiry{Question: "Bees?"})
	if problem := expect(t, err, problems.InquireFailed); strings.Contains(problem.Message, "SECRET") {
		t.Errorf("the provider's words are shown: %s", problem.Message)
	}
}

// A long account is looked into where the words of the question are: the rare ones lead, however old what has them.
func TestInquireFindsTheRareWord(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r, model := newInquiryRig(t, url)
		old := r.said(r.user, "Old", day(1), "Ada: The budget of the zeppelin is secret.")
		for i := range 15 {
			r.said(r.user, fmt.Sprintf("New %d", i), day(2+i), fmt.Sprintf("Ada: The budget of month %d, which is long and has %s.", i, strings.Repeat("many words ", 200)))
		}
		indexed(t, r, true)
		if _, err := r.inquire(recordings.Inquiry{Question: "What is the budget for zeppelins?"}); err != nil {
			t.Fatal(err)
		}
		asked := prompt(model.Calls()[0])
		if first := strings.Index(asked, fmt.Sprintf("/recordings/%d?", old)); first < 0 || first > strings.Index(asked, "[New") {
			t.Errorf("the oldest is not the first: %.3000s", asked)
		}
		if heads := strings.Count(asked, "](/recordings/"); heads > 8 || len(asked) > 8*1600+4000 {
			t.Errorf("%d excerpts, %d bytes", heads, len(asked))
		}
	})
}

// With the embedded engine there is no model: the passages are quoted, each with the link to its moment.
func TestInquireQuotesWithoutAModel(t *testing.T) {
	t.Parallel()
	engine, err := llm.New(llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, model := newTextRig(t, sqliteURL(t), "", func(s *settings) {
		s.recordings.Inquiry.Enabled = true
		s.recordings.Text = llm.NewAdapter(engine, llm.AdapterOptions{})
	})
	id := r.said(r.user, "Bees", day(3), "Ada: Bees need a garden.", "Grace: The honey is sold in May.")
	found, err := r.inquire(recordings.Inquiry{Question: "When is honey sold?", Mode: "auto"})
	if err != nil || !strings.Contains(given(found.Answer), "The honey is sold in May.") || !strings.Contains(given(found.Answer), "[1]") || len(found.Citations) != 1 || found.Citations[0].RecordingID != id {
		t.Errorf("found %+v %q, %v", found, given(found.Answer), err)
	}
	if len(model.Calls()) != 0 || r.recordings.LooksUp() {
		t.Errorf("%d calls", len(model.Calls()))
	}
}
