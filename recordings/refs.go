package recordings

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// The bounds of references, lengths in characters.
const (
	maxRefs     = 50 // of one recording
	maxRefsSent = 1000
	maxRef      = 500
	maxRefURL   = 1000
	maxRefLabel = 200
)

// refWord is the form of a system and of a kind.
var refWord = regexp.MustCompile(`^[a-z0-9_.-]{1,40}$`)

// check holds a reference that a caller sent to its bounds; a blank URL or label is none.
func (r ExternalRef) check(name string) (ExternalRef, error) {
	if err := checkRefWord(name+"system", r.System); err != nil {
		return ExternalRef{}, err
	}
	if err := checkRefWord(name+"kind", r.Kind); err != nil {
		return ExternalRef{}, err
	}
	if r.Ref == "" || utf8.RuneCountInString(r.Ref) > maxRef || !utf8.ValidString(r.Ref) || strings.ContainsFunc(r.Ref, unprintable) {
		return ExternalRef{}, problems.New(problems.InvalidParameter, "%sref must be 1 to %d printable characters.", name, maxRef)
	}
	r.URL, r.Label = optional(strings.TrimSpace(given(r.URL))), optional(strings.TrimSpace(given(r.Label)))
	if r.URL != nil && !isWebAddress(*r.URL) {
		return ExternalRef{}, problems.New(problems.InvalidParameter,
			"%surl must be an address of http or https without spaces, at most %d characters long.", name, maxRefURL)
	}
	return r, problems.OfText(name+"label", given(r.Label), maxRefLabel)
}

func checkRefWord(name, word string) error {
	if refWord.MatchString(word) {
		return nil
	}
	return problems.New(problems.InvalidParameter, "%s must be 1 to 40 characters of a-z, 0-9, _, . and -.", name)
}

