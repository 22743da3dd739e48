package server

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/models"
)

// noBudget is how a flag says that nothing is to be set.
const noBudget = "none"

// budgetFlags are what a call of `budget set` asks for.
type budgetFlags struct {
	organization, user         string
	dollars, tokens, audioTime string
}

// setBudget gives an organization or an account another budget. A running server follows at the next call.
func setBudget(ctx context.Context, call Invocation, arguments []string) error {
	var asked budgetFlags
	flags := flag.NewFlagSet("budget set", flag.ContinueOnError)
	flags.StringVar(&asked.organization, "org", "", "slug of an organization")
	flags.StringVar(&asked.user, "user", "", "e-mail address of an account")
	flags.StringVar(&asked.dollars, "usd", "", "US dollars a month, or none")
	flags.StringVar(&asked.tokens, "tokens", "", "tokens of text models a month, or none; of accounts only")
	flags.StringVar(&asked.audioTime, "transcription-seconds", "", "seconds of audio a month, or none; of accounts only")
	if err := parse(call, flags, arguments); err != nil {
		return err
	}
	if err := noneEmpty(flags); err != nil {
		return err
	}
	changes, err := asked.changes()
	if err != nil {
		return err
	}
	return withDatabase(ctx, call, func(cfg *config.Config, db *models.DB) error {
		organization, subject, err := asked.find(ctx, cfg, db)
		if err != nil {
			return err
		}
		own := budgets.New(db, budgets.Options{Default: cfg.MonthlyBudget.Micros(), Now: time.Now})
		action, object := "organization.budget.set", audit.Object("organization", organization)
		if subject.UserID != 0 {
			action, object = "user.budget.set", audit.Object("user", subject.UserID)
		}
		return audited(ctx, db, action, object, func() (string, error) {
			stored, err := own.Set(ctx, subject, changes...)
			if err != nil {
				return "", err
			}
			return "", writeBudget(ctx, call.Output, own, organization, subject, stored)
		})
	})
}

// noneEmpty refuses a flag that is empty: it comes of a script's variable that was not set, and must not stand for
// nothing to do.
func noneEmpty(flags *flag.FlagSet) (err error) {
	flags.Visit(func(named *flag.Flag) {
		if named.Value.String() == "" {
			err = fmt.Errorf("%w: --%s is empty", errUsage, named.Name)
		}
	})
	return err
}

// changes reads the figures.
func (f budgetFlags) changes() ([]budgets.Change, error) {
	if (f.organization == "") == (f.user == "") {
		return nil, fmt.Errorf("%w: one of --org and --user is needed", errUsage)
	}
	if f.organization != "" && (f.tokens != "" || f.audioTime != "") {
		return nil, fmt.Errorf("%w: --tokens and --transcription-seconds are for accounts; an organization has --usd", errUsage)
	}
	var changes []budgets.Change
	for _, figure := range []struct {
		name, text string
		read       func(string) (*int64, error)
		change     func(*int64) budgets.Change
	}{
		{"usd", f.dollars, readDollars, budgets.SetMicros},
		{"tokens", f.tokens, upTo(budgets.MaxTokens), budgets.SetTokens},
		{"transcription-seconds", f.audioTime, upTo(budgets.MaxSeconds), budgets.SetSeconds},
	} {
		if figure.text == "" {
			continue
		}
		if figure.text == noBudget {
			changes = append(changes, figure.change(nil))
			continue
		}
		value, err := figure.read(figure.text)
		if err != nil {
			return nil, fmt.Errorf("%w: --%s %w, or %s", errUsage, figure.name, err, noBudget)
		}
		changes = append(changes, figure.change(value))
	}
	if len(changes) == 0 {
		return nil, fmt.Errorf("%w: a figure is needed: --usd, --tokens or --transcription-seconds", errUsage)
	}
	return changes, nil
}

func readDollars(text string) (*int64, error) {
	dollars, err := config.ParseDollars(text)
	if err != nil {
		return nil, err
	}
	return dollars.Micros(), nil
}

func upTo(most int64) func(string) (*int64, error) {
	return func(text string) (*int64, error) {
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil || value < 0 || value > most {
			return nil, fmt.Errorf("must be a whole number from 0 to %d", most)
		}
		return &value, nil
	}
}

// find looks up whose budget it is, and the organization that it belongs to.
func (f budgetFlags) find(ctx context.Context, cfg *config.Config, db *models.DB) (organization int64, subject budgets.Subject, err error) {
	if f.organization != "" {
		organization, err = organizationBySlug(ctx, db, f.organization)
		return organization, budgets.Subject{OrganizationID: organization}, err
	}
	owner, err := accounts.New(db, accountOptions(cfg, time.Now, nil)).ByEmail(ctx, f.user)
	return owner.OrganizationID, budgets.Subject{UserID: owner.ID}, err
}

// writeBudget shows what is stored, what is in force, and what of it is used this month.
func writeBudget(ctx context.Context, w io.Writer, own *budgets.Budgets, organization int64, subject budgets.Subject, stored budgets.Stored) error {
	month, err := own.Month(ctx, organization, "")
	if err != nil {
		return err
	}
	state, err := own.State(ctx, organization, subject.UserID, month)
	if err != nil {
		return err
	}
	dollars := func(micros int64) string { return strconv.FormatFloat(budgets.Dollars(micros), 'f', -1, 64) }
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "BUDGET\tSTORED\tIN FORCE\tSPENT IN %s\tHELD\n", month.Name)
	line := func(name string, set *int64, now budgets.Standing, shown func(int64) string) {
		orNone := func(value *int64) string {
			if value == nil {
				return noBudget
			}
			return shown(*value)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", name, orNone(set), orNone(now.Budget), shown(now.Spent), shown(now.Held))
	}
	line("usd", stored.Micros, state.Money, dollars)
	if subject.UserID != 0 {
		line("tokens", stored.Tokens, state.Tokens, whole)
		line("transcription-seconds", stored.Seconds, state.Seconds, whole)
	}
	return table.Flush()
}
