package tokens

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// Change is what to alter of a token.
type Change struct {
	// Name is the new name; nil leaves it.
	Name *string
	// Scopes is the new set; nil leaves it. It must lie within the present one.
	Scopes []string
	// RateLimits replace those that the token's owner wanted before; nil leaves them, an empty map removes them.
	RateLimits map[string]string
	// By is as in Wish: what a token changes stays within its own limits.
	By int64
}

// Alter renames a token, narrows it, or gives it other limits of its own; one failure alters nothing. Its scopes are
// never widened.
func (t *Tokens) Alter(ctx context.Context, userID, id int64, change Change) (Token, error) {
	var row models.APIToken
	err := t.changing(ctx, userID, id, func(tx *gorm.DB, found *models.APIToken) (bool, error) {
		narrowed := false
		if change.Scopes != nil {
			scopes, err := scopesOf(change.Scopes)
			if err != nil {
				return false, err
			}
			if !scopes.Within(auth.ParseScopes(found.Scopes)) {
				return false, problems.New(problems.InvalidParameter,
					"scopes must lie within those that the token has: it can be narrowed, not widened.")
			}
			narrowed = scopes.Stored() != found.Scopes
			found.Scopes = scopes.Stored()
		}
		if change.Name != nil {
			name, err := nameOf(*change.Name)
			if err != nil {
				return false, err
			}
			found.Name = name
		}
		limited, err := t.limit(tx, found, change)
		if err != nil {
			return false, err
		}
		columns := []string{"name"}
		if narrowed { // a column that is written raises the counter of changes, whatever is written
			columns = append(columns, "scopes")
		}
		if limited {
			columns = append(columns, "rate_limits")
		}
		err = tx.Model(found).Select(columns).Updates(found).Error
		row = *found
		return narrowed || limited, err
	})
	if err != nil {
		return Token{}, failed("change a token", err)
	}
	return t.ownView(row)
}

// limit gives a token the limits that a change asks for, and reports whether they are others than before.
func (t *Tokens) limit(tx *gorm.DB, found *models.APIToken, change Change) (bool, error) {
	if change.RateLimits == nil {
		return false, nil
	}
	before := found.RateLimits
	var err error
	if found.RateLimits, err = t.lowered(found.ID, change.RateLimits); err != nil {
		return false, err
	}
	if change.By != 0 {
		var maker models.APIToken
		if err := tx.Take(&maker, change.By).Error; err != nil {
			return false, err
		}
		if maker.ID == found.ID {
			maker.RateLimits = before
		}
		if err := keepWithin(maker, found); err != nil {
			return false, err
		}
	}
	return !sameText(before, found.RateLimits), nil
}

func sameText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// Revoke ends a token for good: it opens nothing any more and is in no list.
func (t *Tokens) Revoke(ctx context.Context, userID, id int64) error {
	err := t.changing(ctx, userID, id, func(tx *gorm.DB, found *models.APIToken) (bool, error) {
		return true, tx.Model(found).Update("revoked_at", t.now()).Error
	})
	if err != nil {
		return failed("revoke a token", err)
	}
	return nil
}

