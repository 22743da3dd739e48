package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/stenometer/stenometer/models"
)

// A process lives as long as its row in processes is there. It renews the row at every heartbeat. Others delete
// the row when it is older than DeadAfter by the database's clock, and that is what declares a process dead: it
// happens once, for everybody, and the process itself finds out at its next heartbeat.

// Alive lists the processes that are believed to live, the oldest first.
func (j *Jobs) Alive(ctx context.Context) ([]models.Process, error) {
	var alive []models.Process
	err := j.db.Read.WithContext(ctx).Where("seen_at >= " + j.db.Clock(-j.options.DeadAfter)).
		Order("started_at, id").Find(&alive).Error
	if err != nil {
		return nil, fmt.Errorf("list the living processes: %w", err)
	}
	return alive, nil
}

func (j *Jobs) announce(ctx context.Context) error {
	now := j.db.Clock(0)
	_, err := j.exec(ctx, `INSERT INTO processes (id, role, limits_storage, version, started_at, seen_at)
		VALUES ($1, $2, $3, $4, `+now+`, `+now+`) ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`,
		j.options.ProcessID, j.options.Role, j.options.LimitsStorage, j.options.Version)
	if err != nil {
		return fmt.Errorf("announce the process: %w", err)
	}
	return nil
}

func (j *Jobs) withdraw(ctx context.Context) error {
	if _, err := j.exec(ctx, "DELETE FROM processes WHERE id = $1", j.options.ProcessID); err != nil {
		return fmt.Errorf("withdraw the announcement of the process: %w", err)
	}
	return nil
}

// beat renews the announcement until ctx is over, and judges the others.
func (j *Jobs) beat(ctx context.Context) {
	ticker := time.NewTicker(j.options.Heartbeat)
	defer ticker.Stop()
	judgement := patience{heartbeat: j.options.Heartbeat, deadAfter: j.options.DeadAfter}
	judgement.renewed(time.Now())
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := j.beatOnce(ctx, &judgement)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			j.options.Logger.ErrorContext(ctx, "heartbeat failed; it goes on trying", "error", err)
		}
		failing = err != nil
	}
}

func (j *Jobs) beatOnce(ctx context.Context, judgement *patience) error {
	renewed, err := j.exec(ctx, "UPDATE processes SET seen_at = "+j.db.Clock(0)+" WHERE id = $1", j.options.ProcessID)
	if err != nil {
		return fmt.Errorf("renew the announcement: %w", err)
	}
	if renewed == 0 || j.away {
		j.away = true
		err := j.comeBack(ctx)
		j.away = err != nil
		return err
	}
	if !judgement.renewed(time.Now()) {
		return nil
	}
	buried, err := j.exec(ctx, "DELETE FROM processes WHERE seen_at < "+j.db.Clock(-j.options.DeadAfter))
	if err != nil {
		return fmt.Errorf("look for dead processes: %w", err)
	}
	back, err := j.reclaim(ctx)
	if err != nil {
		return err
	}
	if buried > 0 || back > 0 {
		j.options.Logger.WarnContext(ctx, "processes died; their jobs are in the queue again", "processes", buried, "jobs", back)
	}
	return nil
}

// comeBack follows a death that was declared wrongly: the process was frozen, or cut off. Its jobs belong to
// others, so all of them are stopped before it announces itself again and takes new ones.
func (j *Jobs) comeBack(ctx context.Context) error {
	select {
	case j.turn <- struct{}{}:
		defer func() { <-j.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if j.stopped {
		return nil
	}
	j.options.Logger.WarnContext(ctx, "others declared this process dead; it stops its jobs and starts anew")
	if err := j.client.StopAndCancel(ctx); err != nil {
		return fmt.Errorf("stop the jobs of a process declared dead: %w", err)
	}
	if err := j.announce(ctx); err != nil {
		return err
	}
	return j.startClient(ctx)
}

// exec writes by the queue's own handle, which never waits behind a request's transaction for the handle.
func (j *Jobs) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, j.options.DeadAfter)
	defer cancel()
	result, err := j.db.JobsSQL().ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// patience says when a process may judge others. When the database, or the whole machine, was away, everybody's
// row is old, and the first to come back would bury all the others. So two heartbeats must have gone well
// before, in which every living process has renewed its own row.
type patience struct {
	heartbeat, deadAfter time.Duration
	last, from           time.Time
}

// renewed notes that the own row was renewed and reports whether the others may be judged now.
func (p *patience) renewed(now time.Time) bool {
	if now.Sub(p.last) > p.deadAfter/2 {
		p.from = now.Add(2 * p.heartbeat)
	}
	p.last = now
	return !now.Before(p.from)
}
