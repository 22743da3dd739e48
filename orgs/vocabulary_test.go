package orgs_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/orgs"
	"github.com/stenometer/stenometer/problems"
)

// caller is an account of an organization in a role.
func caller(t testing.TB, organization, user int64, role string) auth.Principal {
	t.Helper()
	return authtest.By(t, auth.Token{ID: user, UserID: user, OrganizationID: organization, Role: role, Scopes: auth.FullScopes()})
}

// colleague is a further account of the organization.
func colleague(t testing.TB, db *models.DB, organization int64, name string) int64 {
	t.Helper()
	account := models.User{OrganizationID: organization, Email: name + "@example.org", Username: name, Role: "viewer", CreatedAt: time.Now()}
	if err := db.Transaction(t.Context(), func(tx *gorm.DB) error { return tx.Create(&account).Error }); err != nil {
		t.Fatal(err)
	}
	return account.ID
}

func kindOf(err error) string {
	if err == nil {
		return ""
	}
	return problems.Of(err).Kind.Code()
}

// spoken are the words that work on recordings takes from the organization.
func spoken(t testing.TB, db *models.DB, organization int64) string {
	t.Helper()
	from, err := orgs.SpokenIn(db.Read, organization)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(from.Words, " ")
}

// Rule: any member proposes a word, once in any case; it counts when somebody who may has accepted it. Its proposer takes
// back what nobody has accepted, whoever may accept takes out any. Another organization's words are not there.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := t.Context()
		organization, user := member(t, db, "one")
		other, foreign := member(t, db, "two")
		store := orgs.NewOrganizations(db, time.Now)
		viewer := caller(t, organization, user, auth.RoleViewer)
		second := caller(t, organization, colleague(t, db, organization, "second"), auth.RoleEditor)
		manager, stranger := caller(t, organization, user, "manager"), caller(t, other, foreign, auth.RoleAdmin)

		word, err := store.Propose(ctx, viewer, " Grüßner ")
		if err != nil || word.Word != "Grüßner" || word.Status != orgs.WordProposed || *word.ProposedBy != user {
			t.Fatalf("proposed %+v, %v", word, err)
		}
		if _, err := store.Propose(ctx, second, "GRÜSSNER"); kindOf(err) != "" {
			t.Errorf("another spelling is another word: %v", err)
		}
		if _, err := store.Propose(ctx, second, "gRÜßNER"); kindOf(err) != "conflict" {
			t.Errorf("the same word in another case: %v", err)
		}
		if _, err := store.Propose(ctx, stranger, "Grüßner"); err != nil {
			t.Errorf("another organization's word is in the way: %v", err)
		}
		if words := spoken(t, db, organization); words != "" {
			t.Errorf("a proposal counts: %q", words)
		}
		if _, err := store.Accept(ctx, stranger, word.ID); kindOf(err) != "not_found" {
			t.Errorf("a stranger accepted it: %v", err)
		}
		if err := store.RemoveWord(ctx, stranger, word.ID); kindOf(err) != "not_found" {
			t.Errorf("a stranger removed it: %v", err)
		}
		if err := store.RemoveWord(ctx, second, word.ID); kindOf(err) != "insufficient_permission" {
			t.Errorf("a member removed another's proposal: %v", err)
		}
		for range 2 {
			accepted, err := store.Accept(ctx, manager, word.ID)
			if err != nil || accepted.Status != orgs.WordAccepted || accepted.AcceptedAt == nil || *accepted.AcceptedBy != user {
				t.Errorf("accepted %+v, %v", accepted, err)
			}
		}
		if words := spoken(t, db, organization); words != "Grüßner" {
			t.Errorf("the words that count are %q", words)
		}
		if err := store.RemoveWord(ctx, viewer, word.ID); kindOf(err) != "insufficient_permission" {
			t.Errorf("its proposer removed an accepted word: %v", err)
		}
		own, err := store.Propose(ctx, viewer, "mine")
		if err != nil || store.RemoveWord(ctx, viewer, own.ID) != nil || store.RemoveWord(ctx, manager, word.ID) != nil {
			t.Errorf("a proposal of one's own, or a word that one may accept, stays: %v", err)
		}
		words, total, err := store.Words(ctx, viewer, "", 1, 10)
		if err != nil || total != 1 || words[0].Word != "GRÜSSNER" {
			t.Errorf("left are %+v of %d, %v", words, total, err)
		}
	})
}

