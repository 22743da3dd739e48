package admin

import (
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// auditEntry is something that was done.
type auditEntry struct {
	ID int64  `json:"id"`
	At string `json:"at"`
	// UserID is the account that did it, TokenID the token by which; null where there is none.
	UserID         *int64 `json:"user_id"`
	TokenID        *int64 `json:"token_id"`
	OrganizationID *int64 `json:"organization_id"`
	// Address is the client's, or the word command.
	Address string `json:"address"`
	Action  string `json:"action"`
	Object  string `json:"object"`
	// Outcome is empty while it is being done, and stays so where the process died of it.
	Outcome   string `json:"outcome"`
	RequestID string `json:"request_id"`
}

func auditEntryOf(stored audit.Stored) auditEntry {
	return auditEntry{
		ID: stored.ID, At: routes.Micro(stored.At), UserID: orNull(stored.ActorID), TokenID: orNull(stored.TokenID),
		OrganizationID: orNull(stored.OrganizationID), Address: stored.Address, Action: stored.Action, Object: stored.Object,
		Outcome: stored.Outcome, RequestID: stored.RequestID,
	}
}

func orNull(id int64) *int64 {
	if id == 0 {
		return nil
	}
	return &id
}

type auditList struct {
	Entries []auditEntry `json:"entries"`
	// Next is the cursor of the page that follows; null on the last.
	Next *int64 `json:"next"`
}

type auditQuery struct {
	User   *int64  `query:"user" minimum:"1" description:"What this account did."`
	Action *string `query:"action" maxLength:"60" description:"An action such as user.delete, or its beginning up to a dot."`
	From   *string `query:"from" description:"A date or date-time of ISO 8601."`
	Until  *string `query:"until" description:"The same; a bare date includes its day."`
	Cursor *int64  `query:"cursor" minimum:"1" description:"next of the page before."`
	Limit  *int    `query:"limit" minimum:"1" maximum:"200" description:"50 by itself."`
}

func listAuditOperation() routes.Operation {
	return routes.Operation{
		Summary: "List what administrators did", Group: routes.GroupAdministration, Request: auditQuery{},
		Notes: "The newest first. An organization's administrators see what was done to it; administrators of the instance see everything.",
		Answers: routes.Answers{http.StatusOK: auditList{[]auditEntry{{
			ID: 812, At: routes.Micro(exampleMoment()), UserID: new(int64(1)), TokenID: new(int64(4)), OrganizationID: new(int64(1)),
			Address: "203.0.113.7", Action: "user.alter", Object: "user 7", Outcome: "200", RequestID: "4Q7ZK2",
		}}, nil}},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

const (
	defaultEntries = 50
	maxAction      = 60
)

func (a *API) listAudit(c echo.Context, p auth.Principal) error {
	asked, err := readAuditQuery(c.QueryParams())
	if err != nil {
		return err
	}
	asked.OrganizationID = administered(p)
	list, err := a.Audit.List(c.Request().Context(), asked)
	if err != nil {
		return err
	}
	answer := auditList{Entries: []auditEntry{}}
	for _, stored := range list {
		answer.Entries = append(answer.Entries, auditEntryOf(stored))
	}
	if len(list) == asked.Limit {
		answer.Next = &list[len(list)-1].ID
	}
	return c.JSON(http.StatusOK, answer)
}

func readAuditQuery(query url.Values) (asked audit.Query, err error) {
	if asked.ActorID, err = whole(query, "user", math.MaxInt64); err != nil {
		return asked, err
	}
	if asked.Before, err = whole(query, "cursor", math.MaxInt64); err != nil {
		return asked, err
	}
	if asked.Limit, err = number(query, "limit", defaultEntries, audit.MaxPage); err != nil {
		return asked, err
	}
	if asked.Action = query.Get("action"); !isAction(asked.Action) {
		return asked, problems.New(problems.InvalidParameter, "action must be at most %d of a-z, _ and dots.", maxAction).With("field", "action")
	}
	if asked.From, err = moment(query, "from", false); err != nil {
		return asked, err
	}
	asked.Until, err = moment(query, "until", true)
	return asked, err
}

func isAction(text string) bool {
	for i := range len(text) {
		if text[i] != '.' && text[i] != '_' && (text[i] < 'a' || text[i] > 'z') {
			return false
		}
	}
	return len(text) <= maxAction
}

// moment reads a date or date-time; nil where there is none. A bare date that ends a period includes its day.
func moment(query url.Values, name string, ends bool) (*time.Time, error) {
	text := query.Get(name)
	if text == "" {
		return nil, nil //nolint:nilnil // none is no failure
	}
	at, dateOnly, ok := recordings.ParseTime(text)
	if !ok {
		return nil, problems.New(problems.InvalidParameter, "%s must be a date or date-time of ISO 8601.", name).With("field", name)
	}
	if dateOnly && ends {
		at = at.AddDate(0, 0, 1).Add(-time.Microsecond)
	}
	return &at, nil
}
