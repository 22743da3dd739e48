package server

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/recordings"
)

// administering runs a command on the accounts.
func administering(ctx context.Context, call Invocation, run func(*config.Config, *models.DB, *accounts.Accounts) error) error {
	return withDatabase(ctx, call, func(cfg *config.Config, db *models.DB) error {
		options := accountOptions(cfg, time.Now, nil)
		queue, err := jobs.New(db, jobs.Options{
			Role: string(RoleWeb), MaxWorkers: 1, Heartbeat: cfg.JobHeartbeat, DeadAfter: cfg.JobDeadAfter, MaxAttempts: cfg.JobMaxAttempts,
			RetryBase: cfg.JobRetryBase, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return fmt.Errorf("joining the job queue: %w", err)
		}
		recordings.RegisterWorkers(queue, nil) // jobs are only queued: a server works them
		options.Erase = recordings.ErasingBy(queue)
		return run(cfg, db, accounts.New(db, options))
	})
}

// onUser is a command that does one thing to an account, which its --email names.
func onUser(name string, change func(ctx context.Context, store *accounts.Accounts, user accounts.User) error) func(context.Context, Invocation, []string) error {
	return func(ctx context.Context, call Invocation, arguments []string) error {
		flags := flag.NewFlagSet(name, flag.ContinueOnError)
		email := flags.String("email", "", "the address of the account")
		if err := parse(call, flags, arguments); err != nil {
			return err
		}
		return changeUser(ctx, call, *email, change)
	}
}

// changeUser finds the account, changes it, and shows it as it then is.
func changeUser(ctx context.Context, call Invocation, email string, change func(context.Context, *accounts.Accounts, accounts.User) error) error {
	if email == "" {
		return fmt.Errorf("%w: --email is needed", errUsage)
	}
	return administering(ctx, call, func(_ *config.Config, _ *models.DB, store *accounts.Accounts) error {
		user, err := store.ByEmail(ctx, email)
		if err != nil {
			return err
		}
		if err := change(ctx, store, user); err != nil {
			return err
		}
		_, err = fmt.Fprintln(call.Output, user.ID)
		return err
	})
}

func disableUser(ctx context.Context, store *accounts.Accounts, user accounts.User) error {
	_, err := store.Alter(ctx, accounts.Operator(), user.ID, accounts.Alteration{Disabled: new(true)})
	return err
}

func enableUser(ctx context.Context, store *accounts.Accounts, user accounts.User) error {
	_, err := store.Alter(ctx, accounts.Operator(), user.ID, accounts.Alteration{Disabled: new(false)})
	return err
}

func signOutUser(ctx context.Context, store *accounts.Accounts, user accounts.User) error {
	return store.SignOut(ctx, accounts.Operator(), user.ID)
}

func deleteUser(ctx context.Context, store *accounts.Accounts, user accounts.User) error {
	return store.Delete(ctx, accounts.Operator(), user.ID)
}

// setRole gives an account another role, or the rank of the instance.
func setRole(ctx context.Context, call Invocation, arguments []string) error {
	flags := flag.NewFlagSet("user role", flag.ContinueOnError)
	email := flags.String("email", "", "the address of the account")
	role := flags.String("role", "", "admin, editor or viewer")
	instance := flags.String("instance-admin", "", "whether it administers the whole instance: true or false")
	if err := parse(call, flags, arguments); err != nil {
		return err
	}
	var change accounts.Alteration
	if *role != "" {
		change.Role = role
	}
	if *instance != "" {
		rank, err := strconv.ParseBool(*instance)
		if err != nil {
			return fmt.Errorf("%w: --instance-admin must be true or false", errUsage)
		}
		change.InstanceAdmin = &rank
	}
	if change == (accounts.Alteration{}) {
		return fmt.Errorf("%w: --role or --instance-admin is needed", errUsage)
	}
	return changeUser(ctx, call, *email, func(ctx context.Context, store *accounts.Accounts, user accounts.User) error {
		_, err := store.Alter(ctx, accounts.Operator(), user.ID, change)
		return err
	})
}

// listUsers shows every account, or those of one organization.
func listUsers(ctx context.Context, call Invocation, arguments []string) error {
	flags := flag.NewFlagSet("user list", flag.ContinueOnError)
	slug := flags.String("org", "", "slug of an organization; all of them without it")
	if err := parse(call, flags, arguments); err != nil {
		return err
	}
	return administering(ctx, call, func(_ *config.Config, db *models.DB, store *accounts.Accounts) error {
		asked := accounts.Members{Page: 1, PerPage: accounts.MaxPerPage}
		if *slug != "" {
			var err error
			if asked.OrganizationID, err = organizationBySlug(ctx, db, *slug); err != nil {
				return err
			}
		}
		table := tabwriter.NewWriter(call.Output, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tORGANIZATION\tEMAIL\tUSERNAME\tROLE\tINSTANCE\tDISABLED")
		for ; ; asked.Page++ {
			page, total, err := store.Members(ctx, asked)
			if err != nil {
				return err
			}
			for _, user := range page {
				fmt.Fprintf(table, "%d\t%d\t%s\t%s\t%s\t%s\t%s\n", user.ID, user.OrganizationID, user.Email, user.Username, user.Role,
					wordIf(user.InstanceAdmin, "admin"), wordIf(user.DisabledAt != nil, "disabled"))
			}
			if int64(asked.Page)*accounts.MaxPerPage >= total {
				return table.Flush()
			}
		}
	})
}

func wordIf(yes bool, word string) string {
	if yes {
		return word
	}
	return "-"
}
