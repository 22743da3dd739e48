package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alexedwards/scs/v2"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

// What the data of a session holds.
const (
	keyUser    = "user"
	keyEpoch   = "epoch"
	keyExpires = "expires"
)

func newSessions(db *models.DB, options Options) *scs.SessionManager {
	sessions := scs.New()
	sessions.Lifetime = options.SessionLifetime
	sessions.HashTokenInStore = true
	sessions.Store = &sessionStore{db: db, idle: options.SessionIdle, now: options.Now}
	return sessions
}

// OpenSession begins a session of the account and returns the value of its cookie and how long it lives. A session
// that the browser had before (old may be empty) is ended: what a stranger planted is worth nothing afterwards.
func (a *Accounts) OpenSession(ctx context.Context, old string, user User) (string, time.Duration, error) {
	var row models.User
	if err := a.db.Read.WithContext(ctx).Take(&row, user.ID).Error; err != nil {
		return "", 0, failed("open a session", err)
	}
	ctx, err := a.sessions.Load(ctx, old)
	if err == nil {
		err = a.sessions.RenewToken(ctx)
	}
	if err == nil {
		err = a.sessions.Clear(ctx)
	}
	if err != nil {
		return "", 0, failed("end the session before", err)
	}
	expires := a.now().Add(a.options.SessionLifetime)
	a.sessions.Put(ctx, keyUser, row.ID)
	a.sessions.Put(ctx, keyEpoch, row.SessionEpoch)
	a.sessions.Put(ctx, keyExpires, expires.Unix())
	cookie, _, err := a.sessions.Commit(ctx)
	if err != nil {
		return "", 0, failed("open a session", err)
	}
	return cookie, a.options.SessionLifetime, nil
}

// FindSession resolves a cookie to the account as it is now. A session of an earlier epoch, of a disabled account,
// or past its lifetime opens nothing.
func (a *Accounts) FindSession(ctx context.Context, cookie string) (auth.Session, bool, error) {
	if cookie == "" {
		return auth.Session{}, false, nil
	}
	loaded, err := a.sessions.Load(ctx, cookie)
	if err != nil {
		return auth.Session{}, false, fmt.Errorf("find a session: %w", err)
	}
	userID := a.sessions.GetInt64(loaded, keyUser)
	if userID == 0 || a.now().Unix() >= a.sessions.GetInt64(loaded, keyExpires) {
		return auth.Session{}, false, nil
	}
	var row models.User
	err = a.db.Read.WithContext(ctx).Take(&row, userID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return auth.Session{}, false, nil
	}
	if err != nil {
		return auth.Session{}, false, fmt.Errorf("find a session's account: %w", err)
	}
	if row.DisabledAt != nil || row.SessionEpoch != a.sessions.GetInt64(loaded, keyEpoch) {
		return auth.Session{}, false, nil
	}
	return auth.Session{UserID: row.ID, OrganizationID: row.OrganizationID, Role: row.Role, Instance: row.InstanceAdmin}, true, nil
}

// CloseSession ends the session of a cookie; one that there isn't is ended already.
func (a *Accounts) CloseSession(ctx context.Context, cookie string) error {
	ctx, err := a.sessions.Load(ctx, cookie)
	if err == nil {
		err = a.sessions.Destroy(ctx)
	}
	if err != nil {
		return failed("end a session", err)
	}
	return nil
}

// sweep removes expired sessions. They open nothing before they are removed, so a failure waits for the next round.
func (a *Accounts) sweep(ctx context.Context) {
	tick := time.NewTicker(a.options.SweepEvery)
	defer tick.Stop()
	for {
		if err := a.removeExpired(ctx); err != nil && ctx.Err() == nil {
			a.options.Logger.WarnContext(ctx, "expired sessions could not be removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (a *Accounts) removeExpired(ctx context.Context) error {
	return a.db.Transaction(ctx, func(tx *gorm.DB) error {
		return tx.Where("expires_at <= ?", a.now()).Delete(&models.Session{}).Error
	})
}
