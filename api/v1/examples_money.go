package v1

import (
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/routes"
)

func exampleUsage() usageForm {
	own := budgets.State{
		Money:   budgets.Standing{Spent: 13_320, Held: 6_000},
		Tokens:  budgets.Standing{Spent: 5_120, Budget: new(int64(1_000_000))},
		Seconds: budgets.Standing{Spent: 185, Held: 60}, Alerted: []int{},
	}
	whole := own
	whole.Money = budgets.Standing{Spent: 13_500_000, Held: 6_000, Budget: new(int64(25_000_000))}
	whole.Alerted = []int{50}
	return usageForm{
		Month: "2026-03", TimeZone: "Europe/Berlin", Currency: "USD", ResetsAt: routes.Micro(exampleTime(22, 0, 0).AddDate(0, 0, 27)),
		Scope: "own", GroupBy: []string{"day", "operation", "model", "token"},
		Account: standingFormOf(own), Organization: new(standingFormOf(whole)), Holds: 1,
		Entries: []usageEntry{usageEntryOf(budgets.LedgerSum{
			Day: new("2026-03-04"), Operation: new(string(budgets.Transcribing)), Provider: new("openai"), Model: new("whisper-1"),
			TokenID: new(int64(5)), TokenName: new("n8n"), Calls: 1, AudioSeconds: 184.2, ChargedMicros: 18_420, Estimated: 1,
		})},
		Pagination: routes.PaginationOf(1, 25, 1),
	}
}
