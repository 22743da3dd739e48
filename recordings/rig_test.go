package recordings_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"mime/multipart"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/auth/authtest"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/budgets/budgetstest"
	"github.com/stenometer/stenometer/idempotency"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/sealed"
	"github.com/stenometer/stenometer/speech"
	"github.com/stenometer/stenometer/spool"
	"github.com/stenometer/stenometer/tests/jobstest"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// each runs the test on both databases.
func each(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	for name, newURL := range jobstest.Migrated.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newURL(t))
		})
	}
}

// rig is a process with real parts, but for the speech service.
type rig struct {
	t          testing.TB
	url        string
	folder     string
	db         *models.DB
	recordings *recordings.Recordings
	jobs       *jobs.Jobs
	limits     *limits.Memory
	engine     *engine
	user       models.User
	owner      auth.Principal
	keys       *idempotency.Keys
	budgets    *budgets.Budgets
	spool      *spool.Spool
	purse      budgets.Purse // the owner's
}

// settings are what a test changes of a rig before it is built.
type settings struct {
	recordings recordings.Options
	jobs       jobs.Options
	speech     speech.TranscriberOptions
	prices     string        // beside those that are built in
	ai         []limits.Rate // of each account
	slots      int
	spool      int64
}

// newRig builds a process on the database; the data folder is the test's own unless one is shared.
func newRig(t testing.TB, url, folder string, change func(*settings)) *rig {
	t.Helper()
	r := &rig{t: t, url: url, folder: folder, engine: &engine{}, limits: limits.NewMemory(time.Now)}
	if folder == "" {
		r.folder = t.TempDir()
	}
	r.db = modelstest.Open(t, url, false)
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	s := settings{
		slots: 3, spool: 20 << 20,
		jobs: jobs.Options{
			Role: "all", Version: "test", LimitsStorage: "memory", MaxWorkers: 4, MaxAttempts: 3,
			Heartbeat: 100 * time.Millisecond, DeadAfter: 400 * time.Millisecond, RetryBase: 50 * time.Millisecond, Logger: logger,
		},
		recordings: recordings.Options{
			TempDir: filepath.Join(r.folder, "tmp"), Free: func() (int64, error) { return 1 << 40, nil },
			MaxUploadBytes: 10 << 20, ReserveBytes: 1 << 20, SlotLife: 2 * time.Second, WatchEvery: 50 * time.Millisecond,
			WorkTimeout: time.Minute, SweepInterval: time.Hour, SweepAge: time.Hour, SweepRemove: true,
			Now: time.Now, Logger: logger,
			LocalPath: func(key string) string { return filepath.Join(r.folder, "files", filepath.FromSlash(key)) },
		},
	}
	if change != nil {
		change(&s)
	}
	r.join(&s, logger)
	return r
}

func (r *rig) join(s *settings, logger *slog.Logger) {
	r.t.Helper()
	for _, folder := range []string{"tmp", "files"} {
		if err := os.MkdirAll(filepath.Join(r.folder, folder), 0o700); err != nil {
			r.t.Fatal(err)
		}
	}
	if s.recordings.Files == nil {
		s.recordings.Files = bucket(r.t, filepath.Join(r.folder, "files"))
	}
	toolbox, err := media.New(media.Options{Logger: logger})
	if err != nil {
		r.t.Fatal(err)
	}
	if r.jobs, err = jobs.New(r.db, s.jobs); err != nil {
		r.t.Fatal(err)
	}
	s.recordings.Queue, s.recordings.Media = r.jobs, toolbox
	r.keys = idempotency.New(r.db, idempotency.Options{Life: 24 * time.Hour, Now: s.recordings.Now, SweepEvery: time.Hour, Logger: logger})
	s.recordings.Keys = r.keys
	s.speech.TempDir, s.speech.Logger = s.recordings.TempDir, logger
	s.recordings.Transcriber = speech.NewTranscriber(r.engine, toolbox, s.speech)
	s.recordings.Slots = jobs.NewSlots(r.limits, s.slots, s.recordings.SlotLife)
	figures := authtest.NoFigures()
	figures[limits.UserAI] = s.ai
	s.recordings.Allowance = jobs.NewAllowance(r.limits, limits.NewInForce(figures, nil))
	r.budgets = budgetstest.New(r.t, r.db, s.prices, nil)
	s.recordings.Purses = r.budgets.Purses()
	r.joinInbound(s)
	r.recordings = recordings.New(r.db, s.recordings)
	recordings.RegisterWorkers(r.jobs, r.recordings)
	r.user = r.account("owner")
	r.owner = authtest.ByToken(r.t, r.user.ID, r.user.OrganizationID, 1, "full")
	r.purse = s.recordings.Purses.Of(budgets.Payer{OrganizationID: r.user.OrganizationID, UserID: r.user.ID, TokenID: 1})
}

