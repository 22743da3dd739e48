package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// approvalForm is who approved the present summary, and when. Both are absent while nobody has: what the contract's
// clients know has no such members.
type approvalForm struct {
	ApprovedAt *string `json:"approved_at,omitempty"`
	ApprovedBy *int64  `json:"approved_by,omitempty"`
}

func approvalFormOf(r recordings.Recording) approvalForm {
	return approvalForm{routes.MicroOrNull(r.SummaryApprovedAt), r.SummaryApprovedBy}
}

type approvalResult struct {
	Success    bool    `json:"success"`
	ApprovedAt *string `json:"approved_at"`
	ApprovedBy *int64  `json:"approved_by"`
}

func approvalResultOf(r recordings.Recording) approvalResult {
	form := approvalFormOf(r)
	return approvalResult{true, form.ApprovedAt, form.ApprovedBy}
}

func approveSummaryOperation() routes.Operation {
	return routes.Operation{
		Summary: "Approve the summary of a recording", Group: routes.GroupRecordings, Request: onlyIfMatch{},
		Notes: "It is not rewritten by itself from then on: summarizing is 409, and transcribing again and assigning speakers leave it as it is. " +
			"A summary that a person edits is no longer approved. Without a summary there is nothing to approve, which is 409; one that is " +
			"approved stays as it is. With `If-Match` only the text is approved that was read.",
		Answers:  routes.Answers{http.StatusOK: approvalResultOf(exampleRecording())},
		Refusals: []problems.Kind{problems.Conflict, problems.PreconditionFailed},
	}
}

func (a *API) approveSummary(c echo.Context, p auth.Principal) error {
	id, match, err := a.approvalOf(c)
	if err != nil {
		return err
	}
	r, err := a.recordings.ApproveSummary(c.Request().Context(), p, id, match)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, approvalResultOf(r))
}

func withdrawApprovalOperation() routes.Operation {
	return routes.Operation{
		Summary: "Withdraw the approval of a summary", Group: routes.GroupRecordings, Request: onlyIfMatch{},
		Notes:   "It may be rewritten again. One that is not approved stays as it is.",
		Answers: routes.Answers{http.StatusOK: approvalResult{Success: true}}, Refusals: []problems.Kind{problems.PreconditionFailed},
	}
}

func (a *API) withdrawApproval(c echo.Context, p auth.Principal) error {
	id, match, err := a.approvalOf(c)
	if err != nil {
		return err
	}
	r, err := a.recordings.WithdrawApproval(c.Request().Context(), p, id, match)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, approvalResultOf(r))
}

// approvalOf is which recording a request is about, and what it demands of its state.
func (a *API) approvalOf(c echo.Context) (id int64, match recordings.Match, err error) {
	if id, err = routes.IDParam(c, "recording"); err != nil {
		return 0, nil, err
	}
	match, err = ifMatch(c, id)
	return id, match, err
}
