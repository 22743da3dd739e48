// Package audit keeps what administrators did: who, from where, what, on what, when, and how it ended. Entries are added
// and never changed, which the databases see to. Nothing unsafe is done before its entry is written.
package audit

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/resting"
)

// Command is the Address of what was done by a command on the server's own machine, where there is no account.
const Command = "command"

// Done is the outcome of what a story writes itself, in the transaction in which it happens.
const Done = "done"

// Refused is the outcome of what was refused.
func Refused(kind problems.Kind) string { return strconv.Itoa(kind.Status()) + " " + kind.Code() }

// Entry is something that was done. It holds no secret, no body and nothing that a caller wrote but ids.
type Entry struct {
	At time.Time
	// ActorID is the account that did it, TokenID the token by which; 0 where there is none.
	ActorID, TokenID int64
	// OrganizationID is whose administrators see the entry; 0 means the organization of the Object, or else the actor's.
	OrganizationID int64
	// Address is the client's, or Command.
	Address string
	// Action is a stable word: "user.disable".
	Action string
	// Object is what it was done to: "user 7".
	Object string
	// Outcome is a status and, of a refusal, its code: "403 insufficient_permission". It is empty while it is being done.
	Outcome   string
	RequestID string
}

// Options say how the log is kept.
type Options struct {
	// Keep is how long entries are kept; 0 means 365 days.
	Keep time.Duration
	// SweepEvery is how often older ones are removed once started; 0 means hourly.
	SweepEvery time.Duration
	// Failed is called for each entry or outcome that could not be written; nil counts nothing.
	Failed func()
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger has a line for each entry; nil has none.
	Logger *slog.Logger
}

// Log is the audit log.
type Log struct {
	db      *models.DB
	options Options
	refused refusals
	watch   resting.Watch
}

// New makes the log over a migrated database.
func New(db *models.DB, options Options) *Log {
	if options.Keep == 0 {
		options.Keep = 365 * 24 * time.Hour
	}
	if options.SweepEvery == 0 {
		options.SweepEvery = time.Hour
	}
	if options.Failed == nil {
		options.Failed = func() {}
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	return &Log{db: db, options: options}
}

// Begin writes the entry of what is about to be done, and without it nothing may be: it is a problem of status 503 then,
// of 507 where the disk is full. End completes it.
func (l *Log) Begin(ctx context.Context, entry Entry) (id int64, err error) {
	entry.Outcome = ""
	id, err = l.add(ctx, entry)
	if models.IsFull(err) {
		return 0, models.Unavailable("write the audit log", err) //nolint:wrapcheck // it says what was attempted
	}
	if err != nil {
		return 0, problems.New(problems.DatabaseUnavailable, "The audit log could not be written, so that nothing was done. Try again.").
			After(time.Second).Because(err)
	}
	return id, nil
}

// endTimeout bounds how long the outcome of what is done already is waited for.
const endTimeout = 5 * time.Second

// End fills in how it ended. It is written even when the caller has left; one that cannot be written is in the log alone.
func (l *Log) End(ctx context.Context, id int64, outcome string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	outcome = short(outcome, maxOutcome)
	err := l.db.Transaction(ctx, func(tx *gorm.DB) error {
		return tx.Model(&models.AuditEntry{}).Where("id = ? AND outcome = ''", id).UpdateColumn("outcome", outcome).Error
	})
	l.options.Logger.InfoContext(ctx, "audit", "entry", id, "outcome", outcome)
	if err != nil {
		l.failed(ctx, fmt.Errorf("write the outcome of audit entry %d: %w", id, err))
	}
}

// Write adds the entry of something that is over, or that changes nothing. One that cannot be written is in the log alone,
// and counted.
func (l *Log) Write(ctx context.Context, entry Entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if entry.Outcome == "" {
		entry.Outcome = Done
	}
	if _, err := l.add(ctx, entry); err != nil {
		l.failed(ctx, err)
	}
}

func (l *Log) failed(ctx context.Context, err error) {
	l.options.Failed()
	l.options.Logger.ErrorContext(ctx, "the audit log could not be written", "error", err.Error())
}

// add writes an entry, and its line in the log whether or not that succeeds.
func (l *Log) add(ctx context.Context, entry Entry) (id int64, err error) {
	if entry.At.IsZero() {
		entry.At = l.options.Now()
	}
	err = l.db.Transaction(ctx, func(tx *gorm.DB) error {
		id, err = insert(tx, &entry)
		return err
	})
	l.options.Logger.LogAttrs(ctx, slog.LevelInfo, "audit", entry.attributes(id)...)
	if err != nil {
		return 0, fmt.Errorf("write an audit entry: %w", err)
	}
	return id, nil
}

func (e Entry) attributes(id int64) []slog.Attr {
	return []slog.Attr{
		slog.Int64("entry", id), slog.String("action", e.Action), slog.String("object", e.Object), slog.Int64("user", e.ActorID),
		slog.Int64("token", e.TokenID), slog.Int64("organization", e.OrganizationID), slog.String("address", e.Address),
		slog.String("outcome", e.Outcome), slog.String("request_id", e.RequestID),
	}
}

// Write adds the entry of what a story does, in the transaction in which it does it: the one is there if the other is.
func Write(tx *gorm.DB, entry Entry) error {
	if entry.At.IsZero() {
		entry.At = tx.NowFunc()
	}
	if entry.Outcome == "" {
		entry.Outcome = Done
	}
	if _, err := insert(tx, &entry); err != nil {
		return fmt.Errorf("write an audit entry: %w", err)
	}
	return nil
}

// The bounds of the columns, in characters.
const (
	maxAddress   = 100
	maxAction    = 60
	maxObject    = 200
	maxOutcome   = 100
	maxRequestID = 100
)

func insert(tx *gorm.DB, entry *Entry) (int64, error) {
	if entry.OrganizationID == 0 {
		var err error
		if entry.OrganizationID, err = organizationOf(tx, *entry); err != nil {
			return 0, err
		}
	}
	row := models.AuditEntry{
		At: entry.At.UTC().Truncate(time.Microsecond), ActorID: entry.ActorID, TokenID: entry.TokenID, OrganizationID: entry.OrganizationID,
		Address: short(entry.Address, maxAddress), Action: short(entry.Action, maxAction), Object: short(entry.Object, maxObject),
		Outcome: short(entry.Outcome, maxOutcome), RequestID: short(entry.RequestID, maxRequestID),
	}
	err := tx.Create(&row).Error
	return row.ID, err
}

// short cuts a text to what its column takes: an entry is never lost for a long word.
func short(text string, most int) string {
	if utf8.RuneCountInString(text) > most {
		return string([]rune(text)[:most])
	}
	return text
}
