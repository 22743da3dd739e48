package recordings_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// index brings search up, as the server does beside its requests.
func (r *rig) index() {
	r.t.Helper()
	for {
		done, err := r.recordings.Index(context.Background())
		if err != nil {
			r.t.Fatal(err)
		}
		if done == 0 {
			return
		}
	}
}

// finds gives all that is found, page by page, as "id field unit text spans".
func (r *rig) finds(q recordings.Query) []string {
	r.t.Helper()
	found := []string{}
	for q.Page, q.Limit = 1, recordings.MaxHits; ; q.Page++ {
		page, err := r.recordings.Search(context.Background(), r.owner, q)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, hit := range page.Hits {
			unit := -1
			if hit.SegmentIndex != nil {
				unit = *hit.SegmentIndex
			}
			found = append(found, fmt.Sprintf("%d %s %d %q %v %.4f", hit.RecordingID, hit.Field, unit, hit.Text, hit.Spans, hit.Score))
		}
		if !page.More {
			return found
		}
	}
}

// brief gives what is found as "title:field".
func (r *rig) brief(q recordings.Query) string {
	r.t.Helper()
	page, err := r.recordings.Search(context.Background(), r.owner, q)
	if err != nil {
		r.t.Fatal(err)
	}
	var found []string
	for _, hit := range page.Hits {
		found = append(found, *hit.Title+":"+string(hit.Field))
	}
	return strings.Join(found, " ")
}

// words gives a recording a transcript of segments; "name: text" is said by somebody.
func words(tx *gorm.DB, id int64, segments ...string) error {
	if err := tx.Where("recording_id = ?", id).Delete(&models.Transcript{}).Error; err != nil {
		return err
	}
	if err := tx.Create(&models.Transcript{RecordingID: id, Kind: recordings.Segmented, Engine: "e", Gaps: "[]"}).Error; err != nil {
		return err
	}
	for i, text := range segments {
		at := float64(i)
		row := models.TranscriptSegment{RecordingID: id, Position: i, StartSeconds: &at, EndSeconds: &at, Text: text}
		if name, said, ok := strings.Cut(text, ": "); ok {
			row.Speaker, row.Text = &name, said
		}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
	}
	return nil
}

// Search is the same before and after the indexer came by.
func bothWays(t *testing.T, test func(t *testing.T, url string, ready func(*rig))) {
	each(t, func(t *testing.T, url string) { test(t, url, func(*rig) {}) })
	each(t, func(t *testing.T, url string) { test(t, url, (*rig).index) })
}

// H-072 of search: what is a wildcard or a quote somewhere is a letter here; any case of any script is found.
func TestSearchIsLiteral(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, url string, ready func(*rig)) {
		r := listing(t, url, titled("50% off"), titled("5000 off"), titled("a_b"), titled("axb"), titled(`c\d`), titled(`it's "so"`),
			titled("Straße"), titled("İstanbul"), titled("👍👍👍 done"), titled("cafe\u0301"), titled("ΣΊΣΥΦΟΣ"))
		ready(r)
		for text, want := range map[string]string{
			"50%": "50% off:title", "a_b": "a_b:title", `c\d`: `c\d:title`, "it's": `it's "so":title`, "' OR": "",
			`"50% off"`: "50% off:title", "%%": "", "__": "", "STRAẞE": "Straße:title", "istanbul": "İstanbul:title",
			"👍👍👍": "👍👍👍 done:title", "👍 do": "👍👍👍 done:title", "fe\u0301": "cafe\u0301:title", "café": "",
			"σίσυφος": "ΣΊΣΥΦΟΣ:title", `off" AND account : "x`: "", "search_trigrams : off": "", "NOT OR (": "",
		} {
			if got := r.brief(recordings.Query{Text: text}); got != want {
				t.Errorf("%s finds %q, want %q", text, got, want)
			}
		}
	})
}

