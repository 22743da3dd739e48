package admin_test

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
)

// queue is one that nobody works, and the recordings whose jobs it has.
func (s *site) queue(logger *slog.Logger) (*jobs.Jobs, *recordings.Recordings) {
	s.t.Helper()
	queue, err := jobs.New(s.db, jobs.Options{
		Role: "web", MaxWorkers: 1, MaxAttempts: 1, Heartbeat: time.Second, DeadAfter: 3 * time.Second, RetryBase: time.Second, Logger: logger,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.jobs = queue
	kept := recordings.New(s.db, recordings.Options{Queue: queue, Now: time.Now, Logger: logger})
	recordings.RegisterWorkers(queue, kept)
	return queue, kept
}

// gaveUp makes a recording of the account that failed, with the job that gave up over it.
func (s *site) gaveUp(user models.User, code string) (recording, job int64) {
	s.t.Helper()
	s.write(func(tx *gorm.DB) error {
		row := models.Recording{
			OrganizationID: user.OrganizationID, UserID: user.ID, Status: "FAILED", ErrorCode: &code, ErrorMessage: new("It failed."),
			SHA256: sum, StorageKey: "recordings/" + code, CreatedAt: time.Now(), UpdatedAt: time.Now(),
		}
		err := tx.Create(&row).Error
		if err == nil {
			recording = row.ID
			job, err = s.jobs.Enqueue(context.Background(), tx, recordings.TranscribeArgs{RecordingID: row.ID}, nil)
		}
		return err
	})
	s.write(func(tx *gorm.DB) error {
		return tx.Exec("UPDATE river_job SET state = 'discarded', finalized_at = datetime('now', 'subsec'), attempt = 4, max_attempts = 4 WHERE id = ?", job).Error
	})
	return recording, job
}

const sum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// Rule (issue 7): jobs that gave up are listed, tried again and discarded by who administers members, of the own
// organization alone, of every one for the instance.
func TestJobsThatGaveUp(t *testing.T) {
	t.Parallel()
	s := open(t)
	recording, job := s.gaveUp(s.bob, "unavailable")
	_, theirs := s.gaveUp(s.mel, "timeout")
	s.wantBy(s.token(s.bob, false), http.MethodGet, "/jobs", "", http.StatusForbidden, "insufficient_permission")
	list := s.want(s.ada, http.MethodGet, "/jobs?state=discarded", "", http.StatusOK, "")
	if ids, codes := column(list, "jobs", "recording_id"), column(list, "jobs", "error_code"); ids != at("%d", recording) || codes != "unavailable" {
		t.Errorf("an organization's administrator sees %v", list)
	}
	if ids := column(s.want(s.ann, http.MethodGet, "/jobs?per_page=1", "", http.StatusOK, ""), "jobs", "id"); ids != at("%d", theirs) {
		t.Errorf("the first page of the instance's is %s, want the newest job, %d", ids, theirs)
	}
	s.want(s.ada, http.MethodGet, "/jobs?state=running", "", http.StatusBadRequest, "invalid_parameter")
	s.want(s.ada, http.MethodPost, at("/jobs/%d/retry", theirs), "", http.StatusNotFound, "not_found")
	s.want(s.ada, http.MethodDelete, at("/jobs/%d", theirs), "", http.StatusNotFound, "not_found")
	s.want(s.ada, http.MethodPost, at("/jobs/%d/retry", job), "", http.StatusAccepted, "")
	s.want(s.ada, http.MethodPost, at("/jobs/%d/retry", job), "", http.StatusNotFound, "not_found")
	var row models.Recording
	if err := s.db.Read.Take(&row, recording).Error; err != nil || row.Status != "QUEUED" || row.JobID == job || row.AICharged || row.ErrorCode != nil {
		t.Errorf("the recording that is tried again is %+v, %v", row, err)
	}
	s.want(s.eve, http.MethodDelete, at("/jobs/%d", theirs), "", http.StatusOK, "")
	if list := s.want(s.ann, http.MethodGet, "/jobs", "", http.StatusOK, ""); column(list, "jobs", "id") != "" {
		t.Errorf("of the jobs are left %v", list)
	}
}
