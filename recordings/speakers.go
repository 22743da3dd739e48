package recordings

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// The bounds of the people whom an account knows, lengths in characters.
const (
	maxSavedSpeakers = 10_000
	maxSpeakerName   = 100
	maxEmail         = 320
	maxAliases       = 20
)

// emailForm asks for what every address has; whether it exists only a letter would tell.
var emailForm = regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s]+$`)

// Speaker is a person whom the account knows. Email is nil for none.
type Speaker struct {
	ID         int64
	Name       string
	Email      *string
	Aliases    []string
	UseCount   int64
	LastUsedAt *time.Time
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// SpeakerChange is what is said of a speaker; nil says nothing.
type SpeakerChange struct {
	Name    *string
	Email   *string   // blank for none
	Aliases *[]string // empty for none
}

// check cleans what is said and holds it to its bounds.
func (c SpeakerChange) check() (SpeakerChange, error) {
	if c.Name != nil {
		name, err := checkSpeakerName("name", *c.Name)
		if err != nil {
			return SpeakerChange{}, err
		}
		if name == "" {
			return SpeakerChange{}, problems.New(problems.InvalidParameter, "name must be 1 to %d characters long.", maxSpeakerName)
		}
		c.Name = &name
	}
	if c.Email != nil {
		email := strings.ToLower(strings.TrimSpace(*c.Email))
		if err := problems.OfText("email", email, maxEmail); err != nil {
			return SpeakerChange{}, err
		}
		if email != "" && (!emailForm.MatchString(email) || strings.ContainsFunc(email, unprintable)) {
			return SpeakerChange{}, problems.New(problems.InvalidParameter, "email must be an address: one @, a dot after it, no spaces.")
		}
		c.Email = &email
	}
	if c.Aliases != nil {
		aliases, err := checkAliases(*c.Aliases)
		if err != nil {
			return SpeakerChange{}, err
		}
		c.Aliases = &aliases
	}
	return c, nil
}

// checkSpeakerName cleans a name, which may be blank. A line end in it would break every subtitle that shows it.
func checkSpeakerName(field, name string) (string, error) {
	name = strings.TrimSpace(name)
	if strings.ContainsFunc(name, unicode.IsControl) {
		return "", problems.New(problems.InvalidParameter, "%s must have no control characters.", field)
	}
	return name, problems.OfText(field, name, maxSpeakerName)
}

// checkAliases drops blanks and, of those that differ in case alone, all but the first.
func checkAliases(sent []string) ([]string, error) {
	aliases, seen := []string{}, map[string]bool{}
	for i, alias := range sent {
		alias, err := checkSpeakerName(fmt.Sprintf("aliases[%d]", i), alias)
		if err != nil {
			return nil, err
		}
		if key := strings.ToLower(alias); alias != "" && !seen[key] {
			seen[key], aliases = true, append(aliases, alias)
		}
	}
	if len(aliases) > maxAliases {
		return nil, problems.New(problems.InvalidParameter, "aliases must be at most %d long.", maxAliases)
	}
	return aliases, nil
}

// Speakers lists the people of the caller's account, those who are named most first; with an email address, in any
// case, only those who have it.
func (s *Recordings) Speakers(ctx context.Context, p auth.Principal, email string) ([]Speaker, error) {
	query := s.db.Read.WithContext(ctx).Where("user_id = ? AND deleted_at IS NULL", p.UserID())
	if email = strings.ToLower(strings.TrimSpace(email)); email != "" {
		if !emailForm.MatchString(email) || !utf8.ValidString(email) || strings.ContainsFunc(email, unprintable) {
			return []Speaker{}, nil // nobody has what is no address, and PostgreSQL takes no zero bytes
		}
		query = query.Where("email = ?", email)
	}
	var rows []models.Speaker
	err := query.Order("use_count DESC, COALESCE(last_used_at, created_at) DESC, id DESC").Limit(maxSavedSpeakers).Find(&rows).Error
	if err != nil {
		return nil, unavailable("list the speakers", err)
	}
	speakers := make([]Speaker, len(rows))
	for i, row := range rows {
		if speakers[i], err = speakerOf(row); err != nil {
			return nil, err
		}
	}
	return speakers, nil
}

// AddSpeaker makes a speaker; a name that the account has is invalid_parameter, as the contract has it.
func (s *Recordings) AddSpeaker(ctx context.Context, p auth.Principal, said SpeakerChange) (Speaker, error) {
	if said.Name == nil {
		said.Name = new(string)
	}
	said, err := said.check()
	if err != nil {
		return Speaker{}, err
	}
	var row models.Speaker
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := lockAccount(tx, p.UserID()); err != nil {
			return err
		}
		_, taken, err := speakerNamed(tx, p.UserID(), *said.Name)
		if err != nil {
			return err
		}
		if taken {
			return problems.New(problems.InvalidParameter, "name is that of another speaker of the account.")
		}
		row, err = s.insertSpeaker(tx, p.UserID(), said)
		return err
	})
	if err != nil {
		return Speaker{}, unavailable("add the speaker", err)
	}
	return speakerOf(row)
}

// ChangeSpeaker changes what is said of a speaker. A new name reaches every recording that the speaker is in.
func (s *Recordings) ChangeSpeaker(ctx context.Context, p auth.Principal, id int64, said SpeakerChange) (Speaker, error) {
	said, err := said.check()
	if err != nil {
		return Speaker{}, err
	}
	var row models.Speaker
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if row, err = ownSpeaker(tx, p, id); err != nil {
			return err
		}
		before := row
		if said.Name != nil && *said.Name != row.Name {
			_, taken, err := speakerNamed(tx, p.UserID(), *said.Name)
			if err != nil {
				return err
			}
			if taken {
				return problems.New(problems.Conflict, "The account has another speaker of this name.")
			}
		}
		if err := said.apply(&row); err != nil {
			return err
		}
		if row.Name == before.Name && given(row.Email) == given(before.Email) && row.Aliases == before.Aliases {
			return nil
		}
		row.UpdatedAt = later(before.UpdatedAt, s.moment())
		if err := tx.Select("name", "email", "aliases", "updated_at").Updates(&row).Error; err != nil {
			return fmt.Errorf("update the speaker: %w", err)
		}
		if row.Name == before.Name {
			return nil
		}
		return s.spread(ctx, tx, row)
	})
	if err != nil {
		return Speaker{}, unavailable("change the speaker", err)
	}
	return speakerOf(row)
}

// RemoveSpeaker forgets a speaker. Transcripts keep the name.
func (s *Recordings) RemoveSpeaker(ctx context.Context, p auth.Principal, id int64) error {
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		row, err := ownSpeaker(tx, p, id)
		if err != nil {
			return err
		}
		now := s.moment()
		row.DeletedAt = &now
		if err := tx.Model(&row).UpdateColumn("deleted_at", now).Error; err != nil {
			return fmt.Errorf("delete the speaker: %w", err)
		}
		return s.spread(ctx, tx, row)
	})
	if err != nil {
		return unavailable("delete the speaker", err)
	}
	return nil
}

// ownSpeaker locks the account and finds one of its speakers. The account is locked before any recording is: two who
// locked the same recordings in opposite orders would wait for each other.
func ownSpeaker(tx *gorm.DB, p auth.Principal, id int64) (models.Speaker, error) {
	if err := lockAccount(tx, p.UserID()); err != nil {
		return models.Speaker{}, err
	}
	var rows []models.Speaker
	if err := tx.Where("id = ? AND user_id = ? AND deleted_at IS NULL", id, p.UserID()).Limit(1).Find(&rows).Error; err != nil {
		return models.Speaker{}, fmt.Errorf("find the speaker: %w", err)
	}
	if len(rows) == 0 {
		return models.Speaker{}, problems.New(problems.NotFound, "There is no such speaker.")
	}
	return rows[0], nil
}

func speakerNamed(tx *gorm.DB, userID int64, name string) (row models.Speaker, found bool, err error) {
	var rows []models.Speaker
	if err := tx.Where("user_id = ? AND name = ? AND deleted_at IS NULL", userID, name).Limit(1).Find(&rows).Error; err != nil {
		return row, false, fmt.Errorf("look for a speaker of the name: %w", err)
	}
	if len(rows) == 0 {
		return row, false, nil
	}
	return rows[0], true, nil
}

// insertSpeaker writes a new speaker under the account's lock.
func (s *Recordings) insertSpeaker(tx *gorm.DB, userID int64, said SpeakerChange) (models.Speaker, error) {
	var count int64
	if err := tx.Model(&models.Speaker{}).Where("user_id = ? AND deleted_at IS NULL", userID).Count(&count).Error; err != nil {
		return models.Speaker{}, fmt.Errorf("count the speakers: %w", err)
	}
	if count >= maxSavedSpeakers {
		return models.Speaker{}, problems.New(problems.Conflict, "An account has at most %d speakers.", maxSavedSpeakers)
	}
	now := s.moment()
	row := models.Speaker{UserID: userID, Aliases: "[]", LastUsedAt: &now, CreatedAt: now, UpdatedAt: now}
	if err := said.apply(&row); err != nil {
		return models.Speaker{}, err
	}
	if err := tx.Create(&row).Error; err != nil {
		return models.Speaker{}, fmt.Errorf("insert the speaker: %w", err)
	}
	return row, nil
}

// apply writes what is said over the row.
func (c SpeakerChange) apply(row *models.Speaker) error {
	if c.Name != nil {
		row.Name = *c.Name
	}
	if c.Email != nil {
		row.Email = optional(*c.Email)
	}
	if c.Aliases != nil {
		encoded, err := json.Marshal(*c.Aliases)
		if err != nil {
			return fmt.Errorf("encode the aliases: %w", err)
		}
		row.Aliases = string(encoded)
	}
	return nil
}

func speakerOf(row models.Speaker) (Speaker, error) {
	speaker := Speaker{
		ID: row.ID, Name: row.Name, Email: row.Email, Aliases: []string{}, UseCount: row.UseCount,
		LastUsedAt: row.LastUsedAt, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
	if err := json.Unmarshal([]byte(row.Aliases), &speaker.Aliases); err != nil {
		return Speaker{}, fmt.Errorf("read the aliases of speaker %d: %w", row.ID, err)
	}
	return speaker, nil
}
