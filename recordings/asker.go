package recordings

import (
	"context"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/models"
)

// asker is who asked for the work of a job, and pays for it: who may change a recording is not always its owner. A
// userID of 0 is the owner, as in jobs of earlier releases; a tokenID of 0 is no token.
type asker struct{ userID, tokenID int64 }

func askerOf(p auth.Principal) asker { return asker{p.UserID(), p.TokenID()} }

// transcription is the job that they ask for.
func (by asker) transcription() TranscribeArgs {
	return TranscribeArgs{UserID: by.userID, TokenID: by.tokenID}
}

// account is whose work it is.
func (by asker) account(row models.Recording) int64 {
	if by.userID == 0 {
		return row.UserID
	}
	return by.userID
}

// purseFor pays for the work of a job, in the name of who asked for it.
func (s *Recordings) purseFor(row models.Recording, by asker) budgets.Purse {
	return s.Purses.Of(budgets.Payer{
		OrganizationID: row.OrganizationID, UserID: by.account(row), TokenID: by.tokenID, RecordingID: row.ID,
	})
}

// mayAsk refuses work for an account that is disabled, the owner's or the asker's.
func (s *Recordings) mayAsk(ctx context.Context, row models.Recording, by asker) error {
	if err := s.mayWork(ctx, row.UserID); err != nil || by.account(row) == row.UserID {
		return err
	}
	return s.mayWork(ctx, by.userID)
}
