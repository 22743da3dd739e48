package recordings_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
)

// What the list's text finds is what has it in title or participants, whether the index of search proposes it or not:
// with the index whole, and with some recordings behind it.
func TestTextFilterEqualsReadingEverything(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		random := rand.New(rand.NewPCG(3, 4))
		rows := make([]models.Recording, 300)
		for i := range rows {
			rows[i] = titled(randomText(random, 12))
			if participants := randomText(random, 12); i%3 == 0 {
				rows[i].Participants = &participants
			}
			// That another field has the text does not count.
			notes := randomText(random, 40)
			rows[i].Notes = &notes
		}
		r := listing(t, url, rows...)
		agree := func() {
			t.Helper()
			var all []models.Recording
			if err := r.db.Read.Order("created_at DESC, id DESC").Find(&all).Error; err != nil {
				t.Fatal(err)
			}
			for range 100 {
				text := randomText(random, 5)
				if got, want := r.ids(recordings.Filter{Text: text, PerPage: 100}), having(all, text); !slices.Equal(got, want) {
					t.Errorf("%q finds %v, want %v", text, got, want)
				}
			}
		}
		r.index()
		agree()
		r.write(func(tx *gorm.DB) error {
			for range 30 {
				title := randomText(random, 12)
				if err := tx.Model(&models.Recording{}).Where("id = ?", random.IntN(300)+1).UpdateColumn("title", title).Error; err != nil {
					return err
				}
			}
			return nil
		})
		agree()
	})
}

// ids lists what the filter finds.
func (r *rig) ids(filter recordings.Filter) (ids []int64) {
	r.t.Helper()
	page, err := r.recordings.List(r.t.Context(), r.owner, filter)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, recording := range page.Recordings {
		ids = append(ids, recording.ID)
	}
	return ids
}

// having looks through every row, the newest first, for the newest hundred that have the text.
func having(rows []models.Recording, text string) (ids []int64) {
	for _, row := range rows {
		for _, name := range []*string{row.Title, row.Participants} {
			if name != nil && strings.Contains(strings.ToLower(*name), strings.ToLower(text)) {
				ids = append(ids, row.ID)
				break
			}
		}
	}
	return ids[:min(len(ids), 100)]
}

// Letters that LOWER makes alike, search folds alike: else the index would not propose what the list's text is in.
func TestFoldingKeepsWhatLowerCaseMakesAlike(t *testing.T) {
	t.Parallel()
	for letter := rune(1); letter <= unicode.MaxRune; letter++ {
		lower := unicode.ToLower(letter)
		if lower == letter {
			continue
		}
		if folded := recordings.Terms(string(lower)); len(folded) != 1 || !recordings.Matched(string(letter), folded[0]) {
			t.Errorf("%U is not found by %U", letter, lower)
		}
	}
}
