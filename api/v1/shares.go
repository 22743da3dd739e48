package v1

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

type shareForm struct {
	ID           int64   `json:"id"`
	ShareSummary bool    `json:"share_summary"`
	ShareNotes   bool    `json:"share_notes"`
	CreatedAt    string  `json:"created_at"`
	ExpiresAt    *string `json:"expires_at"`
}

func shareFormOf(s recordings.Share) shareForm {
	return shareForm{s.ID, s.Summary, s.Notes, routes.Micro(s.CreatedAt), routes.MicroOrNull(s.ExpiresAt)}
}

type shareResult struct {
	ShareURL    string    `json:"share_url"`
	Existing    bool      `json:"existing"`
	FlagsDiffer bool      `json:"flags_differ"`
	Share       shareForm `json:"share"`
}

type newShare struct {
	ShareSummary   routes.Optional[bool] `json:"share_summary" nullable:"false" description:"Whether the summary is shown; true by itself."`
	ShareNotes     routes.Optional[bool] `json:"share_notes" nullable:"false" description:"Whether the notes are shown; false by itself."`
	ForceNew       routes.Optional[bool] `json:"force_new" nullable:"false" description:"Makes a link beside those that there are."`
	UpdateExisting routes.Optional[bool] `json:"update_existing" nullable:"false" description:"Lets a link that is given again show what this asks for."`
	ExpiresInDays  routes.Optional[int]  `json:"expires_in_days" minimum:"1" maximum:"3650" description:"The life of a new link; null for no end."`
}

func shareRecordingOperation() routes.Operation {
	return routes.Operation{
		Summary: "Share a recording by a public link", Group: routes.GroupShares, Request: exampleNewShare(),
		Notes: "The newest link to the recording is given again (200, even when it has expired) unless `force_new` makes another " +
			"(201). `flags_differ` tells that the link shows something else than was asked for. A recording has at most 100 links.",
		Answers: routes.Answers{http.StatusCreated: exampleShareResult(false), http.StatusOK: exampleShareResult(true)},
		Refusals: []problems.Kind{
			problems.FeatureDisabled, problems.HTTPSRequired, problems.InvalidParameter, problems.Conflict,
		},
	}
}

func (a *API) shareRecording(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := a.recordings.MayShare(ctx, p, id, a.isSecure(c)); err != nil {
		return err
	}
	wish, err := shareWish(c)
	if err != nil {
		return err
	}
	made, err := a.recordings.Share(ctx, p, id, wish)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if made.Existing {
		status = http.StatusOK
	}
	return c.JSON(status, shareResult{
		ShareURL: a.shareURL(made.Share), Existing: made.Existing, FlagsDiffer: made.Differs, Share: shareFormOf(made.Share),
	})
}

func shareWish(c echo.Context) (recordings.ShareWish, error) {
	var body newShare
	if err := routes.DecodeOptionalJSON(c, &body); err != nil {
		return recordings.ShareWish{}, err
	}
	wish := recordings.ShareWish{Summary: true, Days: body.ExpiresInDays.Value}
	for _, flag := range []struct {
		name string
		sent routes.Optional[bool]
		to   *bool
	}{
		{"share_summary", body.ShareSummary, &wish.Summary},
		{"share_notes", body.ShareNotes, &wish.Notes},
		{"force_new", body.ForceNew, &wish.ForceNew},
		{"update_existing", body.UpdateExisting, &wish.UpdateExisting},
	} {
		if flag.sent.Null {
			return recordings.ShareWish{}, problems.New(problems.InvalidParameter, "%s must be true or false.", flag.name)
		}
		if flag.sent.Set {
			*flag.to = flag.sent.Value
		}
	}
	return wish, nil
}

// isSecure tells whether what stands in the answer is read by the caller alone.
func (a *API) isSecure(c echo.Context) bool {
	return a.addresses.Secure(c.Request()) || strings.HasPrefix(a.publicURL, "https://")
}

// shareURL is where the link leads: to the server's address as the operator gave it, never as a caller wrote it.
func (a *API) shareURL(s recordings.Share) string {
	return strings.TrimRight(a.publicURL, "/") + "/share/" + s.Link
}

type shareListItem struct {
	shareForm

	ShareURL string `json:"share_url"`
}

type shareList struct {
	Shares []shareListItem `json:"shares"`
}

func listSharesOperation() routes.Operation {
	return routes.Operation{
		Summary: "List the public links of a recording", Group: routes.GroupShares,
		Answers: routes.Answers{http.StatusOK: exampleShareList()},
	}
}

func (a *API) listShares(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	shares, err := a.recordings.Shares(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	answer := shareList{Shares: make([]shareListItem, len(shares))}
	for i, share := range shares {
		answer.Shares[i] = shareListItem{shareFormOf(share), a.shareURL(share)}
	}
	return c.JSON(http.StatusOK, answer)
}

func revokeShareOperation() routes.Operation {
	return routes.Operation{
		Summary: "Revoke a public link", Group: routes.GroupShares, Notes: "It is dead at once.",
		Answers: routes.Answers{http.StatusNoContent: routes.Nothing{}},
	}
}

func (a *API) revokeShare(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "share")
	if err != nil {
		return err
	}
	if err := a.recordings.RevokeShare(c.Request().Context(), p, id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
