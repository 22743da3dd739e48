package server

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/tokens"
)

// maxPasswordInput bounds what `user create` reads; accounts has the bound of a password itself.
const maxPasswordInput = 64 << 10

func migrate(ctx context.Context, call Invocation, arguments []string) error {
	if err := parse(call, flag.NewFlagSet("migrate", flag.ContinueOnError), arguments); err != nil {
		return err
	}
	return withDatabase(ctx, call, func(*config.Config, *models.DB) error { return nil })
}

// withDatabase runs a command on the database.
func withDatabase(ctx context.Context, call Invocation, run func(*config.Config, *models.DB) error) error {
	cfg, err := load(call)
	if err != nil {
		return err
	}
	db, err := openMigrated(ctx, cfg)
	if err != nil {
		return err
	}
	defer db.Close()
	return run(cfg, db)
}

// openMigrated is the database for a command that runs beside the server or before its first start.
func openMigrated(ctx context.Context, cfg *config.Config) (*models.DB, error) {
	db, err := models.Open(ctx, models.Options{URL: cfg.DatabaseURL.Reveal(), MaxConnections: commandConnections, Now: time.Now})
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	if err := db.Migrate(ctx, jobs.Migrate); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("migrating the database: %w", err)
	}
	return db, nil
}

// commandConnections is all that a command needs; the server beside it keeps the rest of PostgreSQL's.
const commandConnections = 2

func createUser(ctx context.Context, call Invocation, arguments []string) error {
	flags := flag.NewFlagSet("user create", flag.ContinueOnError)
	email := flags.String("email", "", "the address that signs in")
	username := flags.String("username", "", "the name that is shown")
	role := flags.String("role", "editor", "admin, editor or viewer")
	organization := flags.String("org", "", "slug of an existing organization; the first one without it")
	if err := parse(call, flags, arguments); err != nil {
		return err
	}
	if *email == "" || *username == "" {
		return fmt.Errorf("%w: --email and --username are needed", errUsage)
	}
	password, err := passwordFrom(call.Input)
	if err != nil {
		return err
	}
	return withDatabase(ctx, call, func(cfg *config.Config, db *models.DB) error {
		return audited(ctx, db, "user.create", "", func() (string, error) {
			user, err := accounts.New(db, accountOptions(cfg, time.Now, nil)).Create(ctx, accounts.NewUser{
				Email: *email, Username: *username, Password: password, Role: *role, OrganizationSlug: *organization,
			})
			if err != nil {
				return "", err
			}
			_, err = fmt.Fprintln(call.Output, user.ID)
			return audit.Object("user", user.ID), err
		})
	})
}

func createToken(ctx context.Context, call Invocation, arguments []string) error {
	flags := flag.NewFlagSet("token create", flag.ContinueOnError)
	owner := flags.String("user", "", "e-mail address of the owner")
	name := flags.String("name", "", "what the token is for")
	scopes := flags.String("scopes", "", "comma-separated scopes; full without")
	days := flags.Int64("expires-in-days", 0, "0 never expires")
	administration := flags.Bool("admin", false, "may administer too, as its owner's role may")
	if err := parse(call, flags, arguments); err != nil {
		return err
	}
	if *owner == "" || *name == "" {
		return fmt.Errorf("%w: --user and --name are needed", errUsage)
	}
	return withTokens(ctx, call, *owner, func(db *models.DB, store *tokens.Tokens, user accounts.User) error {
		return audited(ctx, db, "user.token.create", audit.Object("user", user.ID), func() (string, error) {
			plaintext, made, err := store.Create(ctx, tokens.Wish{
				UserID: user.ID, Name: name, Scopes: splitScopes(*scopes), ExpiresInDays: *days, Administration: *administration,
			})
			if err != nil {
				return "", err
			}
			_, err = fmt.Fprintln(call.Output, plaintext)
			return audit.Object("token", made.ID), err
		})
	})
}

// splitScopes is nil, and so a full token, when the flag was not given.
func splitScopes(flag string) []string {
	if strings.TrimSpace(flag) == "" {
		return nil
	}
	return strings.Split(flag, ",")
}
