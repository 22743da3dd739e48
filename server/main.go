package server

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stenometer/stenometer/config"
)

// Invocation is one call of the program: everything that it takes from outside.
type Invocation struct {
	Arguments   []string
	Environment []string // NAME=value
	Input       io.Reader
	Output      io.Writer
	Errors      io.Writer
	Version     string
	// OwnProcess says that nothing else runs in the process, so that what holds for all of it may be set.
	OwnProcess bool
}

// command is one subcommand. Its flags are parsed by itself; its usage is the line that `server help` shows.
type command struct {
	name, usage string
	run         func(ctx context.Context, call Invocation, arguments []string) error
}

// errUsage marks a fault in the call itself: the program ends with 2, as its callers expect of a wrong flag.
var errUsage = errors.New("wrong usage")

func commands() []command {
	return []command{
		{"serve", "serve [--role all|web|worker]", serve},
		{"migrate", "migrate", migrate},
		{"version", "version", printVersion},
		{"user create", "user create --email E --username U [--role admin|editor|viewer] [--org SLUG]   (password from standard input)", createUser},
		{"user reset", "user reset --email E [--password-stdin]   (prints a link; with --password-stdin sets the password on standard input)", resetUser},
		{"invite create", "invite create --email E [--role admin|editor|viewer] [--org SLUG] [--expires-in-days D]   (prints a link)", createInvite},
		{"user list", "user list [--org SLUG]", listUsers},
		{"user disable", "user disable --email E", onUser("user disable", disableUser)},
		{"user enable", "user enable --email E", onUser("user enable", enableUser)},
		{"user role", "user role --email E [--role admin|editor|viewer] [--instance-admin true|false]", setRole},
		{"user sign-out", "user sign-out --email E   (ends its sessions)", onUser("user sign-out", signOutUser)},
		{"user delete", "user delete --email E   (a server removes all that it has)", onUser("user delete", deleteUser)},
		{"org create", "org create --slug S --name N [--time-zone Z]   (prints the id)", createOrganization},
		{"org list", "org list", listOrganizations},
		{"token list", "token list --user EMAIL", listTokens},
		{"token revoke", "token revoke --user EMAIL --token ID", revokeToken},
		{"audit", "audit [--org SLUG] [--user EMAIL] [--action A] [--from DATE] [--limit N]", printAudit},
		{"token create", "token create --user EMAIL --name N [--scopes read,upload] [--expires-in-days D] [--admin]", createToken},
		{"limits set", "limits set --org SLUG|--user EMAIL|--token ID LIMIT=FIGURE…   (FIGURE as in the variables, or default)", setLimits},
		{"limits", "limits [--org SLUG|--user EMAIL|--token ID]", printLimits},
		{"budget set", "budget set --org SLUG|--user EMAIL [--usd N|none] [--tokens N|none] [--transcription-seconds N|none]", setBudget},
		{"routes", "routes [--json]", printRoutes},
		{"demo", "demo [--exit]", demo},
	}
}

// Main runs one subcommand and returns the program's exit code: 0, 1 when it failed, 2 when it was called wrongly.
func Main(ctx context.Context, call Invocation) int {
	for _, c := range commands() {
		words := strings.Fields(c.name)
		if len(call.Arguments) < len(words) || strings.Join(call.Arguments[:len(words)], " ") != c.name {
			continue
		}
		err := c.run(ctx, call, call.Arguments[len(words):])
		switch {
		case err == nil:
			return 0
		case errors.Is(err, flag.ErrHelp):
			return 0
		case errors.Is(err, errUsage):
			fmt.Fprintf(call.Errors, "%v\nusage: server %s\n", err, c.usage)
			return 2
		default:
			fmt.Fprintf(call.Errors, "server %s: %v\n", c.name, err)
			return 1
		}
	}
	if len(call.Arguments) == 1 && slices.Contains([]string{"help", "--help", "-h"}, call.Arguments[0]) {
		help(call.Output)
		return 0
	}
	help(call.Errors)
	return 2
}

func help(w io.Writer) {
	fmt.Fprintln(w, "Stenometer. Configuration is environment variables (docs/user-guide/configuration.md). Commands:")
	for _, c := range commands() {
		fmt.Fprintf(w, "  server %s\n", c.usage)
	}
}

// parse reads a subcommand's flags and refuses what is left over.
func parse(call Invocation, flags *flag.FlagSet, arguments []string) error {
	rest, err := parseWithRest(call, flags, arguments)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%w: unexpected argument %q", errUsage, rest[0])
	}
	return err
}

// parseWithRest reads a subcommand's flags and returns the arguments behind them.
func parseWithRest(call Invocation, flags *flag.FlagSet, arguments []string) ([]string, error) {
	flags.SetOutput(call.Errors)
	if err := flags.Parse(arguments); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	return flags.Args(), nil
}

// noDotenv is the file of settings of a command that reads none.
const noDotenv = ""

// load reads the configuration of an invocation and of the `.env` file beside it, and says its warnings.
func load(call Invocation) (*config.Config, error) { return loadFrom(call, ".env") }

func loadFrom(call Invocation, dotenv string) (*config.Config, error) {
	cfg, warnings, err := config.Load(call.Environment, dotenv)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	for _, warning := range warnings {
		fmt.Fprintf(call.Errors, "warning: %s\n", warning)
	}
	return cfg, nil
}

func printVersion(_ context.Context, call Invocation, arguments []string) error {
	if err := parse(call, flag.NewFlagSet("version", flag.ContinueOnError), arguments); err != nil {
		return err
	}
	_, err := fmt.Fprintf(call.Output, "stenometer %s\n", call.Version)
	return err
}