// Rotate makes the successor of a token: same name, same scopes and mark, same end, same limits. The old one works on
// for the overlap, 0 to MaxOverlapHours, and never beyond its own end; with no overlap it is revoked at once. At most
// two of a line live: an older one still in its overlap ends now. by is as in Wish. It returns the plaintext once.
func (t *Tokens) Rotate(ctx context.Context, userID, id int64, overlapHours int64, by int64) (string, Token, error) {
	if overlapHours < 0 || overlapHours > MaxOverlapHours {
		return "", Token{}, problems.New(problems.InvalidParameter,
			"overlap_hours must be a whole number from 0 to %d, not %d.", MaxOverlapHours, overlapHours)
	}
	plaintext := mint()
	var successor models.APIToken
	err := t.changing(ctx, userID, id, func(tx *gorm.DB, old *models.APIToken) (bool, error) {
		now := t.now()
		if err := rotatable(tx, *old, now); err != nil {
			return false, err
		}
		successor = models.APIToken{
			UserID: old.UserID, Name: old.Name, TokenHash: hashed(plaintext), Scopes: old.Scopes,
			ExpiresAt: old.ExpiresAt, RateLimits: old.RateLimits, Administration: old.Administration, CreatedAt: now,
		}
		if err := boundedBy(tx, by, userID, &successor); err != nil {
			return false, err
		}
		if err := tx.Create(&successor).Error; err != nil {
			return false, err
		}
		if err := inheritFigures(tx, old.ID, successor.ID); err != nil {
			return false, err
		}
		return true, replace(tx, old, successor.ID, now, time.Duration(overlapHours)*time.Hour)
	})
	if err != nil {
		return "", Token{}, failed("rotate a token", err)
	}
	return shown(plaintext, successor)
}

// inheritFigures gives a successor the figures that an administrator gave its predecessor: nobody sheds them by
// rotating.
func inheritFigures(tx *gorm.DB, old, successor int64) error {
	var figures []models.LimitFigure
	if err := tx.Where("token_id = ?", old).Find(&figures).Error; err != nil || len(figures) == 0 {
		return err
	}
	for i := range figures {
		figures[i].ID, figures[i].TokenID = 0, &successor
	}
	if err := tx.Create(&figures).Error; err != nil {
		return err
	}
	_, err := models.RaiseCounter(tx, models.FiguresCounter)
	return err
}

// rotatable refuses what has nothing to hand on, or has handed it on.
func rotatable(tx *gorm.DB, old models.APIToken, now time.Time) error {
	if !active(old, now) {
		return problems.New(problems.Conflict, "The token has expired and can't be rotated.")
	}
	if old.ReplacedBy == nil {
		return nil
	}
	var successor models.APIToken
	if err := tx.Take(&successor, *old.ReplacedBy).Error; err != nil {
		return err
	}
	if !active(successor, now) {
		return nil
	}
	return problems.New(problems.Conflict, "The token was rotated already; rotate its successor, token %d.", successor.ID)
}

// replace ends the old token after the overlap, and now the one that the old one had replaced.
func replace(tx *gorm.DB, old *models.APIToken, successor int64, now time.Time, overlap time.Duration) error {
	err := tx.Model(&models.APIToken{}).Where("replaced_by = ? AND revoked_at IS NULL", old.ID).
		Update("revoked_at", now).Error
	if err != nil {
		return err
	}
	old.ReplacedBy = &successor
	if overlap == 0 {
		// Not by its expiry: a replica whose clock is behind would take it for valid.
		old.RevokedAt = &now
	} else {
		end := now.Add(overlap)
		old.ExpiresAt = earlier(old.ExpiresAt, &end)
	}
	return tx.Model(old).Select("replaced_by", "revoked_at", "expires_at").Updates(old).Error
}

// changing runs one change of an own, unrevoked token in a transaction. When change says that the credential may
// open less than before, every process hears of it.
func (t *Tokens) changing(
	ctx context.Context, userID, id int64,
	change func(tx *gorm.DB, row *models.APIToken) (lessened bool, err error),
) error {
	var count int64
	err := t.db.Transaction(ctx, func(tx *gorm.DB) error {
		if _, err := lockOwner(tx, userID); err != nil {
			return err
		}
		var row models.APIToken
		err := tx.Where("user_id = ? AND revoked_at IS NULL", userID).Take(&row, id).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return notFound()
		}
		if err != nil {
			return err
		}
		lessened, err := change(tx, &row)
		if err != nil || !lessened {
			return err
		}
		count, err = models.RaiseCounter(tx, counterName)
		return err
	})
	if err == nil && count != 0 {
		t.changes.raised(count)
	}
	return err
}
