package orgs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

const (
	// MaxWords is how many accepted words an organization has at most, and how many proposed ones.
	MaxWords = 500
	// MaxWord is how long a word is at most, in characters.
	MaxWord = 100
)

// The states of a word.
const (
	WordProposed = "proposed"
	WordAccepted = "accepted"
)

// Word is a name or term that an organization spells so. Members propose words; accepted ones go, as words and never as
// instructions, to speech engines and text models.
type Word struct {
	ID         int64
	Word       string
	Status     string
	ProposedBy *int64 // nil once the account is gone; so is AcceptedBy
	ProposedAt time.Time
	AcceptedBy *int64
	AcceptedAt *time.Time
}

func wordOf(row models.VocabularyWord) Word {
	word := Word{
		ID: row.ID, Word: row.Word, Status: WordProposed, ProposedBy: row.ProposedBy, ProposedAt: row.ProposedAt,
		AcceptedBy: row.AcceptedBy, AcceptedAt: row.AcceptedAt,
	}
	if row.AcceptedAt != nil {
		word.Status = WordAccepted
	}
	return word
}

// Words is a page of the vocabulary of the caller's organization, in the order in which words were proposed, and how many
// there are. A status that is not "" keeps the words in it.
func (o *Organizations) Words(ctx context.Context, p auth.Principal, status string, page, perPage int) (words []Word, total int64, err error) {
	query := o.db.Read.WithContext(ctx).Model(&models.VocabularyWord{}).Where("organization_id = ?", p.OrganizationID())
	switch status {
	case "":
	case WordProposed:
		query = query.Where("accepted_at IS NULL")
	case WordAccepted:
		query = query.Where("accepted_at IS NOT NULL")
	default:
		return nil, 0, problems.New(problems.InvalidParameter, "status must be %s or %s.", WordProposed, WordAccepted).With("field", "status")
	}
	query = query.Session(&gorm.Session{})
	if err := query.Count(&total).Error; err != nil {
		return nil, 0, failed("count the words", err)
	}
	var rows []models.VocabularyWord
	if err := query.Order("id").Limit(perPage).Offset((page - 1) * perPage).Find(&rows).Error; err != nil {
		return nil, 0, failed("list the words", err)
	}
	words = make([]Word, len(rows))
	for i, row := range rows {
		words[i] = wordOf(row)
	}
	return words, total, nil
}

// Propose adds a word. One that is there already, in whatever case, is a conflict.
func (o *Organizations) Propose(ctx context.Context, p auth.Principal, text string) (Word, error) {
	text, err := checkWord(text)
	if err != nil {
		return Word{}, err
	}
	by := p.UserID()
	row := models.VocabularyWord{
		OrganizationID: p.OrganizationID(), Word: text, Folded: fold(text), ProposedBy: &by, ProposedAt: o.moment(),
	}
	err = o.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := lock(tx, p.OrganizationID()); err != nil {
			return err
		}
		var there int64
		err := tx.Model(&models.VocabularyWord{}).Where("organization_id = ? AND folded = ?", row.OrganizationID, row.Folded).Count(&there).Error
		if err != nil {
			return fmt.Errorf("look for the word: %w", err)
		}
		if there > 0 {
			return wordTaken()
		}
		if err := keepRoom(tx, p.OrganizationID(), WordProposed); err != nil {
			return err
		}
		return tx.Create(&row).Error
	})
	if errors.Is(err, gorm.ErrDuplicatedKey) {
		err = wordTaken()
	}
	if err != nil {
		return Word{}, failed("propose a word", err)
	}
	return wordOf(row), nil
}

func wordTaken() error {
	return problems.New(problems.Conflict, "The vocabulary has this word already.").With("field", "word")
}