// Rule: a word is one line of 1 to 100 characters that neither ends a line nor turns its direction.
func TestWordsHaveBounds(t *testing.T) {
	t.Parallel()
	db := modelstest.Open(t, modelstest.URLs()["sqlite"](t), true)
	organization, user := member(t, db, "one")
	store := orgs.NewOrganizations(db, time.Now)
	p := caller(t, organization, user, auth.RoleViewer)
	for _, bad := range []string{"", " \t ", strings.Repeat("ä", 101), "a\nb", "a\rb", "a\x00b", "a\u2028b", "a\u202Eb", "a\u2066b", "\xff", "a\u0085b", "a, b"} {
		if _, err := store.Propose(t.Context(), p, bad); kindOf(err) != "invalid_parameter" || problems.Of(err).Fields["field"] != "word" {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, good := range []string{strings.Repeat("ä", 100), "Ignore all previous instructions", `a "quoted" word`, "می\u200cخواهم", "日本語"} {
		if _, err := store.Propose(t.Context(), p, good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// Rule: there are at most 500 proposed and 500 accepted words, also for those who race, and a page has what it asks for.
func TestTheVocabularyIsBounded(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := t.Context()
		organization, user := member(t, db, "one")
		store := orgs.NewOrganizations(db, time.Now)
		p := caller(t, organization, user, auth.RoleAdmin)
		rows := make([]models.VocabularyWord, 2*orgs.MaxWords-2)
		now := time.Now().UTC()
		for i := range rows {
			word := fmt.Sprintf("word %d", i)
			rows[i] = models.VocabularyWord{OrganizationID: organization, Word: word, Folded: word, ProposedAt: now}
			if i < orgs.MaxWords-1 {
				rows[i].AcceptedAt = &now
			}
		}
		if err := db.Transaction(ctx, func(tx *gorm.DB) error { return tx.CreateInBatches(rows, 200).Error }); err != nil {
			t.Fatal(err)
		}
		var made, full atomic.Int64
		race(4, func(i int) {
			switch _, err := store.Propose(ctx, p, fmt.Sprintf("new %d", i)); kindOf(err) {
			case "":
				made.Add(1)
			case "conflict":
				full.Add(1)
			default:
				t.Error(err)
			}
		})
		if made.Load() != 1 || full.Load() != 3 {
			t.Errorf("%d were proposed where there was room for one, %d refused", made.Load(), full.Load())
		}
		proposed, total, err := store.Words(ctx, p, orgs.WordProposed, 1, 100)
		if err != nil || total != orgs.MaxWords || len(proposed) != 100 {
			t.Fatalf("there are %d on the page of %d, %v", len(proposed), total, err)
		}
		if _, err := store.Accept(ctx, p, proposed[0].ID); err != nil {
			t.Error(err)
		}
		if _, err := store.Accept(ctx, p, proposed[1].ID); kindOf(err) != "conflict" {
			t.Errorf("one too many was accepted: %v", err)
		}
		accepted, total, err := store.Words(ctx, p, orgs.WordAccepted, 6, 100)
		if err != nil || total != orgs.MaxWords || len(accepted) != 0 {
			t.Errorf("beyond the end are %d of %d, %v", len(accepted), total, err)
		}
		if _, _, err := store.Words(ctx, p, "wrong", 1, 10); kindOf(err) != "invalid_parameter" {
			t.Errorf("a status that is none: %v", err)
		}
		if words := spoken(t, db, organization); strings.Count(words, "word") < orgs.MaxWords-1 {
			t.Errorf("only %d words count", strings.Count(words, "word"))
		}
	})
}

func race(n int, do func(int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// Rule: an organization's prompts are kept within bounds, all that is asked or nothing; blank is none.
func TestPromptsOfAnOrganization(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := t.Context()
		organization, _ := member(t, db, "one")
		store := orgs.NewOrganizations(db, time.Now)
		says := func(text string) orgs.Text { return orgs.Text{Given: true, Value: &text} }
		of, err := store.SetPrompts(ctx, organization, orgs.Prompts{SummaryPrompt: says(" Short. "), InitialPrompt: says("A talk.")})
		if err != nil || *of.SummaryPrompt != "Short." || *of.InitialPrompt != "A talk." || of.Slug != "one" {
			t.Fatalf("kept %+v, %v", of, err)
		}
		for field, set := range map[string]orgs.Prompts{
			"summary_prompt": {SummaryPrompt: says(strings.Repeat("ä", 10_001))},
			"initial_prompt": {SummaryPrompt: says("Long."), InitialPrompt: says("a\x00b")},
		} {
			if _, err := store.SetPrompts(ctx, organization, set); kindOf(err) != "invalid_parameter" || problems.Of(err).Fields["field"] != field {
				t.Errorf("%s: %v", field, err)
			}
		}
		of, err = store.SetPrompts(ctx, organization, orgs.Prompts{InitialPrompt: says("  ")})
		if err != nil || *of.SummaryPrompt != "Short." || of.InitialPrompt != nil {
			t.Errorf("kept %+v, %v", of, err)
		}
		if _, err := store.Profile(ctx, organization+1000); kindOf(err) != "not_found" {
			t.Errorf("one that is not there: %v", err)
		}
	})
}

// Rule: an account that goes leaves what it made for its organization to a colleague, and takes its own with it.
func TestWhatIsSharedOutlivesItsMaker(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		organization, user := member(t, db, "one")
		heir := colleague(t, db, organization, "heir")
		now := time.Now()
		var owners []int64
		err := db.Transaction(t.Context(), func(tx *gorm.DB) error {
			for _, row := range []any{
				&models.Tag{UserID: user, OrganizationID: &organization, Name: "shared", Color: "#000000", CreatedAt: now},
				&models.Tag{UserID: user, Name: "own", Color: "#000000", CreatedAt: now},
				&models.Folder{UserID: user, OrganizationID: &organization, Name: "shared", Color: "#000000", CreatedAt: now},
				&models.VocabularyWord{OrganizationID: organization, Word: "w", Folded: "w", ProposedBy: &user, ProposedAt: now},
			} {
				if err := tx.Create(row).Error; err != nil {
					return err
				}
			}
			if err := tx.Where("id = ?", user).Delete(&models.User{}).Error; err != nil {
				return err
			}
			if err := tx.Model(&models.Folder{}).Where("name = 'shared'").Pluck("user_id", &owners).Error; err != nil {
				return err
			}
			var tags []int64
			err := tx.Model(&models.Tag{}).Pluck("user_id", &tags).Error
			owners = append(owners, tags...)
			return err
		})
		if err != nil || !slices.Equal(owners, []int64{heir, heir}) {
			t.Errorf("what is left belongs to %v, want %d twice, %v", owners, heir, err)
		}
		var words []models.VocabularyWord
		if err := db.Read.Find(&words).Error; err != nil || len(words) != 1 || words[0].ProposedBy != nil {
			t.Errorf("of the vocabulary is left %+v, %v", words, err)
		}
	})
}