// All terms must be in one recording, each in any of the fields that are searched; scores weigh the field and the part
// of the terms that is there.
func TestSearchedFields(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, url string, ready func(*rig)) {
		text := func(s string) *string { return &s }
		one, two := titled("apple"), titled("pear")
		one.Participants, one.Notes, one.Summary = text("apple"), text("first\n\n  an apple\r\npear"), text("apple and pear")
		one.CreatedAt, two.CreatedAt = day(1), day(2)
		folder := models.Folder{Name: "f", Color: "#000000"}
		r := listing(t, url, one, two)
		folder.UserID = r.user.ID
		r.write(func(tx *gorm.DB) error {
			if err := tx.Create(&folder).Error; err != nil {
				return err
			}
			tag := models.Tag{UserID: r.user.ID, Name: "t", Color: "#000000"}
			if err := tx.Create(&tag).Error; err != nil {
				return err
			}
			if err := tx.Create(&models.RecordingTag{RecordingID: 2, TagID: tag.ID}).Error; err != nil {
				return err
			}
			if err := tx.Model(&models.Recording{}).Where("id = 1").Updates(map[string]any{"folder_id": folder.ID, "meeting_date": day(9)}).Error; err != nil {
				return err
			}
			return words(tx, 2, "Ann: an Apple", "Bo: no apple\nhere", "ann: pear", "apple")
		})
		ready(r)
		at := func(n int) *time.Time { d := day(n); return &d }
		id := func(n int64) *int64 { return &n }
		for name, test := range map[string]struct {
			q    recordings.Query
			want string
		}{
			"best first":    {recordings.Query{Text: "apple"}, "apple:title apple:summary apple:participants apple:notes pear:transcript pear:transcript pear:transcript"},
			"and":           {recordings.Query{Text: "apple pear"}, "apple:summary apple:title pear:title apple:participants apple:notes apple:notes pear:transcript pear:transcript pear:transcript pear:transcript"},
			"in a field":    {recordings.Query{Text: "apple", Fields: []recordings.Field{recordings.FieldTitle}}, "apple:title"},
			"and, in one":   {recordings.Query{Text: "apple pear", Fields: []recordings.Field{recordings.FieldTitle}}, ""},
			"speaker":       {recordings.Query{Text: "apple", Speaker: " ANN "}, "pear:transcript"},
			"no speaker":    {recordings.Query{Text: "apple", Speaker: "An"}, ""},
			"across units":  {recordings.Query{Text: `"apple pear"`}, ""},
			"ids":           {recordings.Query{Text: "apple", RecordingIDs: []int64{1, 99}, Fields: []recordings.Field{recordings.FieldTitle, recordings.FieldTranscript}}, "apple:title"},
			"no ids":        {recordings.Query{Text: "apple", RecordingIDs: []int64{}}, ""},
			"folder":        {recordings.Query{Text: "pear", FolderID: &folder.ID}, "apple:summary apple:notes"},
			"no folder":     {recordings.Query{Text: "pear", NoFolder: true}, "pear:title pear:transcript"},
			"tag":           {recordings.Query{Text: "pear", TagID: id(1)}, "pear:title pear:transcript"},
			"unknown tag":   {recordings.Query{Text: "pear", TagID: id(9)}, ""},
			"by meeting":    {recordings.Query{Text: "pear", From: at(9)}, "apple:summary apple:notes"},
			"by upload":     {recordings.Query{Text: "pear", ByCreation: true, From: at(2)}, "pear:title pear:transcript"},
			"until":         {recordings.Query{Text: "pear", Until: at(2)}, "pear:title pear:transcript"},
			"two letters":   {recordings.Query{Text: "ea ap", Fields: []recordings.Field{recordings.FieldSummary}}, "apple:summary"},
			"two and three": {recordings.Query{Text: "ea app", Fields: []recordings.Field{recordings.FieldSummary}}, "apple:summary"},
			"none":          {recordings.Query{Text: "apple", Scope: recordings.ScopeShared}, ""},
		} {
			if got := r.brief(test.q); got != test.want {
				t.Errorf("%s: got %q, want %q", name, got, test.want)
			}
		}
		said := r.finds(recordings.Query{Text: "HERE apple", Speaker: "bo"})
		if want := []string{`2 transcript 1 "no apple\nhere" [[3 8] [9 13]] 0.7000`}; !slices.Equal(said, want) {
			t.Errorf("got %q, want %q", said, want)
		}
		if noted := r.finds(recordings.Query{Text: "an ppl", Fields: []recordings.Field{recordings.FieldNotes}}); !slices.Equal(noted, []string{`1 notes -1 "an apple" [[0 2] [4 7]] 0.8000`}) {
			t.Errorf("got %q", noted)
		}
	})
}

// Terms are bounded; a caller without the right to read finds nothing.
func TestSearchRefuses(t *testing.T) {
	t.Parallel()
	r := listing(t, sqliteURL(t), titled("apple"))
	var many []string
	for n := range 33 {
		many = append(many, fmt.Sprint("w", n))
	}
	for _, text := range []string{`""`, " ", strings.Join(many, " ")} {
		_, err := r.recordings.Search(context.Background(), r.owner, recordings.Query{Text: text})
		expect(t, err, problems.InvalidParameter)
	}
	blind := authtest.ByToken(t, r.user.ID, r.user.OrganizationID, 1, "upload")
	if page, err := r.recordings.Search(context.Background(), blind, recordings.Query{Text: "apple"}); err != nil || len(page.Hits) != 0 {
		t.Errorf("found %v, %v", page, err)
	}
}

// Nobody finds what is another's, by the index or beside it.
func TestSearchKeepsToTheAccount(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, url string, ready func(*rig)) {
		r := listing(t, url, titled("secret apple"))
		ready(r)
		stranger := r.account("stranger")
		p := authtest.ByToken(t, stranger.ID, stranger.OrganizationID, 2, "full")
		for _, q := range []recordings.Query{{Text: "apple"}, {Text: "ap"}, {Text: "apple", RecordingIDs: []int64{1}}} {
			if page, err := r.recordings.Search(context.Background(), p, q); err != nil || len(page.Hits) != 0 {
				t.Errorf("a stranger finds %v, %v", page, err)
			}
		}
	})
}