// joinInbound lets files be fetched from servers of the test, and of nobody else.
func (r *rig) joinInbound(s *settings) {
	r.t.Helper()
	r.spool = spool.New(s.recordings.TempDir, s.spool)
	s.recordings.Spool = r.spool
	keys, err := sealed.New("a secret of tests")
	if err != nil {
		r.t.Fatal(err)
	}
	imports := &s.recordings.Imports
	imports.Strangers = outbound.NewStrangers(outbound.StrangersOptions{Intranet: regexp.MustCompile(`^127\.0\.0\.1$`)})
	imports.Sealed, imports.ProgressEvery = keys, 10*time.Millisecond
	if imports.Timeout == 0 {
		imports.Timeout, imports.Stall = patience, patience
	}
}

func bucket(t testing.TB, folder string) *blob.Bucket {
	t.Helper()
	files, err := fileblob.OpenBucket(folder, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	})
	return files
}

// start begins to work jobs; the queue stops when the test ends.
func (r *rig) start() {
	r.t.Helper()
	if err := r.jobs.Start(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(r.stop)
}

func (r *rig) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.jobs.Stop(ctx); err != nil {
		r.t.Error(err)
	}
}

// account finds or makes an account in an organization of its own.
func (r *rig) account(name string) models.User {
	r.t.Helper()
	return modelstest.Account(r.t, r.db, name, name, auth.RoleEditor)
}

// principal is another credential: scopes as stored.
func (r *rig) principal(user models.User, scopes string) auth.Principal {
	return authtest.ByToken(r.t, user.ID, user.OrganizationID, 7, scopes)
}

// row reads a recording as it is stored.
func (r *rig) row(id int64) (models.Recording, bool) {
	r.t.Helper()
	var rows []models.Recording
	if err := r.db.Read.Where("id = ?", id).Find(&rows).Error; err != nil {
		r.t.Fatal(err)
	}
	if len(rows) == 0 {
		return models.Recording{}, false
	}
	return rows[0], true
}

// await waits until the recording has the status.
func (r *rig) await(id int64, status string) models.Recording {
	r.t.Helper()
	var row models.Recording
	r.until("recording is "+status, func() bool {
		row, _ = r.row(id)
		return row.Status == status
	})
	return row
}

// until waits for what must become true.
func (r *rig) until(what string, holds func() bool) {
	r.t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-ticker.C:
		case <-deadline:
			r.t.Fatalf("waited %s in vain: %s", patience, what)
		}
	}
}

// events counts the events of a recording by type.
func (r *rig) events(id int64) map[string]int {
	r.t.Helper()
	var types []string
	if err := r.db.Read.Model(&models.OutboxEvent{}).Where("recording_id = ?", id).Pluck("type", &types).Error; err != nil {
		r.t.Fatal(err)
	}
	counted := map[string]int{}
	for _, name := range types {
		counted[name]++
	}
	return counted
}

// left lists the files in the storage and among the temporary ones.
func (r *rig) left() []string {
	r.t.Helper()
	var files []string
	err := filepath.WalkDir(r.folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return files
}

func (r *rig) recordingCount() (count int64) {
	r.t.Helper()
	if err := r.db.Read.Model(&models.Recording{}).Count(&count).Error; err != nil {
		r.t.Fatal(err)
	}
	return count
}

// upload sends a file with fields and expects it to be taken.
func (r *rig) upload(file []byte, fields ...string) recordings.Uploaded {
	r.t.Helper()
	accepted, err := r.send(r.owner, "talk.wav", file, fields...)
	if err != nil {
		r.t.Fatal(err)
	}
	return accepted
}

// send uploads; a server too busy to look into the file is asked again, as clients do.
func (r *rig) send(p auth.Principal, name string, file []byte, fields ...string) (recordings.Uploaded, error) {
	r.t.Helper()
	for attempt := 1; ; attempt++ {
		body, boundary := formWith(r.t, name, file, fields...)
		accepted, err := r.recordings.Upload(context.Background(), p, body, boundary, "")
		if !errors.Is(err, media.ErrBusy) || attempt == 5 {
			return accepted, err
		}
	}
}

// formWith is a form with fields before the file.
func formWith(t testing.TB, name string, file []byte, fields ...string) (io.Reader, string) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="` + name + `"`}})
	if err == nil {
		_, err = part.Write(file)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &body, w.Boundary()
}

// expect fails unless the error is a problem of this kind, and gives it.
func expect(t testing.TB, err error, kind problems.Kind) *problems.Error {
	t.Helper()
	var problem *problems.Error
	if !errors.As(err, &problem) || problem.Kind != kind {
		t.Fatalf("got %v, want %s", err, kind.Code())
	}
	return problem
}

// sqliteURL is for tests of what has nothing to do with the database.
func sqliteURL(t testing.TB) string { return jobstest.Migrated.SQLiteURL(t) }
