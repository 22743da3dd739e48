package server

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
)

// printAudit shows the newest entries of the audit log that the flags ask for, the newest last.
func printAudit(ctx context.Context, call Invocation, arguments []string) error {
	flags := flag.NewFlagSet("audit", flag.ContinueOnError)
	email := flags.String("user", "", "what this account did, by its e-mail address")
	slug := flags.String("org", "", "what was done to this organization, by its slug")
	action := flags.String("action", "", "an action such as user.delete, or its beginning up to a dot")
	from := flags.String("from", "", "a date or date-time")
	limit := flags.Int("limit", 50, "how many, 1 to 200")
	if err := parse(call, flags, arguments); err != nil {
		return err
	}
	if *limit < 1 || *limit > audit.MaxPage {
		return fmt.Errorf("%w: --limit must be 1 to %d", errUsage, audit.MaxPage)
	}
	asked := audit.Query{Action: *action, Limit: *limit}
	if *from != "" {
		at, _, ok := recordings.ParseTime(*from)
		if !ok {
			return fmt.Errorf("%w: --from must be a date or date-time of ISO 8601", errUsage)
		}
		asked.From = &at
	}
	return administering(ctx, call, func(_ *config.Config, db *models.DB, store *accounts.Accounts) error {
		if *email != "" {
			user, err := store.ByEmail(ctx, *email)
			if err != nil {
				return err
			}
			asked.ActorID = user.ID
		}
		if *slug != "" {
			var err error
			if asked.OrganizationID, err = organizationBySlug(ctx, db, *slug); err != nil {
				return err
			}
		}
		list, err := audit.New(db, audit.Options{}).List(ctx, asked)
		if err != nil {
			return err
		}
		slices.Reverse(list)
		table := tabwriter.NewWriter(call.Output, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "AT\tUSER\tTOKEN\tADDRESS\tACTION\tOBJECT\tOUTCOME")
		for _, stored := range list {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", stored.At.UTC().Format(time.RFC3339), idOrNone(stored.ActorID), idOrNone(stored.TokenID),
				orDash(stored.Address), stored.Action, orDash(stored.Object), orDash(stored.Outcome))
		}
		return table.Flush()
	})
}

func idOrNone(id int64) string {
	if id == 0 {
		return "-"
	}
	return strconv.FormatInt(id, 10)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
