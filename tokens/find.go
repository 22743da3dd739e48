package tokens

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

// FindToken looks a token up by the SHA-256 of its plaintext, with what its owner is now. It judges nothing.
func (t *Tokens) FindToken(ctx context.Context, hash [32]byte) (auth.Token, bool, error) {
	var row struct {
		ID             int64
		UserID         int64
		Scopes         string
		ExpiresAt      *time.Time
		RevokedAt      *time.Time
		OrganizationID int64
		Role           string
		RateLimits     *string
		DisabledAt     *time.Time
		Administration bool
		InstanceAdmin  bool
	}
	err := t.db.Read.WithContext(ctx).Model(&models.APIToken{}).
		Select("api_tokens.id, api_tokens.user_id, api_tokens.scopes, api_tokens.expires_at, api_tokens.revoked_at, api_tokens.rate_limits, "+
			"api_tokens.administration, "+
			"users.organization_id, users.role, users.instance_admin, users.disabled_at").
		Joins("JOIN users ON users.id = api_tokens.user_id").
		Where("api_tokens.token_hash = ?", hex.EncodeToString(hash[:])).
		Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return auth.Token{}, false, nil
	}
	if err != nil {
		return auth.Token{}, false, fmt.Errorf("find a token: %w", err)
	}
	own, err := storedRateLimits(row.RateLimits)
	if err != nil {
		return auth.Token{}, false, fmt.Errorf("find a token: %w", err)
	}
	return auth.Token{
		ID:             row.ID,
		UserID:         row.UserID,
		OrganizationID: row.OrganizationID,
		Role:           row.Role,
		Scopes:         auth.ParseScopes(row.Scopes),
		ExpiresAt:      row.ExpiresAt,
		Revoked:        row.RevokedAt != nil,
		OwnerDisabled:  row.DisabledAt != nil,
		Administration: row.Administration,
		Instance:       row.InstanceAdmin,
		RateLimits:     own.figures(),
	}, true, nil
}

// Find is a token, expired ones included, and the id of its owner, for an administrator. Revoked ones are gone.
func (t *Tokens) Find(ctx context.Context, id int64) (token Token, owner int64, err error) {
	var row models.APIToken
	err = t.db.Read.WithContext(ctx).Where("revoked_at IS NULL").Take(&row, id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return Token{}, 0, notFound()
	}
	if err != nil {
		return Token{}, 0, failed("find a token", err)
	}
	token, err = t.ownView(row)
	return token, row.UserID, err
}

// List is the account's tokens, oldest first: those that work, and those that have expired. Revoked ones are
// gone, and so are those whose rotation is over.
func (t *Tokens) List(ctx context.Context, userID int64) ([]Token, error) {
	var rows []models.APIToken
	err := t.db.Read.WithContext(ctx).
		Where("user_id = ? AND revoked_at IS NULL", userID).
		Where("replaced_by IS NULL OR expires_at IS NULL OR expires_at > ?", t.now()).
		Order("id").Find(&rows).Error
	if err != nil {
		return nil, failed("list tokens", err)
	}
	list := make([]Token, 0, len(rows))
	for _, row := range rows {
		token, err := t.ownView(row)
		if err != nil {
			return nil, err
		}
		list = append(list, token)
	}
	return list, nil
}

// Current is the token that a request came with: last used now.
func (t *Tokens) Current(ctx context.Context, userID, id int64) (Token, error) {
	var row models.APIToken
	err := t.db.Read.WithContext(ctx).Where("user_id = ?", userID).Take(&row, id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return Token{}, notFound()
	}
	if err != nil {
		return Token{}, failed("show a token", err)
	}
	token, err := view(row)
	if err != nil {
		return Token{}, err
	}
	now := t.now()
	token.LastUsedAt = &now
	return token, nil
}
