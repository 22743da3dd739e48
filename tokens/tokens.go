// Package tokens keeps the API tokens of accounts: it mints them and shows them once, finds them by their hash,
// holds the cap, narrows, rotates and revokes them, and notes when they were last used. A token that was revoked,
// narrowed or replaced is known as such at once in the process that did it, and in every other within a second.
package tokens

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// Options say how tokens are kept.
type Options struct {
	// MaxPerUser is the cap: how many active tokens an account may have. 0 is no cap.
	MaxPerUser int
	// Figures are those in force, of what is created over HTTP and for the rate limits of a token. They may be nil
	// where neither is asked for.
	Figures *limits.InForce
	// Limits counts what is created over HTTP. It may be nil where nothing is.
	Limits limits.Store
	// PollEvery is how often the change counter is read once started; 0 means 300 ms. At most 1 s is useful:
	// what is older is never trusted.
	PollEvery time.Duration
	// Now is the clock of expiry; nil means time.Now.
	Now func() time.Time
	// Logger is told of what fails in the background; nil tells nobody.
	Logger *slog.Logger
}

// Tokens is the store of tokens. Without Start it is exact but asks the database for every Changes, and Used
// is written by Stop alone.
type Tokens struct {
	db      *models.DB
	options Options
	changes changes
	uses    uses

	mu     sync.Mutex // protects what follows
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

var _ auth.TokenFinder = (*Tokens)(nil)

// New makes the store of tokens over a migrated database.
func New(db *models.DB, options Options) *Tokens {
	if options.PollEvery == 0 {
		options.PollEvery = 300 * time.Millisecond
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	return &Tokens{db: db, options: options, changes: changes{clock: time.Now}}
}

// Start begins to poll the change counter and to write down uses, until Stop or the end of ctx. A second Start
// without a Stop between does nothing.
func (t *Tokens) Start(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		return
	}
	ctx, t.cancel = context.WithCancel(ctx)
	t.ended.Go(func() { t.poll(ctx) })
	t.ended.Go(func() { t.writeUses(ctx) })
}

// Stop ends what Start began, waits for it, and writes the uses that are still queued. It may be called without
// Start and more than once.
func (t *Tokens) Stop(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		t.cancel()
		t.ended.Wait()
		t.cancel = nil
	}
	return t.flushUses(ctx, t.uses.takeAll())
}

// Token is a token as its owner sees it. The plaintext is not in it.
type Token struct {
	ID         int64
	Name       string
	Scopes     auth.ScopeSet
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	LastUsedAt *time.Time
	Revoked    bool
	RateLimits RateLimits
	// Charged is how the create limit stands, in the answer to a creation over HTTP alone.
	Charged []limits.State
}

func view(row models.APIToken) (Token, error) {
	own, err := storedRateLimits(row.RateLimits)
	return Token{
		ID:         row.ID,
		Name:       row.Name,
		Scopes:     auth.ParseScopes(row.Scopes),
		CreatedAt:  row.CreatedAt,
		ExpiresAt:  row.ExpiresAt,
		LastUsedAt: row.LastUsedAt,
		Revoked:    row.RevokedAt != nil,
		RateLimits: own,
	}, err
}

// shown is a token in the one answer that tells its plaintext.
func shown(plaintext string, row models.APIToken) (string, Token, error) {
	token, err := view(row)
	return plaintext, token, err
}

// ownView is a token with the use that is not written down yet.
func (t *Tokens) ownView(row models.APIToken) (Token, error) {
	token, err := view(row)
	return t.withUse(token), err
}

// now is the moment as the databases keep it.
func (t *Tokens) now() time.Time { return t.options.Now().UTC().Truncate(time.Microsecond) }

// active reports whether the token is neither revoked nor expired.
func active(row models.APIToken, at time.Time) bool {
	return row.RevokedAt == nil && (row.ExpiresAt == nil || row.ExpiresAt.After(at))
}

// lockOwner makes changes of one account's tokens wait for each other until the transaction ends, so that what
// was counted stays true. SQLite has one writer and ignores the lock. The weaker lock lets others insert rows
// that merely refer to the account.
func lockOwner(tx *gorm.DB, userID int64) (models.User, error) {
	var owner models.User
	err := tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Take(&owner, userID).Error
	return owner, err
}

// notFound is the answer about another account's token as well as about none.
func notFound() error { return problems.New(problems.NotFound, "There is no such token.") }

// failed says what was attempted. A database that may answer later is the caller's to try again.
func failed(attempt string, err error) error {
	return models.Unavailable(attempt, err) //nolint:wrapcheck // it says what was attempted
}
