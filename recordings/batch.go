package recordings

import (
	"context"
	"slices"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/idempotency"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// Outcome is what became of one recording of a batch.
type Outcome struct {
	ID int64
	// JobID is that of the job that was queued, 0 where none was.
	JobID int64
	// Err is nil when it succeeded, and is told to the caller.
	Err *problems.Error
}

// BatchPatch is what becomes of each recording of a batch. Flags that are nil stay. Tags that the caller has not
// are passed over.
type BatchPatch struct {
	IsInbox, IsHighlighted, IsArchived *bool
	FolderID                           Edit[int64]
	AddTags, RemoveTags                []int64
}

// PatchBatch changes recordings as Patch does, each in a transaction of its own. A folder that the caller has
// not is not_found for all of them.
func (s *Recordings) PatchBatch(ctx context.Context, p auth.Principal, ids []int64, batch BatchPatch) ([]Outcome, error) {
	ids, err := distinct(ids)
	if err != nil {
		return nil, err
	}
	if err := s.lookForFolder(ctx, p, batch.FolderID.Value); err != nil {
		return nil, err
	}
	change := func(tx *gorm.DB, id int64) error {
		_, err := s.changeWithin(tx, p, id, batch.wants(), nil, func(tx *gorm.DB, row *models.Recording) ([]Field, error) {
			return batch.apply(tx, p, row)
		})
		return err
	}
	if len(batch.AddTags) > 0 || batch.FolderID.Value != nil {
		if err := s.mayShareAll(ctx, p, ids, change); err != nil {
			return nil, err
		}
	}
	return s.each(ctx, ids, func(id int64) (int64, error) {
		err := s.db.Transaction(ctx, func(tx *gorm.DB) error { return change(tx, id) })
		if err != nil {
			return 0, unavailable("change the recording", err)
		}
		return 0, nil
	})
}

// DeleteBatch deletes recordings of the caller's own as Delete does, one by one.
func (s *Recordings) DeleteBatch(ctx context.Context, p auth.Principal, ids []int64) ([]Outcome, error) {
	ids, err := distinct(ids)
	if err != nil {
		return nil, err
	}
	return s.each(ctx, ids, func(id int64) (int64, error) { return 0, s.Delete(ctx, p, id) })
}

// TranscribeBatch queues new transcriptions as Transcribe does, one by one, as many as the budget has room for.
func (s *Recordings) TranscribeBatch(ctx context.Context, p auth.Principal, purse budgets.Purse, ids []int64) ([]Outcome, error) {
	ids, err := distinct(ids)
	if err != nil {
		return nil, err
	}
	beyond := s.beyondBudget(ctx, p, purse, ids)
	return s.each(ctx, ids, func(id int64) (int64, error) {
		if err := beyond[id]; err != nil {
			return 0, err
		}
		return s.Transcribe(ctx, p, purse, id, Hints{})
	})
}

// beyondBudget refuses the recordings of a batch for which there is no room besides those before them. Each would fit
// alone; queued together they would lose their transcripts and fail. It is told before anything is queued, because then
// jobs begin to hold.
func (s *Recordings) beyondBudget(ctx context.Context, p auth.Principal, purse budgets.Purse, ids []int64) map[int64]error {
	refused := map[int64]error{}
	for _, id := range ids {
		if _, made := idempotency.Made(ctx, id); made {
			continue
		}
		work, known, err := s.transcription(ctx, p, id, Hints{})
		if err != nil || !known {
			continue // told in its turn
		}
		if err := purse.About(id).Affords(ctx, work); problems.Is(err, problems.BudgetExceeded) {
			refused[id] = err
			continue
		}
		purse = purse.Besides(work)
	}
	return refused
}

// distinct are the ids without repetitions, in their order.
func distinct(ids []int64) ([]int64, error) {
	seen := make(map[int64]bool, len(ids))
	var kept []int64
	for _, id := range ids {
		if seen[id] {
			continue
		}
		if len(kept) == auth.MaxBatch {
			return nil, problems.New(problems.PayloadTooLarge, "recording_ids must name at most %d recordings.", auth.MaxBatch).
				With("max_ids", auth.MaxBatch)
		}
		seen[id] = true
		kept = append(kept, id)
	}
	return kept, nil
}

// each does one thing to every recording and goes on after those where it fails. Once the request is over nothing
// more is begun.
func (s *Recordings) each(ctx context.Context, ids []int64, do func(id int64) (jobID int64, err error)) ([]Outcome, error) {
	outcomes := make([]Outcome, len(ids))
	for i, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, unavailable("work through the batch", err)
		}
		job, err := do(id)
		outcomes[i] = Outcome{ID: id, JobID: job}
		if err == nil {
			continue
		}
		outcomes[i].Err = problems.Of(err)
		if outcomes[i].Err.Kind.Status() >= 500 {
			s.Logger.ErrorContext(ctx, "one of a batch failed", "recording", id, "error", err.Error())
		}
	}
	return outcomes, nil
}

func (s *Recordings) lookForFolder(ctx context.Context, p auth.Principal, id *int64) error {
	if id == nil {
		return nil
	}
	var count int64
	err := usable(s.db.Read.WithContext(ctx).Model(&models.Folder{}), p).Where("id = ?", *id).Count(&count).Error
	if err != nil {
		return unavailable("find the folder", err)
	}
	if count == 0 {
		return noFolder()
	}
	return nil
}

// wants is Patch.wants with the tags, which are of the recording.
func (batch BatchPatch) wants() right {
	if len(batch.AddTags) > 0 || len(batch.RemoveTags) > 0 {
		return editing
	}
	return Patch{FolderID: batch.FolderID}.wants()
}

// apply writes what differs and names it.
func (batch BatchPatch) apply(tx *gorm.DB, p auth.Principal, row *models.Recording) ([]Field, error) {
	patch := Patch{
		IsInbox: batch.IsInbox, IsHighlighted: batch.IsHighlighted, IsArchived: batch.IsArchived, FolderID: batch.FolderID,
	}
	changed, err := patch.apply(tx, p, row)
	if err != nil {
		return nil, err
	}
	retagged, err := batch.retag(tx, p, row)
	if err != nil {
		return nil, err
	}
	if retagged {
		changed = append(changed, FieldTags)
	}
	return changed, nil
}

// retag takes tags off and puts others on, after those that are there; a tag that is to be both is off in the end.
func (batch BatchPatch) retag(tx *gorm.DB, p auth.Principal, row *models.Recording) (changed bool, err error) {
	var removed int64
	if len(batch.RemoveTags) > 0 {
		if removed, err = takeTags(tx, p, row.ID, batch.RemoveTags); err != nil {
			return false, err
		}
	}
	add := slices.DeleteFunc(slices.Clone(batch.AddTags), func(id int64) bool { return slices.Contains(batch.RemoveTags, id) })
	if len(add) == 0 {
		return removed > 0, nil
	}
	tagged, err := putTags(tx, p, row, add)
	if err != nil {
		return false, err
	}
	if len(tagged.TooMany) > 0 {
		return false, problems.New(problems.Conflict, "A recording has at most %d tags.", maxTags)
	}
	return removed > 0 || len(tagged.Added) > 0, nil
}
