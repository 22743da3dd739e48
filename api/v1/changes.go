package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

type changesQuery struct {
	Cursor *string `query:"cursor" maxLength:"512" description:"next_cursor of the last page; without it a full pass over all recordings begins."`
	Limit  *string `query:"limit" description:"1 to 500, 100 by itself, which words that are no number are read as."`
	Scope  *string `query:"scope" enum:"own,shared,all"`
}

type changePage struct {
	Changes    []changeForm `json:"changes"`
	NextCursor string       `json:"next_cursor"`
	HasMore    bool         `json:"has_more"`
}

// changeForm is a recording that is new or was changed, as it is now, or one that is gone; each has its own members.
type changeForm struct {
	Type      string             `json:"type" enum:"upsert,delete"`
	Recording *recordingListItem `json:"recording,omitempty"`
	ID        int64              `json:"id,omitempty"`
	DeletedAt string             `json:"deleted_at,omitempty"`
	Reason    string             `json:"reason,omitempty" enum:"deleted,retention,access_revoked"`
}

func listChangesOperation() routes.Operation {
	return routes.Operation{
		Summary: "List changes since a cursor", Group: routes.GroupSearch, Request: changesQuery{},
		Notes: "Begin without a cursor and go on with `next_cursor`, at once while `has_more` is true. A full pass tells only of " +
			"deletions since it began: after it, drop what it did not show. 410 asks for a new full pass.",
		Answers:  routes.Answers{http.StatusOK: exampleChangePage()},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.CursorExpired},
	}
}

func (a *API) listChanges(c echo.Context, p auth.Principal) error {
	query := c.QueryParams()
	limit, err := within(query, "limit", recordings.DefaultChanges, recordings.MaxChanges)
	if err != nil {
		return err
	}
	scope, err := readScope(query)
	if err != nil {
		return err
	}
	page, err := a.recordings.Follow(c.Request().Context(), p, recordings.Following{
		Cursor: query.Get("cursor"), Limit: limit, Scope: scope,
	})
	if err != nil {
		return err
	}
	answer := changePage{Changes: make([]changeForm, len(page.Changes)), NextCursor: page.Next, HasMore: page.More}
	for i, change := range page.Changes {
		answer.Changes[i] = changeFormOf(change)
	}
	return c.JSON(http.StatusOK, answer)
}

func changeFormOf(change recordings.Change) changeForm {
	if change.Recording != nil {
		recording := recordingListItemOf(*change.Recording)
		return changeForm{Type: "upsert", Recording: &recording}
	}
	gone := change.Gone
	return changeForm{Type: "delete", ID: gone.ID, DeletedAt: routes.Micro(gone.DeletedAt), Reason: string(gone.Reason)}
}