// isWebAddress tells whether people can follow the link; nothing of ours ever does.
func isWebAddress(text string) bool {
	address, err := url.Parse(text)
	return err == nil && (address.Scheme == "http" || address.Scheme == "https") && address.Host != "" &&
		utf8.ValidString(text) && utf8.RuneCountInString(text) <= maxRefURL &&
		!strings.ContainsFunc(text, func(r rune) bool { return unprintable(r) || unicode.IsSpace(r) })
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// checkRefs holds a list of references to their bounds. Of the same reference sent twice the last counts.
func checkRefs(name string, sent []ExternalRef) ([]ExternalRef, error) {
	if len(sent) > maxRefsSent {
		return nil, problems.New(problems.InvalidParameter, "%s must be at most %d long.", name, maxRefsSent)
	}
	type key struct{ system, kind, ref string }
	keyOf := func(r ExternalRef) key { return key{r.System, r.Kind, r.Ref} }
	last := make(map[key]int, len(sent))
	checked := make([]ExternalRef, len(sent))
	for i, ref := range sent {
		var err error
		if checked[i], err = ref.check(fmt.Sprintf("%s[%d].", name, i)); err != nil {
			return nil, err
		}
		last[keyOf(ref)] = i
	}
	var kept []ExternalRef
	for i, ref := range checked {
		if last[keyOf(ref)] == i {
			kept = append(kept, ref)
		}
	}
	if len(kept) > maxRefs {
		return nil, tooManyRefs()
	}
	return kept, nil
}

func tooManyRefs() *problems.Error {
	return problems.New(problems.Conflict, "A recording has at most %d references of one account.", maxRefs)
}

// Refs lists the caller's references of a recording that it may see, by id.
func (s *Recordings) Refs(ctx context.Context, p auth.Principal, id int64) ([]ExternalRef, error) {
	db := s.db.Read.WithContext(ctx)
	if _, err := s.visible(db, p, id); err != nil {
		return nil, err
	}
	return refsOf(db, p, id)
}

func refsOf(db *gorm.DB, p auth.Principal, id int64) ([]ExternalRef, error) {
	var rows []models.ExternalRef
	if err := db.Where("recording_id = ? AND user_id = ?", id, p.UserID()).Order("id").Find(&rows).Error; err != nil {
		return nil, unavailable("read the references", err)
	}
	refs := make([]ExternalRef, len(rows))
	for i, row := range rows {
		refs[i] = refOf(row)
	}
	return refs, nil
}

// AddRef notes a reference on a recording that the caller may change. One that is there already stays as it is; its URL and
// label are texts, which a caller that may not read does not get.
func (s *Recordings) AddRef(ctx context.Context, p auth.Principal, id int64, ref ExternalRef) (stored ExternalRef, added bool, err error) {
	if ref, err = ref.check(""); err != nil {
		return ExternalRef{}, false, err
	}
	err = s.change(ctx, p, id, nil, "add the reference", func(tx *gorm.DB, row *models.Recording) ([]Field, error) {
		there, err := refsOf(tx, p, row.ID)
		if err != nil {
			return nil, err
		}
		for _, other := range there {
			if other.System == ref.System && other.Kind == ref.Kind && other.Ref == ref.Ref {
				stored = other
				return nil, nil
			}
		}
		if len(there) >= maxRefs {
			return nil, tooManyRefs()
		}
		made, err := s.storeRefs(tx, p, row, []ExternalRef{ref})
		if err != nil {
			return nil, err
		}
		stored, added = made[0], true
		return []Field{FieldExternalRefs}, nil
	})
	if !added && !p.MayRead() {
		stored.URL, stored.Label = nil, nil
	}
	return stored, added, err
}

// ReplaceRefs puts refs in the place of all references of the system, and gives all that the recording then has; to a
// caller that may not read only those that it sent. References that stay get new ids too, as the contract has it.
func (s *Recordings) ReplaceRefs(ctx context.Context, p auth.Principal, id int64, match Match, system string, refs []ExternalRef) ([]ExternalRef, error) {
	if err := checkRefWord("system", system); err != nil {
		return nil, err
	}
	refs = slices.Clone(refs)
	for i, ref := range refs {
		if ref.System == "" {
			refs[i].System = system
		} else if ref.System != system {
			return nil, problems.New(problems.InvalidParameter, "external_refs[%d].system must be that of the query.", i)
		}
	}
	refs, err := checkRefs("external_refs", refs)
	if err != nil {
		return nil, err
	}
	var all []ExternalRef
	err = s.change(ctx, p, id, match, "replace the references", func(tx *gorm.DB, row *models.Recording) ([]Field, error) {
		gone := tx.Where("recording_id = ? AND user_id = ? AND system = ?", row.ID, p.UserID(), system).Delete(&models.ExternalRef{})
		if gone.Error != nil {
			return nil, fmt.Errorf("delete the old references: %w", gone.Error)
		}
		made, err := s.storeRefs(tx, p, row, refs)
		if err != nil {
			return nil, err
		}
		if all, err = refsOf(tx, p, row.ID); err != nil {
			return nil, err
		}
		if len(all) > maxRefs {
			return nil, tooManyRefs()
		}
		if !p.MayRead() {
			all = made
		}
		if gone.RowsAffected == 0 && len(made) == 0 {
			return nil, nil
		}
		return []Field{FieldExternalRefs}, nil
	})
	return all, err
}

// RemoveRef takes a reference of the caller's off a recording that it may change.
func (s *Recordings) RemoveRef(ctx context.Context, p auth.Principal, id, refID int64) error {
	err := s.change(ctx, p, id, nil, "remove the reference", func(tx *gorm.DB, row *models.Recording) ([]Field, error) {
		gone := tx.Where("id = ? AND recording_id = ? AND user_id = ?", refID, row.ID, p.UserID()).Delete(&models.ExternalRef{})
		if gone.Error != nil {
			return nil, fmt.Errorf("delete the reference: %w", gone.Error)
		}
		if gone.RowsAffected == 0 {
			return nil, problems.New(problems.NotFound, "There is no such reference.")
		}
		return []Field{FieldExternalRefs}, nil
	})
	return err
}

// storeRefs inserts checked references of the caller's, in their order.
func (s *Recordings) storeRefs(tx *gorm.DB, p auth.Principal, row *models.Recording, refs []ExternalRef) ([]ExternalRef, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	now := s.moment()
	rows := make([]models.ExternalRef, len(refs))
	for i, ref := range refs {
		rows[i] = models.ExternalRef{
			RecordingID: row.ID, UserID: p.UserID(), System: ref.System, Kind: ref.Kind, Ref: ref.Ref,
			URL: ref.URL, Label: ref.Label, CreatedAt: now,
		}
	}
	if err := tx.Create(&rows).Error; err != nil {
		return nil, fmt.Errorf("insert the references: %w", err)
	}
	stored := make([]ExternalRef, len(rows))
	for i, row := range rows {
		stored[i] = refOf(row)
	}
	return stored, nil
}
