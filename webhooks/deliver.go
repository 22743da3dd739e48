package webhooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/outbound"
)

const (
	// together is how many deliveries one endpoint is sent at once.
	together = 8
	// turn is how long one job delivers to one endpoint before others that wait in line have theirs.
	turn = 30 * time.Second
	// maxAnswer and maxPreview bound what is read of an answer, in bytes, and kept, in characters.
	maxAnswer  = 16 << 10
	maxPreview = 2000
)

// deliverer is the worker that delivers to an endpoint.
type deliverer struct {
	river.WorkerDefaults[DeliverArgs]
	service *Webhooks
}

// RegisterWorkers tells the queue who delivers.
func RegisterWorkers(queue *jobs.Jobs, s *Webhooks) {
	jobs.Register(queue, &deliverer{service: s})
}

// Timeout bounds one turn and its last round.
func (w *deliverer) Timeout(*river.Job[DeliverArgs]) time.Duration {
	return turn + 2*w.service.Timeout + time.Minute
}

// Work delivers what is due to the endpoint, round after round, until nothing is or its turn is over. Only the job that the
// endpoint names delivers to it.
func (w *deliverer) Work(ctx context.Context, job *river.Job[DeliverArgs]) error {
	s := w.service
	for began := time.Now(); time.Since(began) < turn; {
		round, err := s.nextRound(ctx, job.Args.WebhookID, job.ID)
		if err != nil {
			return err
		}
		if len(round.deliveries) == 0 {
			break
		}
		started := time.Now()
		working, stop := s.watched(ctx, round)
		outcomes := s.sendAll(working, round)
		if over := stop(); over {
			break // what was sent meanwhile waits on, and is sent again if it may be
		}
		if ctx.Err() != nil {
			return ctx.Err() // what was sent and not written down is sent again, with the same id
		}
		s.count(outcomes)
		over, err := s.settle(ctx, round, outcomes)
		if err != nil || over {
			return err
		}
		if hung(outcomes) {
			break // its next turn is among those that hang
		}
		if err := pace(ctx, round, started, s.DrainPerSecond); err != nil {
			return err
		}
	}
	return s.release(ctx, job.Args.WebhookID, job.ID)
}

// round is what one endpoint is sent at once.
type round struct {
	hook       models.Webhook
	jobID      int64
	deliveries []models.WebhookDelivery
	secrets    []string
	// trial is true of the one delivery that is tried of a paused endpoint.
	trial bool
}

// nextRound finds what is due. It is empty when nothing is, when the endpoint is gone, switched off or another job's, and
// when its account is disabled or may not manage it any more.
func (s *Webhooks) nextRound(ctx context.Context, id, jobID int64) (round, error) {
	now := s.moment()
	r := round{jobID: jobID}
	tx := s.db.Read.WithContext(ctx)
	var hooks []models.Webhook
	err := belongsTo(tx, id, jobID).Limit(1).Find(&hooks).Error
	if err != nil {
		return r, fmt.Errorf("find webhook %d: %w", id, err)
	}
	if len(hooks) == 0 || !s.Enabled {
		return r, nil
	}
	r.hook = hooks[0]
	query := tx.Table("webhook_deliveries AS d").Where("d.webhook_id = ? AND "+open, id).Order("d.id")
	switch r.trial = r.hook.AutoPaused && r.hook.TrialAt != nil && !now.Before(*r.hook.TrialAt); {
	case r.hook.Enabled:
		query = query.Where("d.due_at <= ? AND "+unblocked, now, blocking).Limit(4 * together)
	case r.trial:
		query = query.Limit(1)
	default:
		return r, nil
	}
	if err := query.Find(&r.deliveries).Error; err != nil {
		return r, fmt.Errorf("find what webhook %d is due: %w", id, err)
	}
	if r.deliveries, err = s.stillShared(ctx, r.hook, r.deliveries); err != nil {
		return r, err
	}
	r.deliveries = oneOfEach(r.deliveries)
	for i := range r.deliveries {
		d := &r.deliveries[i]
		if d.Payload, err = bodyFor(r.hook, d.Payload); err != nil {
			return r, fmt.Errorf("write delivery %d to webhook %d: %w", d.ID, id, err)
		}
	}
	if r.secrets, err = s.secretsOf(r.hook, now); err != nil {
		s.Logger.ErrorContext(ctx, "a webhook's secret cannot be read", "webhook", id, "error", err)
	}
	return r, nil
}

