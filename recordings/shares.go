package recordings

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/webhooks"
)

// maxShares is how many public links a recording may have.
const maxShares = 100

// Share is a link under which anybody sees a recording.
type Share struct {
	ID int64
	// Link is what stands in its address. Whoever has it sees the recording, so that it goes to the owner alone and
	// into no log.
	Link string
	// Summary and Notes tell whether they are shown besides the transcript.
	Summary, Notes bool
	CreatedAt      time.Time
	ExpiresAt      *time.Time
}

// ShareWish is what a caller wants of a link.
type ShareWish struct {
	Summary, Notes bool
	// ForceNew makes a link beside those that there are; else the newest is given again.
	ForceNew bool
	// UpdateExisting changes what a link that is given again shows.
	UpdateExisting bool
	// Days is the life of a new link; 0 is no end.
	Days int
}

// Publication is a link that was asked for.
type Publication struct {
	Share Share
	// Existing links were there before. Differs tells that one shows something else than was asked for.
	Existing, Differs bool
}

// MayShare refuses, in the contract's order, whoever could make no link to the recording, whatever the wish: the
// feature is off, the request did not come by HTTPS, there is no such recording. The role was asked by the guard.
func (s *Recordings) MayShare(ctx context.Context, p auth.Principal, id int64, secure bool) error {
	switch {
	case !s.PublicSharing:
		return problems.New(problems.FeatureDisabled, "This server makes no public links.")
	case !secure:
		return problems.New(problems.HTTPSRequired, "A public link is made over HTTPS only.")
	}
	_, err := s.owned(s.db.Read.WithContext(ctx), p, id)
	return err
}

// Share gives a public link to a recording of the caller's own. Whoever may share was asked by MayShare.
func (s *Recordings) Share(ctx context.Context, p auth.Principal, id int64, wish ShareWish) (Publication, error) {
	var made Publication
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		// The lock makes two that share at once share one link.
		row, err := s.owned(locking(tx), p, id)
		if err != nil {
			return err
		}
		var links []models.PublicShare
		err = tx.Where("recording_id = ? AND user_id = ?", row.ID, p.UserID()).
			Order("id DESC").Limit(maxShares).Find(&links).Error
		if err != nil {
			return fmt.Errorf("find the links that there are: %w", err)
		}
		switch {
		case len(links) > 0 && !wish.ForceNew:
			made, err = shareAgain(tx, links[0], wish)
			return err
		case len(links) == maxShares:
			return problems.New(problems.Conflict, "The recording has %d public links, and may have no more; revoke one.", maxShares)
		}
		link := s.newLink(row, wish)
		if err := tx.Create(&link).Error; err != nil {
			return fmt.Errorf("write the link: %w", err)
		}
		made = Publication{Share: shareOf(link)}
		return webhooks.Announce(tx, s.shareEvent(webhooks.ShareCreated, row, link))
	})
	if err != nil {
		return Publication{}, unavailable("share the recording", err)
	}
	return made, nil
}

// shareAgain gives a link that is there, also one that has expired.
func shareAgain(tx *gorm.DB, link models.PublicShare, wish ShareWish) (Publication, error) {
	differs := link.ShareSummary != wish.Summary || link.ShareNotes != wish.Notes
	if differs && wish.UpdateExisting {
		link.ShareSummary, link.ShareNotes, differs = wish.Summary, wish.Notes, false
		if err := tx.Select("share_summary", "share_notes").Updates(&link).Error; err != nil {
			return Publication{}, fmt.Errorf("change what the link shows: %w", err)
		}
	}
	return Publication{Share: shareOf(link), Existing: true, Differs: differs}, nil
}

func (s *Recordings) newLink(row models.Recording, wish ShareWish) models.PublicShare {
	var secret [16]byte
	rand.Read(secret[:])
	link := models.PublicShare{
		RecordingID: row.ID, UserID: row.UserID, PublicID: base64.RawURLEncoding.EncodeToString(secret[:]),
		ShareSummary: wish.Summary, ShareNotes: wish.Notes, CreatedAt: s.moment(),
	}
	if wish.Days > 0 {
		end := link.CreatedAt.Add(time.Duration(wish.Days) * 24 * time.Hour)
		link.ExpiresAt = &end
	}
	return link
}

// Shares lists the public links to a recording of the caller's own, the newest first.
func (s *Recordings) Shares(ctx context.Context, p auth.Principal, id int64) ([]Share, error) {
	db := s.db.Read.WithContext(ctx)
	row, err := s.owned(db, p, id)
	if err != nil {
		return nil, err
	}
	var links []models.PublicShare
	err = db.Where("recording_id = ? AND user_id = ?", row.ID, p.UserID()).Order("id DESC").Limit(maxShares).Find(&links).Error
	if err != nil {
		return nil, unavailable("list the links", err)
	}
	shares := make([]Share, len(links))
	for i, link := range links {
		shares[i] = shareOf(link)
	}
	return shares, nil
}

// RevokeShare ends a public link that the caller made. It is dead from then on, everywhere.
func (s *Recordings) RevokeShare(ctx context.Context, p auth.Principal, id int64) error {
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var links []models.PublicShare
		if err := tx.Where("id = ? AND user_id = ?", id, p.UserID()).Limit(1).Find(&links).Error; err != nil {
			return fmt.Errorf("find the link: %w", err)
		}
		if len(links) == 0 {
			return noLink()
		}
		// The recording first, as all that change something of it do: in another order two could wait for each other.
		row, err := s.owned(locking(tx), p, links[0].RecordingID)
		if problems.Is(err, problems.NotFound) {
			return noLink() // deleted meanwhile, and the link with it
		}
		if err != nil {
			return err
		}
		gone := tx.Where("id = ?", id).Delete(&models.PublicShare{})
		if gone.Error != nil {
			return fmt.Errorf("delete the link: %w", gone.Error)
		}
		if gone.RowsAffected == 0 {
			return noLink()
		}
		return webhooks.Announce(tx, s.shareEvent(webhooks.ShareRevoked, row, links[0]))
	})
	if err != nil {
		return unavailable("revoke the link", err)
	}
	return nil
}

// shareEvent tells receivers of a link, but not where it leads: they may be anybody's.
func (s *Recordings) shareEvent(kind webhooks.Type, row models.Recording, link models.PublicShare) webhooks.Event {
	return webhooks.Event{
		Type: kind, OrganizationID: row.OrganizationID, UserID: row.UserID, RecordingID: row.ID,
		Data: map[string]any{
			"recording_id": row.ID, "title": row.Title, "share_id": link.ID, "share_summary": link.ShareSummary,
			"share_notes": link.ShareNotes, "updated_at": row.UpdatedAt,
		},
		OccurredAt: s.moment(),
	}
}

func shareOf(link models.PublicShare) Share {
	return Share{
		ID: link.ID, Link: link.PublicID, Summary: link.ShareSummary, Notes: link.ShareNotes,
		CreatedAt: link.CreatedAt, ExpiresAt: link.ExpiresAt,
	}
}

// noLink is one answer for every link that leads nowhere, whatever the reason.
func noLink() *problems.Error {
	return problems.New(problems.NotFound, "There is no such public link.")
}
