// Package recordings has the stories of a recording, from its upload to its deletion: being listed and found, transcribed,
// summarized and asked about, organized and shared. A story finds what its Principal may see, changes it in one transaction
// together with the job and the event that belong to the change, and leaves nothing behind when it fails. What the caller
// neither owns nor is shown does not exist for it. Whatever a process is doing when it dies, another resumes it, and no two
// finish the same work.
package recordings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"gocloud.dev/blob"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/idempotency"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/settings"
	"github.com/stenometer/stenometer/speech"
	"github.com/stenometer/stenometer/spool"
)

// The states of a recording.
const (
	StatusPending     = "PENDING"
	StatusQueued      = "QUEUED"
	StatusProcessing  = "PROCESSING"
	StatusSummarizing = "SUMMARIZING"
	StatusCompleted   = "COMPLETED"
	StatusFailed      = "FAILED"
)

// Options is what the stories need. Every field is required unless it says otherwise.
type Options struct {
	Files *blob.Bucket
	// LocalPath is where the file of a key lies, absolute, when the storage is a folder of this machine; nil when
	// it is not.
	LocalPath func(key string) string
	// TempDir is the absolute path of a folder for files that live as long as the request or job that made them.
	TempDir string
	// Free tells how many bytes are free where the data folder is.
	Free func() (int64, error)

	Queue       *jobs.Jobs
	Media       *media.Media
	Transcriber *speech.Transcriber
	// Text is the way to the text model.
	Text *llm.Adapter
	// AutoSummaries lets recordings be summarized by themselves, unless their account does not want that.
	AutoSummaries bool
	// TextBounds bounds what text models are asked.
	TextBounds TextBounds
	// Inquiry is how questions about many recordings are answered.
	Inquiry InquiryOptions
	// Purses pay for work that no request waits for.
	Purses budgets.Purses
	// Slots bounds how many recordings of one organization are at work at once, Allowance charges work that no
	// request was charged for.
	Slots     *jobs.Slots
	Allowance *jobs.Allowance
	// Transcribed is told the length of audio that an engine has transcribed; nil tells nobody.
	Transcribed func(engine string, audio time.Duration)

	// SignAudio makes an address under which the storage itself gives a file for a minute, with these two headers; nil
	// where the server sends files.
	SignAudio func(ctx context.Context, key, disposition, mimeType string) (string, error)

	// PublicSharing lets recordings be seen by whoever has a link.
	PublicSharing bool
	// InternalSharing lets accounts see recordings of others of their organization that are shared with them.
	InternalSharing bool
	// ShowUsernames lets lists name the owners of such recordings.
	ShowUsernames bool

	// Standing gives the system settings in force; nil leaves all of them at their defaults.
	Standing func() settings.Values

	// Spool keeps files of phone recorders whose sender is not known yet.
	Spool *spool.Spool
	// Imports fetch files from addresses that users chose.
	Imports ImportOptions

	// Keys know uploads that were sent again.
	Keys *idempotency.Keys

	// MaxUploadBytes bounds the file of an upload; 0 takes none. ReserveBytes stay free for the database.
	MaxUploadBytes int64
	ReserveBytes   int64

	// HearingMax is the longest recording that is heard while its caller waits; 0 hears none. HearingTimeout bounds what is
	// done with it once it is here.
	HearingMax     time.Duration
	HearingTimeout time.Duration

	// SlotLife is how long one of the Slots is held without renewal; WatchEvery how often a worker asks whether its work
	// is still wanted.
	SlotLife   time.Duration
	WatchEvery time.Duration
	// WorkTimeout bounds one attempt.
	WorkTimeout time.Duration

	// SweepInterval is the time between sweeps, SweepAge what nothing refers to must be old to be removed.
	// Without SweepRemove sweeps only report.
	SweepInterval time.Duration
	SweepAge      time.Duration
	SweepRemove   bool

	// ChangesSettle is how long a change waits before it is told to those who follow the feed; longer than a moment takes
	// to be committed, and than the clocks of two servers differ. TombstoneLife is how long deletions are remembered.
	ChangesSettle time.Duration
	TombstoneLife time.Duration

	Now    func() time.Time
	Logger *slog.Logger
}

// Recordings tells the stories.
type Recordings struct {
	db *models.DB
	Options
	stop context.CancelFunc
	done chan struct{}
}

// New makes the stories. It starts nothing.
func New(db *models.DB, options Options) *Recordings {
	return &Recordings{db: db, Options: options}
}

// moment is now as the database keeps it: UTC, to the microsecond.
func (s *Recordings) moment() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

func notFound() *problems.Error {
	return problems.New(problems.NotFound, "There is no such recording.")
}

// unavailable says what was attempted, and tells a database that is full, busy or away from one that has a fault.
func unavailable(attempt string, err error) error {
	if errors.Is(err, budgets.ErrHoldLost) {
		return problems.New(problems.DatabaseUnavailable, "The database did not answer in time; try again.").
			Because(fmt.Errorf("%s: %w", attempt, err)).After(2 * time.Second)
	}
	return models.Unavailable(attempt, err) //nolint:wrapcheck // it says what was attempted
}

// closing closes what was opened to be read: a failure there loses nothing.
func closing(c io.Closer) { _ = c.Close() }