// Whoever changes a text, search has it at once, and the index follows; a recording that is gone leaves nothing.
func TestSearchFollowsEveryWriter(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := listing(t, url, titled("one"))
		at := func(change func(tx *gorm.DB) error, text, want string) {
			t.Helper()
			r.write(change)
			for _, when := range []string{"before", "after"} {
				if got := r.brief(recordings.Query{Text: text}); got != want {
					t.Errorf("%s the index, %q finds %q, want %q", when, text, got, want)
				}
				r.index()
			}
		}
		set := func(column string, value any) func(tx *gorm.DB) error {
			return func(tx *gorm.DB) error {
				return tx.Model(&models.Recording{}).Where("id = 1").UpdateColumn(column, value).Error
			}
		}
		segment := func(column string, value any) func(tx *gorm.DB) error {
			return func(tx *gorm.DB) error {
				return tx.Model(&models.TranscriptSegment{}).Where("recording_id = 1").UpdateColumn(column, value).Error
			}
		}
		at(set("title", "two"), "two", "two:title")
		at(set("title", "two"), "one", "")
		at(set("participants", "Ann"), "ann", "two:participants")
		at(set("notes", "noted"), "noted", "two:notes")
		at(set("notes", nil), "noted", "")
		at(set("summary", "summed"), "summed", "two:summary")
		at(func(tx *gorm.DB) error { return words(tx, 1, "Ann: spoken") }, "spoken", "two:transcript")
		at(segment("text", "said"), "said", "two:transcript")
		at(segment("speaker", "Bo"), "said", "two:transcript")
		if got := r.brief(recordings.Query{Text: "said", Speaker: "bo"}); got != "two:transcript" {
			t.Errorf("by the new speaker: %q", got)
		}
		at(func(tx *gorm.DB) error { return tx.Where("recording_id = 1").Delete(&models.Transcript{}).Error }, "said", "")
		at(func(tx *gorm.DB) error {
			return tx.Create(&models.Transcript{RecordingID: 1, Kind: recordings.Plain, Text: "a\nplain one", Engine: "e", Gaps: "[]"}).Error
		}, "plain", "two:transcript")
		if err := r.recordings.Delete(context.Background(), r.owner, 1); err != nil {
			t.Fatal(err)
		}
		for _, table := range []any{&models.SearchText{}, &models.SearchMark{}} {
			var count int64
			if err := r.db.Read.Model(table).Count(&count).Error; err != nil || count != 0 {
				t.Errorf("%d rows of %T stayed, %v", count, table, err)
			}
		}
	})
}

// The answer is what reading every row would give: over random texts and queries, with the index whole and with some
// recordings behind it, on both databases.
func TestSearchEqualsReadingEverything(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		random := rand.New(rand.NewPCG(7, 8))
		rows := make([]models.Recording, 1300) // beyond what is read whole
		for i := range rows {
			rows[i] = titled(randomText(random, 12))
			rows[i].CreatedAt = day(1).Add(time.Duration(random.IntN(400)) * time.Hour)
			if random.IntN(2) == 0 {
				date := day(1).Add(time.Duration(random.IntN(400)) * time.Hour)
				rows[i].MeetingDate = &date
			}
			if random.IntN(4) == 0 {
				notes := randomText(random, 40)
				rows[i].Notes = &notes
			}
		}
		r := listing(t, url, rows...)
		r.write(func(tx *gorm.DB) error {
			for id := int64(1); id <= 1300; id += 5 {
				if err := words(tx, id, randomText(random, 20), "Ann: "+randomText(random, 20), randomText(random, 20)); err != nil {
					return err
				}
			}
			return nil
		})
		r.index()
		all := r.everything()
		for range 25 {
			r.agree(random, all)
		}
		r.write(func(tx *gorm.DB) error {
			for range 30 {
				title := randomText(random, 12)
				if err := tx.Model(&models.Recording{}).Where("id = ?", random.IntN(1300)+1).UpdateColumn("title", title).Error; err != nil {
					return err
				}
			}
			return tx.Where("id % 50 = 0").Delete(&models.Recording{}).Error
		})
		all = r.everything()
		for range 60 {
			r.agree(random, all)
		}
	})
}

func randomText(random *rand.Rand, most int) string {
	letters := []rune("abAB%_\\ß\n \"'éς")
	out := make([]rune, 1+random.IntN(most))
	for i := range out {
		out[i] = letters[random.IntN(len(letters))]
	}
	return string(out)
}

// agree compares one search with the naive one.
func (r *rig) agree(random *rand.Rand, all everything) {
	r.t.Helper()
	q := recordings.Query{Text: strings.ReplaceAll(randomText(random, 5), "\n", "") + " " + randomText(random, 6), ByCreation: random.IntN(2) == 0}
	if random.IntN(3) == 0 {
		q.Fields = []recordings.Field{recordings.FieldTitle, recordings.FieldTranscript}
	}
	if recordings.Terms(q.Text) == nil {
		return
	}
	if got, want := r.finds(q), all.naively(q); !slices.Equal(got, want) {
		r.t.Errorf("%q in %v: %d found, %d there: got %.5q, want %.5q", q.Text, q.Fields, len(got), len(want), got, want)
	}
}