// oneOfEach leaves no two of one recording: sent at once they could arrive in any order.
func oneOfEach(due []models.WebhookDelivery) []models.WebhookDelivery {
	seen := make(map[int64]bool)
	var chosen []models.WebhookDelivery
	for _, d := range due {
		recording := given(d.RecordingID)
		if len(chosen) == together || recording != 0 && seen[recording] {
			continue
		}
		seen[recording] = true
		chosen = append(chosen, d)
	}
	return chosen
}

// release says that the endpoint is nobody's.
func (s *Webhooks) release(ctx context.Context, id, jobID int64) error {
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		return tx.Model(&models.Webhook{}).Where("id = ? AND job_id = ?", id, jobID).UpdateColumn("busy_until", nil).Error
	})
	if err != nil {
		return fmt.Errorf("release webhook %d: %w", id, err)
	}
	return nil
}

// pace spreads what waited for a paused endpoint: one that is just back is not thrown at all of it at once.
func pace(ctx context.Context, r round, started time.Time, perSecond int) error {
	waited := 0
	for _, d := range r.deliveries {
		if d.Waited {
			waited++
		}
	}
	rest := time.Duration(waited)*time.Second/time.Duration(perSecond) - time.Since(started)
	if rest <= 0 {
		return nil
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err() //nolint:wrapcheck // the queue tells stopping from failing by it
	}
}

// outcome is what came of one attempt.
type outcome struct {
	delivery models.WebhookDelivery
	reason   Reason // empty for a success
	status   int    // 0 without an answer
	preview  string
	took     time.Duration
	// wait is what the receiver asked for.
	wait time.Duration
}

// hung reports whether the receiver answered nothing of what it was sent at once.
func hung(outcomes []outcome) bool {
	return !slices.ContainsFunc(outcomes, func(o outcome) bool { return o.reason != TimedOut })
}

func (s *Webhooks) sendAll(ctx context.Context, r round) []outcome {
	outcomes := make([]outcome, len(r.deliveries))
	var all sync.WaitGroup
	for i, d := range r.deliveries {
		all.Go(func() { outcomes[i] = s.send(ctx, r, d) })
	}
	all.Wait()
	return outcomes
}

// send makes one attempt.
func (s *Webhooks) send(ctx context.Context, r round, d models.WebhookDelivery) outcome {
	o := outcome{delivery: d}
	if len(r.secrets) == 0 {
		o.reason = Unsigned
		return o
	}
	body := []byte(d.Payload)
	headers, err := Headers(d.EventID, d.EventType, d.Attempts+1, body, r.secrets, s.Now())
	if err != nil {
		s.Logger.ErrorContext(ctx, "a delivery could not be signed", "webhook", r.hook.ID, "delivery", d.ID)
		o.reason = Unsigned
		return o
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.hook.URL, bytes.NewReader(body))
	if err != nil {
		o.reason = Reason(outbound.URLInvalid)
		return o
	}
	request.Header = headers
	// Not sent: it lets the transport try once more on a connection that the receiver had closed meanwhile.
	request.Header["Idempotency-Key"] = nil
	began := time.Now()
	answer, err := s.client.Do(request)
	if err != nil {
		o.took, o.reason = time.Since(began), reasonOfError(err)
		return o
	}
	defer func() { _ = answer.Body.Close() }()
	read, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	o.took, o.status, o.reason = time.Since(began), answer.StatusCode, reasonOfStatus(answer.StatusCode)
	o.preview = preview(read, headers)
	o.wait = outbound.RetryAfter(answer.Header, s.Now())
	if err != nil && o.reason == noReason && errors.Is(err, context.DeadlineExceeded) {
		o.reason = TimedOut
	}
	return o
}

// credentials are texts that a receiver may send back by mistake, of ours or of others.
var credentials = regexp.MustCompile(`stn(?:hook)?_[A-Za-z0-9]+|whsec_[A-Za-z0-9+/=]+|(?i:bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}|[0-9a-f]{64}|v1[,=][A-Za-z0-9+/=]{43,}`)

// preview is the beginning of an answer as its owner may see it: plain text without signatures and credentials.
func preview(answer []byte, sent http.Header) string {
	text := strings.ToValidUTF8(string(answer), "\uFFFD")
	for _, name := range []string{"Webhook-Signature", "Speakr-Signature", "Speakr-Signature-V2"} {
		if value := sent.Get(name); value != "" {
			text = strings.ReplaceAll(text, value, "[removed]")
		}
	}
	text = credentials.ReplaceAllString(text, "[removed]")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
	if utf8.RuneCountInString(text) > maxPreview {
		text = string([]rune(text)[:maxPreview])
	}
	return text
}
