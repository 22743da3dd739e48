package admin

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/tokens"
)

// memberToken is a token as its owner's administrators see it: what it opens and when it was used, never what it is.
type memberToken struct {
	ID         int64    `json:"id"`
	Name       string   `json:"name"`
	Scopes     []string `json:"scopes"`
	CreatedAt  string   `json:"created_at"`
	ExpiresAt  *string  `json:"expires_at"`
	LastUsedAt *string  `json:"last_used_at"`
}

func memberTokenOf(token tokens.Token) memberToken {
	return memberToken{
		ID: token.ID, Name: token.Name, Scopes: token.Scopes.Names(), CreatedAt: routes.Micro(token.CreatedAt),
		ExpiresAt: routes.MicroOrNull(token.ExpiresAt), LastUsedAt: routes.MicroOrNull(token.LastUsedAt),
	}
}

type memberTokenList struct {
	Tokens []memberToken `json:"tokens"`
}

func listUserTokensOperation() routes.Operation {
	return routes.Operation{
		Summary: "List the tokens of an account", Group: routes.GroupAdministration,
		Answers: routes.Answers{http.StatusOK: memberTokenList{[]memberToken{
			{ID: 4, Name: "n8n", Scopes: []string{"read", "upload"}, CreatedAt: routes.Micro(exampleMoment())},
		}}},
	}
}

func (a *API) listUserTokens(c echo.Context, p auth.Principal) error {
	user, err := a.user(c, p)
	if err != nil {
		return err
	}
	list, err := a.Tokens.List(c.Request().Context(), user.ID)
	if err != nil {
		return err
	}
	answer := memberTokenList{Tokens: []memberToken{}}
	for _, token := range list {
		answer.Tokens = append(answer.Tokens, memberTokenOf(token))
	}
	return c.JSON(http.StatusOK, answer)
}

// memberTokenRevocation says that a token is over.
type memberTokenRevocation struct {
	Message string `json:"message"`
}

const revokedSentence = "The token was revoked."

func revokeUserTokenOperation() routes.Operation {
	return routes.Operation{
		Summary: "Revoke a token of an account", Group: routes.GroupAdministration,
		Answers: routes.Answers{http.StatusOK: memberTokenRevocation{revokedSentence}},
	}
}

func (a *API) revokeUserToken(c echo.Context, p auth.Principal) error {
	user, err := a.changedUser(c, p)
	if err != nil {
		return err
	}
	token, err := routes.IDParam(c, "token")
	if err != nil {
		return err
	}
	if err := a.Tokens.Revoke(c.Request().Context(), user.ID, token); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, memberTokenRevocation{revokedSentence})
}
