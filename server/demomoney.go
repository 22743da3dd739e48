package server

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/stenometer/stenometer/budgets"
)

//go:embed demodata/prices.yaml
var demoPrices []byte

// demoUsage is what the demo shows of the month.
type demoUsage struct {
	Account struct {
		Spent float64 `json:"spent"`
		Held  float64 `json:"held"`
	} `json:"account"`
	Entries []struct {
		Operation    string  `json:"operation"`
		Model        string  `json:"model"`
		Calls        int64   `json:"calls"`
		InputTokens  int64   `json:"input_tokens"`
		OutputTokens int64   `json:"output_tokens"`
		AudioSeconds float64 `json:"audio_seconds"`
		Charged      float64 `json:"charged"`
	} `json:"entries"`
}

// demoMoney shows what the text engine makes of the recording, what that came to, and that it ends where the budget does.
func demoMoney(ctx context.Context, out io.Writer, client *demoClient, running *Running, userID, id int64) error {
	var summary struct {
		Summary string `json:"summary"`
	}
	if err := client.expect(ctx, http.StatusOK, http.MethodGet, fmt.Sprintf("/api/v1/recordings/%d/summary", id), "", nil, &summary); err != nil {
		return err
	}
	if strings.TrimSpace(summary.Summary) == "" {
		return fmt.Errorf("recording %d has no summary", id)
	}
	fmt.Fprintf(out, "summary (embedded engine: what was said, picked and not written)\n%s\n\n", indented(summary.Summary))
	if err := client.ask(ctx, out, id); err != nil {
		return err
	}
	var usage demoUsage
	if err := client.expect(ctx, http.StatusOK, http.MethodGet, "/api/v1/usage", "", nil, &usage); err != nil {
		return err
	}
	fmt.Fprintln(out, "ledger (the demo pretends that the text engine costs money; it does not)")
	for _, entry := range usage.Entries {
		fmt.Fprintf(out, "  %-16s %-20s %d call  %6.1f s  %5d tokens in  %4d out  %9.6f USD\n", entry.Operation, entry.Model,
			entry.Calls, entry.AudioSeconds, entry.InputTokens, entry.OutputTokens, entry.Charged)
	}
	fmt.Fprintf(out, "  spent %.6f USD, held %.6f USD\n\n", usage.Account.Spent, usage.Account.Held)
	if len(usage.Entries) < 3 || usage.Account.Spent == 0 || usage.Account.Held != 0 {
		return fmt.Errorf("the ledger has %d lines, %v USD spent and %v held", len(usage.Entries), usage.Account.Spent, usage.Account.Held)
	}
	return client.expectNoMoney(ctx, out, running, userID, id, usage.Account.Spent)
}

// expectNoMoney sets the account's budget to what is spent and shows that the next question is refused.
func (d *demoClient) expectNoMoney(ctx context.Context, out io.Writer, running *Running, userID, id int64, spent float64) error {
	server := running.Server()
	if server == nil {
		return running.Wait()
	}
	micros := int64(spent*1e6 + 0.5)
	if _, err := server.budgets.Set(ctx, budgets.Subject{UserID: userID}, budgets.SetMicros(&micros)); err != nil {
		return fmt.Errorf("setting the demo's budget: %w", err)
	}
	fmt.Fprintln(out, "budget       set to what is spent; the log tells that 50, 80 and 100 % of it are reached")
	answer, err := d.call(ctx, http.MethodPost, chatPath(id), "application/json", question())
	if err != nil {
		return err
	}
	if answer.status != http.StatusPaymentRequired {
		return fmt.Errorf("a question without money was answered %d: %s", answer.status, answer.body)
	}
	fmt.Fprintf(out, "no money     402\n             %s\n", bytes.TrimSpace(answer.body))
	return nil
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}
