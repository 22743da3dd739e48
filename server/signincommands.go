package server

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/orgs"
)

// resetUser prints the link by which an account sets a new password, or sets the one on standard input.
func resetUser(ctx context.Context, call Invocation, arguments []string) error {
	flags := flag.NewFlagSet("user reset", flag.ContinueOnError)
	email := flags.String("email", "", "the account's address")
	fromInput := flags.Bool("password-stdin", false, "set the password on standard input in place of printing a link")
	if err := parse(call, flags, arguments); err != nil {
		return err
	}
	if *email == "" {
		return fmt.Errorf("%w: --email is needed", errUsage)
	}
	var password string
	if *fromInput {
		var err error
		if password, err = passwordFrom(call.Input); err != nil {
			return err
		}
	}
	return withAccounts(ctx, call, func(db *models.DB, store *accounts.Accounts) error {
		user, err := store.ByEmail(ctx, *email)
		if err != nil {
			return err
		}
		return audited(ctx, db, "user.reset", audit.Object("user", user.ID), func() (string, error) {
			if *fromInput {
				return "", store.SetPassword(ctx, user.ID, password)
			}
			return "", printReset(ctx, call.Output, store, user.ID)
		})
	})
}

func printReset(ctx context.Context, w io.Writer, store *accounts.Accounts, userID int64) error {
	token, err := store.MakeReset(ctx, userID)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, store.ResetLink(token))
	return err
}

func passwordFrom(input io.Reader) (string, error) {
	read, err := io.ReadAll(io.LimitReader(input, maxPasswordInput))
	if err != nil {
		return "", fmt.Errorf("reading the password from standard input: %w", err)
	}
	return strings.TrimRight(string(read), "\r\n"), nil
}

// createInvite prints the link of an invite, as the operator's. It is not mailed: who calls a command passes it on.
func createInvite(ctx context.Context, call Invocation, arguments []string) error {
	flags := flag.NewFlagSet("invite create", flag.ContinueOnError)
	email := flags.String("email", "", "the address of who is invited")
	role := flags.String("role", "", "admin, editor or viewer; editor without")
	organization := flags.String("org", "", "slug of an existing organization; the first one without it")
	days := flags.Int64("expires-in-days", accounts.DefaultInviteDays, "how long it is open, 1 to 30")
	if err := parse(call, flags, arguments); err != nil {
		return err
	}
	if *email == "" || *days == 0 {
		return fmt.Errorf("%w: --email is needed, and --expires-in-days is 1 to %d", errUsage, accounts.MaxInviteDays)
	}
	return withAccounts(ctx, call, func(db *models.DB, store *accounts.Accounts) error {
		id, err := organizationFor(ctx, db, *organization)
		if err != nil {
			return err
		}
		return audited(ctx, db, "invite.create", audit.Object("organization", id), func() (string, error) {
			invite, link, err := store.Invite(ctx, accounts.Operator(), accounts.NewInvite{Email: *email, Role: *role, Days: *days, OrganizationID: id})
			if err != nil {
				return "", err
			}
			_, err = fmt.Fprintln(call.Output, link)
			return audit.Object("invite", invite.ID), err
		})
	})
}

// organizationFor is the organization of a slug, or the first one.
func organizationFor(ctx context.Context, db *models.DB, slug string) (int64, error) {
	if slug != "" {
		return organizationBySlug(ctx, db, slug)
	}
	list, _, err := orgs.NewOrganizations(db, time.Now).List(ctx, 1, 1)
	if err != nil {
		return 0, err
	}
	if len(list) == 0 {
		return 0, errors.New("there is no organization yet: create the first account")
	}
	return list[0].ID, nil
}

// withAccounts runs a command on the accounts of the database, with the key by which the server signs.
func withAccounts(ctx context.Context, call Invocation, run func(*models.DB, *accounts.Accounts) error) error {
	return withDatabase(ctx, call, func(cfg *config.Config, db *models.DB) error {
		if err := config.EnsureSecretKey(cfg); err != nil {
			return fmt.Errorf("preparing SECRET_KEY: %w", err)
		}
		return run(db, accounts.New(db, accountOptions(cfg, time.Now, nil)))
	})
}
