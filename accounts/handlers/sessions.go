package handlers

import (
	"math"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// browserSession is a signed-in browser. The current one is that of the request.
type browserSession struct {
	ID        int64   `json:"id"`
	Current   bool    `json:"current"`
	CreatedAt *string `json:"created_at"`
	SeenAt    *string `json:"seen_at"`
	ExpiresAt string  `json:"expires_at"`
	Address   string  `json:"address"`
	UserAgent string  `json:"user_agent"`
}

type browserSessionList struct {
	Sessions   []browserSession  `json:"sessions"`
	Pagination routes.Pagination `json:"pagination"`
}

type listSessionsQuery struct {
	Page    *int `query:"page" description:"From 1; brought into bounds."`
	PerPage *int `query:"per_page" description:"1 to 100, 25 by itself; brought into bounds."`
}

func listSessionsOperation() routes.Operation {
	at := time.Date(2026, time.March, 4, 8, 0, 0, 0, time.UTC)
	return routes.Operation{
		Summary: "List the account's sessions", Group: routes.GroupAccount, Request: listSessionsQuery{},
		Notes: "Newest first. `seen_at` is exact to a tenth of the time after which an unused session ends.",
		Answers: routes.Answers{http.StatusOK: browserSessionList{
			Sessions: []browserSession{{
				ID: 8, Current: true, CreatedAt: new(routes.Micro(at)), SeenAt: new(routes.Micro(at)), ExpiresAt: routes.Micro(at.Add(72 * time.Hour)),
				Address: "192.0.2.7", UserAgent: "Mozilla/5.0",
			}},
			Pagination: routes.PaginationOf(1, defaultSessions, 1),
		}},
	}
}

const (
	defaultSessions = 25
	maxSessions     = 100
)

func (h *Handlers) listSessions(c echo.Context, p auth.Principal) error {
	page, perPage := routes.Within(c.QueryParam("page"), 1, math.MaxInt32), routes.Within(c.QueryParam("per_page"), defaultSessions, maxSessions)
	sessions, total, err := h.Accounts.Sessions(c.Request().Context(), p.UserID(), cookieOf(c), (page-1)*perPage, perPage)
	if err != nil {
		return err
	}
	answer := browserSessionList{Sessions: []browserSession{}, Pagination: routes.PaginationOf(page, perPage, total)}
	for _, session := range sessions {
		answer.Sessions = append(answer.Sessions, browserSession{
			ID: session.ID, Current: session.Current, CreatedAt: routes.MicroOrNull(session.CreatedAt), SeenAt: routes.MicroOrNull(session.SeenAt),
			ExpiresAt: routes.Micro(session.ExpiresAt), Address: session.Address, UserAgent: session.UserAgent,
		})
	}
	return c.JSON(http.StatusOK, answer)
}

func endSessionOperation() routes.Operation {
	return routes.Operation{
		Summary: "End a session of the account", Group: routes.GroupAccount, Answers: routes.Answers{http.StatusOK: sessionEnd{endedSentence}},
		Refusals: []problems.Kind{problems.NotFound},
	}
}

// sessionEnd says that a session is over.
type sessionEnd struct {
	Message string `json:"message"`
}

const endedSentence = "The session has ended."

func (h *Handlers) endSession(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "session")
	if err != nil {
		return err
	}
	if err := h.Accounts.EndSession(c.Request().Context(), p.UserID(), id); err != nil {
		return err
	}
	h.note(c, p.UserID(), sessionEnded, "")
	return c.JSON(http.StatusOK, sessionEnd{endedSentence})
}

// rotated opens a session in place of those that a new password has ended, for a browser; a token has none.
func (h *Handlers) rotated(c echo.Context, p auth.Principal, user accounts.User) error {
	if p.Via() == auth.ViaSession {
		return h.signedIn(c, http.StatusOK, user)
	}
	return c.JSON(http.StatusOK, formOf(user))
}
