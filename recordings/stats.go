package recordings

import (
	"context"
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

// Stats is what an account has and what it did last.
type Stats struct {
	Total, Completed, Failed int64
	// Processing are at work, the summaries included; Pending wait for it.
	Processing, Pending int64
	// AudioBytes is the size of the audio that is kept.
	AudioBytes int64
	// Today counts the uploads since midnight where the organization is.
	Today int64
	// LastTranscription is when the newest transcript was completed; nil without one.
	LastTranscription *time.Time
}

// Stats gives those of the caller's account.
func (s *Recordings) Stats(ctx context.Context, p auth.Principal) (Stats, error) {
	db := s.db.Read.WithContext(ctx)
	counts, err := counted(db, p.UserID())
	if err != nil {
		return Stats{}, err
	}
	stats := statsOf(counts)
	midnight, err := s.midnight(ctx, p)
	if err != nil {
		return Stats{}, err
	}
	own := db.Model(&models.Recording{}).Where("user_id = ?", p.UserID())
	if err := own.Where("created_at >= ?", midnight).Count(&stats.Today).Error; err != nil {
		return Stats{}, unavailable("count the recordings of today", err)
	}
	var newest []models.Recording
	err = db.Select("completed_at").Where("user_id = ? AND status = 'COMPLETED' AND completed_at IS NOT NULL", p.UserID()).
		Order("completed_at DESC").Limit(1).Find(&newest).Error
	if err != nil {
		return Stats{}, unavailable("find the newest transcript", err)
	}
	if len(newest) == 1 {
		stats.LastTranscription = newest[0].CompletedAt
	}
	return stats, nil
}

func statsOf(counts models.RecordingCounts) Stats {
	return Stats{
		Total:      sum(counts, allStatuses()),
		Completed:  counts.Completed,
		Failed:     counts.Failed,
		Processing: counts.Processing + counts.Summarizing,
		Pending:    counts.Pending + counts.Queued,
		AudioBytes: counts.AudioBytes,
	}
}

// midnight is when the present day began where the caller's organization is.
func (s *Recordings) midnight(ctx context.Context, p auth.Principal) (time.Time, error) {
	zone, err := zoneOf(s.db.Read.WithContext(ctx), p.OrganizationID())
	if err != nil {
		return time.Time{}, unavailable("find the time zone", err)
	}
	year, month, day := s.Now().In(zone).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, zone).UTC(), nil
}
