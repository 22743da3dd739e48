package accounts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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

// Browser is what a session's owner knows it by again.
type Browser struct {
	// Address is the client's.
	Address string
	// UserAgent is how it calls itself; what is too long, or no text, is left out.
	UserAgent string
}

const (
	maxSessionAddress   = 64
	maxSessionUserAgent = 200
)

// bounded is what of it can be stored and shown.
func (b Browser) bounded() Browser {
	shown := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, b.UserAgent)
	runes := []rune(shown)
	b.UserAgent = string(runes[:min(len(runes), maxSessionUserAgent)])
	b.Address = b.Address[:min(len(b.Address), maxSessionAddress)]
	return b
}

// OpenSession begins a session of the account and returns the value of its cookie and how long it lives. A session
// that the browser had before (old may be empty) is ended: what a stranger planted is worth nothing afterwards. It is of
// the epoch in which the user was read: a password that was verified and changed meanwhile opens nothing.
func (a *Accounts) OpenSession(ctx context.Context, old string, user User, browser Browser) (string, time.Duration, error) {
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
	a.sessions.Put(ctx, keyUser, user.ID)
	a.sessions.Put(ctx, keyEpoch, user.epoch)
	a.sessions.Put(ctx, keyExpires, expires.Unix())
	cookie, _, err := a.sessions.Commit(context.WithValue(ctx, opening{}, openedBy{browser.bounded(), user.ID, user.epoch}))
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
		for _, over := range []any{&models.Session{}, &models.UsedState{}} {
			if err := tx.Where("expires_at <= ?", a.now()).Delete(over).Error; err != nil {
				return err
			}
		}
		// Links that were used or missed count among those of the last hour, and nowhere after.
		return tx.Where("expires_at <= ?", a.now().Add(-resetsWithin)).Delete(&models.PasswordReset{}).Error
	})
}
