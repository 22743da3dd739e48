package server

import (
	"context"
	"flag"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/orgs"
)

// audited does what a command is for once its entry in the audit log is written, and says there how it ended. What was
// made, if anything, is named by what it returns.
func audited(ctx context.Context, db *models.DB, action, object string, do func() (made string, err error)) error {
	log := audit.New(db, audit.Options{})
	id, err := log.Begin(ctx, audit.Entry{Address: audit.Command, Action: action, Object: object})
	if err != nil {
		return err
	}
	made, err := do()
	outcome := audit.Done
	switch {
	case err != nil:
		outcome = "failed"
	case made != "":
		outcome += " " + made
	}
	log.End(ctx, id, outcome)
	return err
}

func organizationBySlug(ctx context.Context, db *models.DB, slug string) (int64, error) {
	return orgs.NewFigures(db, orgs.FiguresOptions{}).OrganizationBySlug(ctx, slug)
}

func createOrganization(ctx context.Context, call Invocation, arguments []string) error {
	flags := flag.NewFlagSet("org create", flag.ContinueOnError)
	slug := flags.String("slug", "", "what other commands call it: a-z, 0-9 and -")
	name := flags.String("name", "", "the name that is shown")
	zone := flags.String("time-zone", "", "IANA name of the zone in which its months are counted; UTC without")
	if err := parse(call, flags, arguments); err != nil {
		return err
	}
	if *slug == "" || *name == "" {
		return fmt.Errorf("%w: --slug and --name are needed", errUsage)
	}
	return withDatabase(ctx, call, func(_ *config.Config, db *models.DB) error {
		return audited(ctx, db, "organization.create", "", func() (string, error) {
			made, err := orgs.NewOrganizations(db, time.Now).Create(ctx, orgs.Draft{Slug: *slug, Name: *name, TimeZone: *zone})
			if err != nil {
				return "", err
			}
			_, err = fmt.Fprintln(call.Output, made.ID)
			return audit.Object("organization", made.ID), err
		})
	})
}

func listOrganizations(ctx context.Context, call Invocation, arguments []string) error {
	if err := parse(call, flag.NewFlagSet("org list", flag.ContinueOnError), arguments); err != nil {
		return err
	}
	return withDatabase(ctx, call, func(_ *config.Config, db *models.DB) error {
		table := tabwriter.NewWriter(call.Output, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tSLUG\tNAME\tTIME ZONE\tMEMBERS")
		for page := 1; ; page++ {
			list, total, err := orgs.NewOrganizations(db, time.Now).List(ctx, page, orgs.MaxPerPage)
			if err != nil {
				return err
			}
			for _, of := range list {
				fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%d\n", of.ID, of.Slug, of.Name, of.TimeZone, of.Members)
			}
			if int64(page)*orgs.MaxPerPage >= total {
				return table.Flush()
			}
		}
	})
}
