package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/alexedwards/scs/v2"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// touchWithin bounds how long a request waits to prolong its session; what fails is done by a later request.
const touchWithin = 2 * time.Second

// sessionStore keeps sessions in the database, under the hash of their cookie. It also ends those that were idle:
// scs would write at every request for that, this one only when a tenth of the idle time is over.
type sessionStore struct {
	db   *models.DB
	idle time.Duration
	now  func() time.Time
}

var _ scs.CtxStore = (*sessionStore)(nil)

// FindCtx is the data of a session that has not expired, and prolongs it.
func (s *sessionStore) FindCtx(ctx context.Context, hash string) ([]byte, bool, error) {
	var row models.Session
	err := s.db.Read.WithContext(ctx).Where("token_hash = ?", hash).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	now := s.now()
	if !row.ExpiresAt.After(now) {
		return nil, false, nil
	}
	if prolonged := now.Add(s.idle); prolonged.Sub(row.ExpiresAt) > s.idle/10 {
		s.touch(ctx, hash, prolonged)
	}
	return row.Data, true, nil
}

// touch changes a row that is there and never makes one: a session that is ended meanwhile stays ended.
func (s *sessionStore) touch(ctx context.Context, hash string, expires time.Time) {
	ctx, done := context.WithTimeout(ctx, touchWithin)
	defer done()
	_ = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		return tx.Model(&models.Session{}).Where("token_hash = ?", hash).
			UpdateColumns(map[string]any{"expires_at": expires.UTC(), "seen_at": expires.Add(-s.idle).UTC()}).Error
	})
}

// CommitCtx writes a new session. One is written once, at sign-in, so that what was ended is never revived; its
// last moment is judged by whoever reads the data, and expiry here is that of idleness.
func (s *sessionStore) CommitCtx(ctx context.Context, hash string, data []byte, _ time.Time) error {
	now := s.now().UTC()
	row := models.Session{TokenHash: hash, Data: data, ExpiresAt: now.Add(s.idle), CreatedAt: &now, SeenAt: &now}
	if opened, ok := ctx.Value(opening{}).(openedBy); ok {
		row.UserID, row.Epoch, row.Address, row.UserAgent = &opened.userID, &opened.epoch, &opened.Address, &opened.UserAgent
	}
	return s.db.Transaction(ctx, func(tx *gorm.DB) error { return tx.Create(&row).Error })
}

// opening is the key under which who opens a session goes through scs, which knows of its data alone.
type opening struct{}

type openedBy struct {
	Browser
	userID, epoch int64
}

// DeleteCtx ends a session; it is no error when there is none.
func (s *sessionStore) DeleteCtx(ctx context.Context, hash string) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		return tx.Where("token_hash = ?", hash).Delete(&models.Session{}).Error
	})
}

// Find, Commit and Delete complete scs.Store; scs calls the forms with a context.
func (s *sessionStore) Find(hash string) ([]byte, bool, error) {
	return s.FindCtx(context.Background(), hash)
}

// Commit is CommitCtx without a caller to wait for.
func (s *sessionStore) Commit(hash string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), hash, data, expiry)
}

// Delete is DeleteCtx without a caller to wait for.
func (s *sessionStore) Delete(hash string) error { return s.DeleteCtx(context.Background(), hash) }
