package server

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/tokens"
)

// listTokens shows the tokens of an account: what they open and when they were used, never what they are.
func listTokens(ctx context.Context, call Invocation, arguments []string) error {
	flags := flag.NewFlagSet("token list", flag.ContinueOnError)
	owner := flags.String("user", "", "e-mail address of the owner")
	if err := parse(call, flags, arguments); err != nil {
		return err
	}
	return withTokens(ctx, call, *owner, func(_ *models.DB, store *tokens.Tokens, user accounts.User) error {
		list, err := store.List(ctx, user.ID)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(call.Output, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tNAME\tSCOPES\tCREATED\tEXPIRES\tLAST USED")
		for _, token := range list {
			fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\n", token.ID, token.Name, strings.Join(token.Scopes.Names(), ","),
				momentOrNone(&token.CreatedAt), momentOrNone(token.ExpiresAt), momentOrNone(token.LastUsedAt))
		}
		return table.Flush()
	})
}

// revokeToken ends a token of an account, within a second everywhere.
func revokeToken(ctx context.Context, call Invocation, arguments []string) error {
	flags := flag.NewFlagSet("token revoke", flag.ContinueOnError)
	owner := flags.String("user", "", "e-mail address of the owner")
	id := flags.Int64("token", 0, "id of the token, as `token list` shows it")
	if err := parse(call, flags, arguments); err != nil {
		return err
	}
	if *id == 0 {
		return fmt.Errorf("%w: --token is needed", errUsage)
	}
	return withTokens(ctx, call, *owner, func(db *models.DB, store *tokens.Tokens, user accounts.User) error {
		object := audit.Object("user", user.ID) + " " + audit.Object("token", *id)
		return audited(ctx, db, "user.token.revoke", object, func() (string, error) { return "", store.Revoke(ctx, user.ID, *id) })
	})
}

func withTokens(ctx context.Context, call Invocation, owner string, run func(*models.DB, *tokens.Tokens, accounts.User) error) error {
	if owner == "" {
		return fmt.Errorf("%w: --user is needed", errUsage)
	}
	return administering(ctx, call, func(cfg *config.Config, db *models.DB, store *accounts.Accounts) error {
		user, err := store.ByEmail(ctx, owner)
		if err != nil {
			return err
		}
		return run(db, tokens.New(db, tokenOptions(cfg, time.Now)), user)
	})
}

func momentOrNone(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}
