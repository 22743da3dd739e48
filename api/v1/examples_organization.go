package v1

import (
	"github.com/stenometer/stenometer/orgs"
	"github.com/stenometer/stenometer/routes"
)

func exampleOrganization() organizationForm {
	return organizationForm{
		ID: 1, Slug: "example", Name: "Example", TimeZone: "Europe/Vienna",
		SummaryPrompt: new("Three bullet points, then the decisions."),
	}
}

func exampleWord(status string) vocabularyWord {
	word := vocabularyWord{
		ID: 4, Word: new("Stenometer"), Status: status, ProposedBy: new(int64(1)), ProposedAt: "2026-03-04T08:12:00.000000Z",
	}
	if status == orgs.WordAccepted {
		word.AcceptedBy, word.AcceptedAt = new(int64(2)), new("2026-03-04T09:30:00.000000Z")
	}
	return word
}

func exampleVocabulary() vocabularyList {
	return vocabularyList{Words: []vocabularyWord{exampleWord(orgs.WordAccepted)}, Pagination: routes.PaginationOf(1, 25, 1)}
}
