package accounts

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// SessionInfo is a session as its owner sees it.
type SessionInfo struct {
	ID                int64
	CreatedAt, SeenAt *time.Time
	ExpiresAt         time.Time
	Browser
	// Current is that of the request.
	Current bool
}

// Sessions are an account's that live, newest first, and how many there are. Those that the version before opened are
// not among them; they end with the others.
func (a *Accounts) Sessions(ctx context.Context, userID int64, cookie string, offset, limit int) ([]SessionInfo, int64, error) {
	query := a.db.Read.WithContext(ctx).Model(&models.Session{}).
		Where("user_id = ? AND expires_at > ? AND created_at > ?", userID, a.now(), a.now().Add(-a.options.SessionLifetime)).
		Where("epoch = (SELECT session_epoch FROM users WHERE id = ?)", userID).Session(&gorm.Session{})
	var total int64
	if err := query.Count(&total).Error; err != nil {
		return nil, 0, failed("count sessions", err)
	}
	var rows []models.Session
	if err := query.Order("id DESC").Offset(offset).Limit(limit).Find(&rows).Error; err != nil {
		return nil, 0, failed("list sessions", err)
	}
	sessions, current := make([]SessionInfo, 0, len(rows)), cookieHash(cookie)
	for _, row := range rows {
		info := SessionInfo{
			ID: row.ID, CreatedAt: row.CreatedAt, SeenAt: row.SeenAt, ExpiresAt: row.ExpiresAt, Current: row.TokenHash == current,
		}
		if row.Address != nil && row.UserAgent != nil {
			info.Browser = Browser{*row.Address, *row.UserAgent}
		}
		sessions = append(sessions, info)
	}
	return sessions, total, nil
}

// EndSession ends one of an account's sessions. Another's is not there.
func (a *Accounts) EndSession(ctx context.Context, userID, id int64) error {
	err := a.db.Transaction(ctx, func(tx *gorm.DB) error {
		ended := tx.Where("id = ? AND user_id = ?", id, userID).Delete(&models.Session{})
		if ended.Error == nil && ended.RowsAffected == 0 {
			return problems.New(problems.NotFound, "There is no such session.")
		}
		return ended.Error
	})
	if err != nil {
		return failed("end a session", err)
	}
	return nil
}

// cookieHash is the name under which scs keeps the session of a cookie.
func cookieHash(cookie string) string {
	sum := sha256.Sum256([]byte(cookie))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
