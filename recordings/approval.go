package recordings

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/webhooks"
)

// ApproveSummary marks the present summary of a recording that the caller sees as approved: nothing rewrites it by itself
// from then on. An approved one stays as it is, with who approved it first. Without a summary it is a conflict. The role
// was asked by the guard.
func (s *Recordings) ApproveSummary(ctx context.Context, p auth.Principal, id int64, match Match) (Recording, error) {
	return s.approval(ctx, p, id, match, "approve the summary", func(tx *gorm.DB, row *models.Recording) error {
		switch {
		case approved(*row):
			return nil
		case given(row.Summary) == "":
			return problems.New(problems.Conflict, "The recording has no summary that could be approved.")
		}
		row.UpdatedAt = later(row.UpdatedAt, s.moment())
		row.SummaryApprovedAt, row.SummaryApprovedBy = new(row.UpdatedAt), new(p.UserID())
		columns := map[string]any{"summary_approved_at": row.SummaryApprovedAt, "summary_approved_by": row.SummaryApprovedBy}
		if err := moveTo(tx, row.UpdatedAt, columns, row.ID); err != nil {
			return err
		}
		return s.announce(tx, webhooks.SummaryApproved, *row, map[string]any{"approved_by": p.UserID()})
	})
}

// WithdrawApproval makes the summary one that may be rewritten again; one that is not approved stays as it is.
func (s *Recordings) WithdrawApproval(ctx context.Context, p auth.Principal, id int64, match Match) (Recording, error) {
	return s.approval(ctx, p, id, match, "withdraw the approval of the summary", func(tx *gorm.DB, row *models.Recording) error {
		if !approved(*row) {
			return nil
		}
		if err := tx.Model(&models.Recording{}).Where("id = ?", row.ID).UpdateColumns(unapprove(row)).Error; err != nil {
			return fmt.Errorf("take the approval off: %w", err)
		}
		return s.changed(tx, row, FieldApproval)
	})
}

// approval changes it in one transaction with what is told of it. Who sees a recording may do so with the verb, whether
// or not it is theirs.
func (s *Recordings) approval(
	ctx context.Context, p auth.Principal, id int64, match Match, attempt string, change func(tx *gorm.DB, row *models.Recording) error,
) (Recording, error) {
	var row models.Recording
	err := s.db.Transaction(ctx, func(tx *gorm.DB) (err error) {
		if row, err = s.visible(locking(tx), p, id); err != nil {
			return err
		}
		if match != nil && !match(row.UpdatedAt) {
			return changedSince()
		}
		return change(tx, &row)
	})
	if err != nil {
		return Recording{}, unavailable(attempt, err)
	}
	return view(p, row), nil
}

// approved reports whether a person approved the present summary.
func approved(row models.Recording) bool { return row.SummaryApprovedAt != nil }

// stillApproved is approved of the row as the transaction sees it, for work that began with an older one.
func stillApproved(tx *gorm.DB, id int64) (bool, error) {
	var count int64
	err := tx.Model(&models.Recording{}).Where("id = ? AND summary_approved_at IS NOT NULL", id).Count(&count).Error
	if err != nil {
		return false, fmt.Errorf("look whether the summary is approved: %w", err)
	}
	return count > 0, nil
}

// unapprove takes the approval off a row in memory, and gives the columns that do so in the table.
func unapprove(row *models.Recording) map[string]any {
	row.SummaryApprovedAt, row.SummaryApprovedBy = nil, nil
	return map[string]any{"summary_approved_at": nil, "summary_approved_by": nil}
}

func isApproved(row models.Recording) *problems.Error {
	return problems.New(problems.Conflict,
		"The summary is approved and is not rewritten; DELETE /api/v1/recordings/%d/summary/approve takes the approval back.", row.ID)
}