// Accept accepts a word; one that is accepted stays so. Who may is the row's affair: it needs accept_memory_rule.
func (o *Organizations) Accept(ctx context.Context, p auth.Principal, id int64) (Word, error) {
	var row models.VocabularyWord
	err := o.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := lock(tx, p.OrganizationID()); err != nil {
			return err
		}
		var err error
		if row, err = findWord(tx, p, id); err != nil || row.AcceptedAt != nil {
			return err
		}
		if err := keepRoom(tx, p.OrganizationID(), WordAccepted); err != nil {
			return err
		}
		row.AcceptedBy, row.AcceptedAt = new(p.UserID()), new(o.moment())
		return tx.Model(&row).Select("accepted_by", "accepted_at").UpdateColumns(row).Error
	})
	if err != nil {
		return Word{}, failed("accept a word", err)
	}
	return wordOf(row), nil
}

// RemoveWord takes a word out of the vocabulary: whoever may accept words any, others what they have proposed themselves
// and nobody has accepted yet.
func (o *Organizations) RemoveWord(ctx context.Context, p auth.Principal, id int64) error {
	err := o.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := lock(tx, p.OrganizationID()); err != nil {
			return err
		}
		row, err := findWord(tx, p, id)
		if err != nil {
			return err
		}
		if row.AcceptedAt != nil || row.ProposedBy == nil || *row.ProposedBy != p.UserID() {
			if err := p.Permit(auth.AcceptMemoryRule); err != nil {
				return err //nolint:wrapcheck // a refusal for the caller
			}
		}
		return tx.Where("id = ?", row.ID).Delete(&models.VocabularyWord{}).Error
	})
	if err != nil {
		return failed("remove a word", err)
	}
	return nil
}

// findWord finds a word of the caller's organization.
func findWord(tx *gorm.DB, p auth.Principal, id int64) (models.VocabularyWord, error) {
	var rows []models.VocabularyWord
	if err := tx.Where("id = ? AND organization_id = ?", id, p.OrganizationID()).Limit(1).Find(&rows).Error; err != nil {
		return models.VocabularyWord{}, fmt.Errorf("find the word: %w", err)
	}
	if len(rows) == 0 {
		return models.VocabularyWord{}, problems.New(problems.NotFound, "There is no such word.")
	}
	return rows[0], nil
}

// lock makes changes of one vocabulary wait for each other, so that its bounds hold.
func lock(tx *gorm.DB, organizationID int64) error {
	err := tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Select("id").Take(&models.Organization{}, organizationID).Error
	if err != nil {
		return fmt.Errorf("lock the organization: %w", err)
	}
	return nil
}

// keepRoom refuses when there are as many words in the state as there may be.
func keepRoom(tx *gorm.DB, organizationID int64, status string) error {
	query := tx.Model(&models.VocabularyWord{}).Where("organization_id = ?", organizationID)
	if status == WordAccepted {
		query = query.Where("accepted_at IS NOT NULL")
	} else {
		query = query.Where("accepted_at IS NULL")
	}
	var count int64
	if err := query.Count(&count).Error; err != nil {
		return fmt.Errorf("count the words: %w", err)
	}
	if count >= MaxWords {
		return problems.New(problems.Conflict, "An organization has at most %d words that are %s.", MaxWords, status).With("max_words", MaxWords)
	}
	return nil
}

// checkWord takes the white space around a word away and holds it to its bounds. It is one line of what can be seen, in the
// order in which it is read: it goes into lists that people and models read. Hotwords are told with commas between them, so
// that one with a comma would be two.
func checkWord(text string) (string, error) {
	text = strings.TrimSpace(text)
	length := utf8.RuneCountInString(text)
	if length < 1 || length > MaxWord || !utf8.ValidString(text) || strings.ContainsFunc(text, partsWords) {
		return "", problems.New(problems.InvalidParameter, "word must be one line of 1 to %d characters, none of them a comma or a control character.", MaxWord).
			With("field", "word").With("max_length", MaxWord)
	}
	return text, nil
}

// partsWords reports whether a character ends a word or a line, or turns the direction of those that follow.
func partsWords(r rune) bool {
	return r == ',' || unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069'
}

// fold is a word in no case: the databases fold letters each by its own rules.
func fold(word string) string { return strings.ToLower(strings.ToUpper(word)) }

func (o *Organizations) moment() time.Time { return o.now().UTC().Truncate(time.Microsecond) }
