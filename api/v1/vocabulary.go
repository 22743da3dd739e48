package v1

import (
	"math"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/orgs"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

const wordRemoved = "The word was removed."

// vocabularyWord is a word of the organization's vocabulary. The word is a text, which a caller that may not read does not
// get.
type vocabularyWord struct {
	ID         int64   `json:"id"`
	Word       *string `json:"word" example:"Stenometer"`
	Status     string  `json:"status" enum:"proposed,accepted"`
	ProposedBy *int64  `json:"proposed_by" description:"The account's id; null once it is gone."`
	ProposedAt string  `json:"proposed_at"`
	AcceptedBy *int64  `json:"accepted_by"`
	AcceptedAt *string `json:"accepted_at"`
}

func vocabularyWordOf(p auth.Principal, word orgs.Word) vocabularyWord {
	form := vocabularyWord{
		ID: word.ID, Status: word.Status, ProposedBy: word.ProposedBy, ProposedAt: routes.Micro(word.ProposedAt),
		AcceptedBy: word.AcceptedBy, AcceptedAt: routes.MicroOrNull(word.AcceptedAt),
	}
	if p.MayRead() {
		form.Word = &word.Word
	}
	return form
}

type vocabularyList struct {
	Words      []vocabularyWord  `json:"words"`
	Pagination routes.Pagination `json:"pagination"`
}

type vocabularyQuery struct {
	Status  *string `query:"status" enum:"proposed,accepted" description:"Keeps the words in this state; both by itself."`
	Page    *int    `query:"page" description:"From 1; brought into bounds."`
	PerPage *int    `query:"per_page" description:"1 to 100, 25 by itself; brought into bounds."`
}

func listWordsOperation() routes.Operation {
	return routes.Operation{
		Summary: "List the organization's vocabulary", Group: routes.GroupOrganization, Request: vocabularyQuery{},
		Notes:    "In the order in which words were proposed: at most 500 that are proposed and 500 that are accepted.",
		Answers:  routes.Answers{http.StatusOK: exampleVocabulary()},
		Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) listWords(c echo.Context, p auth.Principal) error {
	page, perPage := routes.Within(c.QueryParam("page"), 1, math.MaxInt32), routes.Within(c.QueryParam("per_page"), 25, 100)
	words, total, err := a.organizations.Words(c.Request().Context(), p, c.QueryParam("status"), page, perPage)
	if err != nil {
		return err
	}
	answer := vocabularyList{Words: make([]vocabularyWord, len(words)), Pagination: routes.PaginationOf(page, perPage, total)}
	for i, word := range words {
		answer.Words[i] = vocabularyWordOf(p, word)
	}
	return c.JSON(http.StatusOK, answer)
}

type newWord struct {
	Word string `json:"word" required:"true" minLength:"1" maxLength:"100" example:"Stenometer"`
}

func proposeWordOperation() routes.Operation {
	return routes.Operation{
		Summary: "Propose a word", Group: routes.GroupOrganization, Request: newWord{Word: "Stenometer"},
		Notes: "A name or term as it is spelled, on one line. It counts once somebody whose role may has accepted it. One that " +
			"is there already, in whatever case, is a conflict.",
		Answers:  routes.Answers{http.StatusCreated: exampleWord(orgs.WordProposed)},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.Conflict},
	}
}

func (a *API) proposeWord(c echo.Context, p auth.Principal) error {
	var body newWord
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	word, err := a.organizations.Propose(c.Request().Context(), p, body.Word)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, vocabularyWordOf(p, word))
}

func acceptWordOperation() routes.Operation {
	return routes.Operation{
		Summary: "Accept a word", Group: routes.GroupOrganization,
		Notes:    "From then on speech engines and text models are told how it is spelled. One that is accepted already stays so.",
		Answers:  routes.Answers{http.StatusOK: exampleWord(orgs.WordAccepted)},
		Refusals: []problems.Kind{problems.Conflict},
	}
}

func (a *API) acceptWord(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "word")
	if err != nil {
		return err
	}
	word, err := a.organizations.Accept(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, vocabularyWordOf(p, word))
}

func removeWordOperation() routes.Operation {
	return routes.Operation{
		Summary: "Remove a word", Group: routes.GroupOrganization,
		Notes:    "Whoever may accept words removes any; others what they have proposed themselves and nobody has accepted.",
		Answers:  routes.Answers{http.StatusOK: confirmation{true, wordRemoved}},
		Refusals: []problems.Kind{problems.InsufficientPermission},
	}
}

func (a *API) removeWord(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "word")
	if err != nil {
		return err
	}
	if err := a.organizations.RemoveWord(c.Request().Context(), p, id); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, confirmation{true, wordRemoved})
}
