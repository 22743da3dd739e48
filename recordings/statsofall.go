package recordings

import (
	"context"
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
)

// activeWithin is how long ago an account's last upload may be that counts as active, as the contract has it.
const activeWithin = 30 * 24 * time.Hour

// StatsOfAll are those of all accounts of the instance.
type StatsOfAll struct {
	Stats

	// Accounts are all of them, Active those that have uploaded in the last 30 days.
	Accounts, Active int64
}

// StatsOfAll gives them to an administrator of the instance. Today is that of the caller's organization. It looks at an
// index entry of every recording, which nobody else can have it do.
func (s *Recordings) StatsOfAll(ctx context.Context, p auth.Principal) (StatsOfAll, error) {
	if err := p.PermitInstance(); err != nil {
		return StatsOfAll{}, err
	}
	db := s.db.Read.WithContext(ctx)
	var counts models.RecordingCounts
	columns := "0 AS user_id"
	for _, column := range []string{"pending", "queued", "processing", "summarizing", "completed", "failed", "audio_bytes"} {
		columns += ", CAST(COALESCE(SUM(" + column + "), 0) AS bigint) AS " + column
	}
	if err := db.Model(&models.RecordingCounts{}).Select(columns).Scan(&counts).Error; err != nil {
		return StatsOfAll{}, unavailable("add up the counts of recordings", err)
	}
	all := StatsOfAll{Stats: statsOf(counts)}
	midnight, err := s.midnight(ctx, p)
	if err != nil {
		return StatsOfAll{}, err
	}
	if err := db.Model(&models.Recording{}).Where("created_at >= ?", midnight).Count(&all.Today).Error; err != nil {
		return StatsOfAll{}, unavailable("count the recordings of today", err)
	}
	var newest []models.Recording
	err = db.Select("completed_at").Where("status = 'COMPLETED' AND completed_at IS NOT NULL").
		Order("completed_at DESC").Limit(1).Find(&newest).Error
	if err != nil {
		return StatsOfAll{}, unavailable("find the newest transcript", err)
	}
	if len(newest) == 1 {
		all.LastTranscription = newest[0].CompletedAt
	}
	if err := db.Model(&models.User{}).Count(&all.Accounts).Error; err != nil {
		return StatsOfAll{}, unavailable("count the accounts", err)
	}
	err = db.Model(&models.Recording{}).Where("created_at >= ?", s.moment().Add(-activeWithin)).
		Distinct("user_id").Count(&all.Active).Error
	if err != nil {
		return StatsOfAll{}, unavailable("count the active accounts", err)
	}
	return all, nil
}
