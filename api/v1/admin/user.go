package admin

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

func showUserOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show an account", Group: routes.GroupAdministration, Answers: routes.Answers{http.StatusOK: exampleMember()},
	}
}

func (a *API) showUser(c echo.Context, p auth.Principal) error {
	user, err := a.user(c, p)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, memberFormOf(user))
}

type memberUpdate struct {
	Role          *string `json:"role" description:"An assignable role that may do nothing the caller's may not."`
	Disabled      *bool   `json:"disabled" description:"A disabled account opens nothing: its tokens, sessions, open streams, public links and jobs end within a second."`
	InstanceAdmin *bool   `json:"instance_admin" description:"For administrators of the instance; takes a role that administers."`
}

func alterUserOperation() routes.Operation {
	return routes.Operation{
		Summary: "Change what an account may do", Group: routes.GroupAdministration, Request: memberUpdate{Role: new(auth.RoleViewer)},
		Notes: "All that is asked is done, or nothing. What changes anything ends the account's sessions; its tokens are judged anew at their next " +
			"request. The last administrator of the instance stays one, and nobody locks themselves out as the last of their organization.",
		Answers: routes.Answers{http.StatusOK: exampleMember()}, Refusals: []problems.Kind{problems.InvalidParameter, problems.Conflict},
	}
}

func (a *API) alterUser(c echo.Context, p auth.Principal) error {
	user, err := a.user(c, p)
	if err != nil {
		return err
	}
	var body memberUpdate
	if err := routes.DecodeStrictJSON(c, &body); err != nil {
		return err
	}
	if body == (memberUpdate{}) {
		return problems.New(problems.InvalidParameter, "Give role, disabled or instance_admin.")
	}
	user, err = a.Accounts.Alter(c.Request().Context(), by(c, p), user.ID, accounts.Alteration{
		Role: body.Role, Disabled: body.Disabled, InstanceAdmin: body.InstanceAdmin,
	})
	if err != nil {
		return err
	}
	a.heard(c)
	return c.JSON(http.StatusOK, memberFormOf(user))
}

// heard has this process know at once what it changed of a credential. Where that fails it knows within a second, as the
// others do: what was asked is done either way.
func (a *API) heard(c echo.Context) { _ = a.Tokens.Read(c.Request().Context()) }

// memberDeletion says that an account is being erased.
type memberDeletion struct {
	Message string `json:"message"`
}

const deletionSentence = "The account is disabled, and all of it is being removed."

func deleteUserOperation() routes.Operation {
	return routes.Operation{
		Summary: "Delete an account", Group: routes.GroupAdministration,
		Notes: "The account is disabled at once and for good. Its recordings, their media and all else that it has are removed by a job. What it spent " +
			"and what was audited stays.",
		Answers: routes.Answers{http.StatusAccepted: memberDeletion{deletionSentence}}, Refusals: []problems.Kind{problems.Conflict},
	}
}

func (a *API) deleteUser(c echo.Context, p auth.Principal) error {
	user, err := a.user(c, p)
	if err != nil {
		return err
	}
	if err := a.Accounts.Delete(c.Request().Context(), by(c, p), user.ID); err != nil {
		return err
	}
	a.heard(c)
	return c.JSON(http.StatusAccepted, memberDeletion{deletionSentence})
}

// memberSignOut says that sessions are over.
type memberSignOut struct {
	Message string `json:"message"`
}

const signOutSentence = "Every session of the account has ended."

func signOutUserOperation() routes.Operation {
	return routes.Operation{
		Summary: "End an account's sessions", Group: routes.GroupAdministration, Notes: "Its tokens work on; they are revoked one by one.",
		Answers: routes.Answers{http.StatusOK: memberSignOut{signOutSentence}},
	}
}

func (a *API) signOutUser(c echo.Context, p auth.Principal) error {
	user, err := a.user(c, p)
	if err != nil {
		return err
	}
	if err := a.Accounts.SignOut(c.Request().Context(), by(c, p), user.ID); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, memberSignOut{signOutSentence})
}
