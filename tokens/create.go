package tokens

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// Wish is a token that somebody wants.
type Wish struct {
	UserID int64
	// Name of 1 to 100 characters after trimming; nil means DefaultName.
	Name *string
	// Scopes asked for; nil means full, an empty list is refused.
	Scopes []string
	// ExpiresInDays from 0 (never) to MaxExpiryDays.
	ExpiresInDays int64
	// RateLimits by category ("read", "write", "process"), as RateLimits are written; nil for none.
	RateLimits map[string]string
	// OverHTTP says that the create limit counts this one; the command is not counted.
	OverHTTP bool
	// Administration asks for the mark; only an account whose role may administer gets it, and full is not it.
	Administration bool
	// By is the id of the token that makes this one, 0 for a session or a command. What a token makes never
	// outlives or exceeds it.
	By int64
}

// Create makes a token and returns its plaintext, which nobody can show again. The cap is judged first and its
// refusal charges nothing; then the create limit, whose refusal is a *limits.Refusal, and whose states after the charge
// the token carries.
func (t *Tokens) Create(ctx context.Context, wish Wish) (string, Token, error) {
	plaintext := mint()
	row, err := t.rowOf(wish, plaintext)
	if err != nil {
		return "", Token{}, err
	}
	var charged []limits.State
	err = t.db.Transaction(ctx, func(tx *gorm.DB) error {
		owner, err := lockOwner(tx, wish.UserID)
		if err != nil {
			return err
		}
		if row.Administration && !auth.RoleMay(owner.Role, auth.ManageTeamBilling) {
			return problems.New(problems.InsufficientPermission, "The account's role, %s, administers nothing, and neither can its tokens.", owner.Role)
		}
		if err := t.room(tx, owner.ID, row.CreatedAt); err != nil {
			return err
		}
		if err := boundedBy(tx, wish.By, owner.ID, &row); err != nil {
			return err
		}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		// Last, since a charge can't be taken back when the transaction fails.
		if !wish.OverHTTP {
			return nil
		}
		charged, err = t.charge(ctx, owner)
		return err
	})
	if err != nil {
		return "", Token{}, failed("create a token", err)
	}
	token, err := view(row)
	token.Charged = charged
	return plaintext, token, err
}

// rowOf judges a wish and writes down what it asks for.
func (t *Tokens) rowOf(wish Wish, plaintext string) (models.APIToken, error) {
	now := t.now()
	row := models.APIToken{UserID: wish.UserID, TokenHash: hashed(plaintext), Administration: wish.Administration, CreatedAt: now}
	var err error
	row.Name = DefaultName
	if wish.Name != nil {
		if row.Name, err = nameOf(*wish.Name); err != nil {
			return row, err
		}
	}
	if row.ExpiresAt, err = expiryOf(wish.ExpiresInDays, now); err != nil {
		return row, err
	}
	scopes := auth.FullScopes()
	if wish.Scopes != nil {
		if scopes, err = scopesOf(wish.Scopes); err != nil {
			return row, err
		}
	}
	row.Scopes = scopes.Stored()
	if wish.RateLimits != nil {
		row.RateLimits, err = t.lowered(0, wish.RateLimits)
	}
	return row, err
}

// room is the cap. Tokens that are revoked or expired don't count, nor does one that is being rotated out while
// its successor lives: the pair counts once.
func (t *Tokens) room(tx *gorm.DB, userID int64, now time.Time) error {
	if t.options.MaxPerUser == 0 {
		return nil
	}
	const alive = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)"
	successors := tx.Model(&models.APIToken{}).Select("id").Where("user_id = ? AND "+alive, userID, now)
	var count int64
	err := tx.Model(&models.APIToken{}).
		Where("user_id = ? AND "+alive, userID, now).
		Where("replaced_by IS NULL OR replaced_by NOT IN (?)", successors).
		Count(&count).Error
	if err != nil {
		return err
	}
	if count < int64(t.options.MaxPerUser) {
		return nil
	}
	return problems.New(problems.TokenLimitReached,
		"The account has %d active tokens and may have %d. Revoking an unused token frees a slot.",
		count, t.options.MaxPerUser).With("max_tokens", t.options.MaxPerUser)
}

// charge takes one of the account's creations.
func (t *Tokens) charge(ctx context.Context, owner models.User) ([]limits.State, error) {
	key := limits.Key{Org: owner.OrganizationID, ID: owner.ID}
	stack := t.options.Figures.Stack(nil, limits.TokenCreate, key)
	if len(stack) == 0 {
		return nil, nil
	}
	decision, err := t.options.Limits.Take(ctx, stack, nil)
	if err != nil {
		return nil, err
	}
	if !decision.Admitted {
		return nil, &limits.Refusal{Decision: decision}
	}
	return decision.States, nil
}

// boundedBy keeps what a token makes within that token: its scopes, its expiry and its limits.
func boundedBy(tx *gorm.DB, by, userID int64, made *models.APIToken) error {
	if by == 0 {
		return nil
	}
	var maker models.APIToken
	err := tx.Where("user_id = ?", userID).Take(&maker, by).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return notFound()
	}
	if err != nil {
		return err
	}
	if !active(maker, made.CreatedAt) {
		return problems.New(problems.InvalidToken, "The token that asked is not valid any more.")
	}
	if !auth.ParseScopes(made.Scopes).Within(auth.ParseScopes(maker.Scopes)) || made.Administration && !maker.Administration {
		return problems.New(problems.InsufficientScope, "A token makes no token that may do more than itself.")
	}
	made.ExpiresAt = earlier(made.ExpiresAt, maker.ExpiresAt)
	return keepWithin(maker, made)
}
