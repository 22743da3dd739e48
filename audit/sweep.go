package audit

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// sweepAtOnce is how many entries one transaction removes: it must not keep the database's writer for long.
const sweepAtOnce = 1000

// firstSweep is how long after its start a process sweeps first, so that one that is restarted often does it too.
const firstSweep = time.Minute

// Start begins to remove entries that are older than they are kept, until Stop. A second Start without a Stop between does
// nothing.
func (l *Log) Start(ctx context.Context) {
	l.watch.Start(ctx, min(firstSweep, l.options.SweepEvery), func(ctx context.Context) time.Duration {
		if err := l.Sweep(ctx); err != nil && ctx.Err() == nil {
			l.options.Logger.WarnContext(ctx, "old audit entries could not be removed", "error", err.Error())
		}
		return l.options.SweepEvery
	})
}

// Stop ends what Start began and waits for it.
func (l *Log) Stop() { l.watch.Stop() }

// Sweep removes all that is older than it is kept.
func (l *Log) Sweep(ctx context.Context) error {
	for {
		removed, err := l.sweepSome(ctx)
		if err != nil {
			return fmt.Errorf("remove old audit entries: %w", err)
		}
		if removed < sweepAtOnce {
			return nil
		}
	}
}

// sweepSome says what it removes, removes it, and takes that back: the databases let nothing else be removed, by anybody.
// Others that sweep wait at the one row.
func (l *Log) sweepSome(ctx context.Context) (removed int64, err error) {
	before := l.options.Now().UTC().Truncate(time.Microsecond).Add(-l.options.Keep)
	err = l.db.Transaction(ctx, func(tx *gorm.DB) error {
		mark := tx.Model(&models.AuditSweep{}).Where("id = 1")
		if err := mark.UpdateColumn("removes_before", before).Error; err != nil {
			return err
		}
		old := tx.Model(&models.AuditEntry{}).Select("id").Where("at < ?", before).Order("at").Limit(sweepAtOnce)
		gone := tx.Where("id IN (?)", old).Delete(&models.AuditEntry{})
		if gone.Error != nil {
			return gone.Error
		}
		removed = gone.RowsAffected
		return tx.Model(&models.AuditSweep{}).Where("id = 1").UpdateColumn("removes_before", nil).Error
	})
	return removed, err
}
