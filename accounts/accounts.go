// Package accounts keeps the accounts and their sessions. It decides who may register, verifies passwords with
// the same work whether or not there is such an account, and opens, resolves and ends the sessions of browsers.
// A failure of the database is an error of its own kind and is never read as "wrong password" or "no session".
package accounts

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"
	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/mail"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// Registration says who may make an account over HTTP.
type Registration string

// The policies. Under First it is open until there is an account.
const (
	First  Registration = "first"
	Open   Registration = "open"
	Closed Registration = "closed"
	// ByInvite is closed to all but those who were invited, whom the others let in too.
	ByInvite Registration = "invite"
)

// Options say how accounts are kept.
type Options struct {
	// Registration is the policy; anything but First and Open is closed.
	Registration Registration
	// SessionLifetime is how long a session lives at most, whatever is done with it; 0 means 336 h.
	SessionLifetime time.Duration
	// SessionIdle is how long a session lives unused; 0 means 72 h.
	SessionIdle time.Duration
	// SweepEvery is how often expired sessions are removed once started; 0 means hourly.
	SweepEvery time.Duration
	// Erase queues the removal of all that an account has, in the transaction that decides it; nil erases nobody.
	Erase func(ctx context.Context, tx *gorm.DB, id int64) error
	// SecretKey signs invites and sign-in states; without it there are none.
	SecretKey string
	// PublicURL is where links lead; without it a token stands alone, and nothing is mailed.
	PublicURL string
	// ResetLife is how long the link of a reset can be used; 0 means 1 h.
	ResetLife time.Duration
	// InviteMailEvery is the time within which an address is mailed one invite of an organization; 0 means 15 min.
	InviteMailEvery time.Duration
	// Mail and Queue send links; nil sends none.
	Mail  *mail.Mailer
	Queue *jobs.Jobs
	// Now is the clock of the rules; nil means time.Now.
	Now func() time.Time
	// Logger is told of what fails in the background; nil tells nobody.
	Logger *slog.Logger
}

// Accounts is the store of accounts and sessions.
type Accounts struct {
	db       *models.DB
	options  Options
	sessions *scs.SessionManager
	hashing  *semaphore.Weighted
	// unsent is done when the log has said that links cannot be mailed.
	unsent sync.Once

	mu     sync.Mutex // protects what follows
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

var _ auth.SessionFinder = (*Accounts)(nil)

// New makes the store over a migrated database.
func New(db *models.DB, options Options) *Accounts {
	if options.SessionLifetime == 0 {
		options.SessionLifetime = 336 * time.Hour
	}
	if options.SessionIdle == 0 {
		options.SessionIdle = 72 * time.Hour
	}
	if options.ResetLife == 0 {
		options.ResetLife = time.Hour
	}
	if options.InviteMailEvery == 0 {
		options.InviteMailEvery = 15 * time.Minute
	}
	if options.SweepEvery == 0 {
		options.SweepEvery = time.Hour
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	return &Accounts{
		db: db, options: options, sessions: newSessions(db, options),
		// One core is left to everything else.
		hashing: semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)-1))),
	}
}

// Start begins to remove expired sessions, until Stop or the end of ctx. A second Start without a Stop between
// does nothing.
func (a *Accounts) Start(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cancel != nil {
		return
	}
	ctx, a.cancel = context.WithCancel(ctx)
	a.ended.Go(func() { a.sweep(ctx) })
}

// Stop ends what Start began and waits for it. It may be called without Start and more than once.
func (a *Accounts) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cancel == nil {
		return
	}
	a.cancel()
	a.ended.Wait()
	a.cancel = nil
}

// User is an account as others see it.
type User struct {
	ID             int64
	OrganizationID int64
	Email          string
	Username       string
	Role           string
	InstanceAdmin  bool
	// DisabledAt is since when it opens nothing; nil while it does.
	DisabledAt *time.Time
	// AutoSummarization is whether its recordings are summarized by themselves; unless it chose otherwise they are.
	AutoSummarization bool
	// SummaryPrompt is what its summaries are told to be where no tag or folder says it, OutputLanguage what models
	// write to it in; nil for none. ExtractEvents has appointments looked for with each summary.
	SummaryPrompt  *string
	OutputLanguage *string
	ExtractEvents  bool
	CreatedAt      time.Time
	// epoch is that of its sessions when it was read.
	epoch int64
}

func view(row models.User) User {
	return User{
		ID: row.ID, OrganizationID: row.OrganizationID, Email: row.Email, Username: row.Username,
		Role: row.Role, InstanceAdmin: row.InstanceAdmin, DisabledAt: row.DisabledAt, CreatedAt: row.CreatedAt,
		AutoSummarization: row.AutoSummarization == nil || *row.AutoSummarization,
		SummaryPrompt:     row.SummaryPrompt, OutputLanguage: row.OutputLanguage, ExtractEvents: row.ExtractEvents,
		epoch: row.SessionEpoch,
	}
}

// Find is the account of that id.
func (a *Accounts) Find(ctx context.Context, id int64) (User, error) {
	return a.found(a.db.Read.WithContext(ctx).Where("id = ?", id))
}

// ByEmail is the account with that e-mail address, in whatever case it is written.
func (a *Accounts) ByEmail(ctx context.Context, email string) (User, error) {
	return a.found(a.db.Read.WithContext(ctx).Where("email = ?", foldEmail(email)))
}

func (a *Accounts) found(query *gorm.DB) (User, error) {
	var row models.User
	err := query.Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return User{}, noSuchAccount()
	}
	if err != nil {
		return User{}, failed("find an account", err)
	}
	return view(row), nil
}

func noSuchAccount() error { return problems.New(problems.NotFound, "There is no such account.") }

// now is the moment as the databases keep it.
func (a *Accounts) now() time.Time { return a.options.Now().UTC().Truncate(time.Microsecond) }

// failed says what was attempted. A database that may answer later is the caller's to try again.
func failed(attempt string, err error) error {
	return models.Unavailable(attempt, err) //nolint:wrapcheck // it says what was attempted
}
