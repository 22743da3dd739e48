package server

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/orgs"
	"github.com/stenometer/stenometer/tokens"
)

// limitsOf is whose limits a command is about. All are 0 where it is about those of everybody.
type limitsOf struct {
	organization, user, token int64
	// lowered is what the token's owner wants less for it.
	lowered tokens.RateLimits
	// named is the one that the call names.
	named orgs.Subject
}

// subjectFlags are the flags that name an organization, an account or a token.
type subjectFlags struct {
	flags              *flag.FlagSet
	organization, user *string
	token              *int64
}

func subjectFlagsOf(flags *flag.FlagSet) subjectFlags {
	return subjectFlags{
		flags:        flags,
		organization: flags.String("org", "", "slug of an organization"),
		user:         flags.String("user", "", "e-mail address of an account"),
		token:        flags.Int64("token", 0, "id of a token, as GET /api/tokens lists it"),
	}
}

// given is how many of them were. One that is empty or 0 is an error: it comes of a script's variable that was not set,
// and must not stand for everybody.
func (f subjectFlags) given() (given int, err error) {
	f.flags.Visit(func(named *flag.Flag) {
		given++
		if text := named.Value.String(); text == "" || text == "0" {
			err = fmt.Errorf("%w: --%s names nobody", errUsage, named.Name)
		}
	})
	return given, err
}

// find looks up who the flags name.
func (f subjectFlags) find(ctx context.Context, cfg *config.Config, db *models.DB, figures *orgs.Figures) (of limitsOf, err error) {
	directory := accounts.New(db, accountOptions(cfg, time.Now, nil))
	var owner accounts.User
	switch {
	case *f.token != 0:
		token, ownerID, err := tokens.New(db, tokenOptions(cfg, time.Now)).Find(ctx, *f.token)
		if err != nil {
			return of, err
		}
		of.token, of.lowered, of.named = token.ID, token.RateLimits, orgs.Subject{Kind: limits.Token, ID: token.ID}
		if owner, err = directory.Find(ctx, ownerID); err != nil {
			return of, err
		}
	case *f.user != "":
		if owner, err = directory.ByEmail(ctx, *f.user); err != nil {
			return of, err
		}
		of.named = orgs.Subject{Kind: limits.Account, ID: owner.ID}
	case *f.organization != "":
		of.organization, err = figures.OrganizationBySlug(ctx, *f.organization)
		of.named = orgs.Subject{Kind: limits.Organization, ID: of.organization}
		return of, err
	}
	of.user, of.organization = owner.ID, owner.OrganizationID
	return of, nil
}

// printLimits shows every limit: the figures in force, how fine its window is, and where the figure comes from.
func printLimits(ctx context.Context, call Invocation, arguments []string) error {
	flags := flag.NewFlagSet("limits", flag.ContinueOnError)
	subject := subjectFlagsOf(flags)
	if err := parse(call, flags, arguments); err != nil {
		return err
	}
	given, err := subject.given()
	if err != nil {
		return err
	}
	if given > 1 {
		return fmt.Errorf("%w: --org, --user and --token name one of the three", errUsage)
	}
	cfg, err := load(call)
	if err != nil {
		return err
	}
	if given == 0 {
		return writeLimits(call.Output, cfg, limitsOf{}, nil)
	}
	return withFigures(ctx, cfg, func(db *models.DB, own *orgs.Figures) error {
		of, err := subject.find(ctx, cfg, db, own)
		if err != nil {
			return err
		}
		if err := own.Read(ctx); err != nil {
			return err
		}
		return writeLimits(call.Output, cfg, of, own)
	})
}

// setLimits gives one organization, account or token figures of its own. A running server follows within a second.
func setLimits(ctx context.Context, call Invocation, arguments []string) error {
	flags := flag.NewFlagSet("limits set", flag.ContinueOnError)
	subject := subjectFlagsOf(flags)
	pairs, err := parseWithRest(call, flags, arguments)
	if err != nil {
		return err
	}
	given, err := subject.given()
	if err != nil {
		return err
	}
	if given != 1 || len(pairs) == 0 {
		return fmt.Errorf("%w: one of --org, --user and --token is needed, and one LIMIT=FIGURE or more", errUsage)
	}
	figures, err := figuresOf(pairs)
	if err != nil {
		return err
	}
	cfg, err := load(call)
	if err != nil {
		return err
	}
	return withFigures(ctx, cfg, func(db *models.DB, own *orgs.Figures) error {
		of, err := subject.find(ctx, cfg, db, own)
		if err != nil {
			return err
		}
		action, object := of.audited()
		return audited(ctx, db, action, object, func() (string, error) {
			if err := own.Set(ctx, of.named, figures); err != nil {
				return "", err
			}
			return "", writeLimits(call.Output, cfg, of, own)
		})
	})
}

// audited is how the audit log calls the setting of limits, and of whom they are set.
func (of limitsOf) audited() (action, object string) {
	switch of.named.Kind {
	case limits.Organization:
		return "organization.limits.set", audit.Object("organization", of.organization)
	case limits.Token:
		return "user.token.limits.set", audit.Object("user", of.user) + " " + audit.Object("token", of.token)
	default:
		return "user.limits.set", audit.Object("user", of.user)
	}
}

// withFigures runs a command on the database and the figures in it. They are not read yet: one that cannot be read must
// not keep an administrator from setting it anew.
func withFigures(ctx context.Context, cfg *config.Config, run func(*models.DB, *orgs.Figures) error) error {
	db, err := openMigrated(ctx, cfg)
	if err != nil {
		return err
	}
	defer db.Close()
	return run(db, orgs.NewFigures(db, orgs.FiguresOptions{}))
}

// figuresOf reads arguments such as "account_read=500 per minute"; "default" is nil, the configured figure.
func figuresOf(pairs []string) (map[*limits.Plan]*config.Rates, error) {
	figures := make(map[*limits.Plan]*config.Rates, len(pairs))
	for _, pair := range pairs {
		name, text, _ := strings.Cut(pair, "=")
		plan := limits.PlanNamed(name)
		if plan == nil {
			return nil, fmt.Errorf("%w: there is no limit %q; `server limits` lists them", errUsage, name)
		}
		if _, twice := figures[plan]; twice {
			return nil, fmt.Errorf("%w: %s is set twice", errUsage, name)
		}
		if text == "default" {
			figures[plan] = nil
			continue
		}
		rates, err := config.ParseRates(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w; `default` returns to the configured figure", errUsage, name, err)
		}
		figures[plan] = &rates
	}
	return figures, nil
}

// writeLimits is the table of `server limits`. own may be nil where nobody is named.
func writeLimits(w io.Writer, cfg *config.Config, of limitsOf, own *orgs.Figures) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LIMIT\tCOUNTED BY\tFIGURE\tRESOLUTION\tFROM")
	for _, figure := range figureTable(cfg) {
		rates, from := of.inForce(cfg, figure, own)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n",
			figure.plan.Name, figure.plan.Subject, config.Rates(rates), resolutions(rates), from)
	}
	return table.Flush()
}

// inForce is the rates of one plan for those whom the command is about, and where they come from.
func (of limitsOf) inForce(cfg *config.Config, figure figure, own *orgs.Figures) (rates []limits.Rate, from string) {
	rates, from = figure.rates, figure.source(cfg)
	flagName, id := "", int64(0)
	switch figure.plan.Subject {
	case limits.Organization:
		flagName, id = "--org", of.organization
	case limits.Account:
		flagName, id = "--user", of.user
	case limits.Token:
		flagName, id = "--token", of.token
	case limits.Address:
	}
	if id == 0 {
		return rates, from
	}
	if set, found := own.Rates(figure.plan, id); found {
		rates, from = set, "limits set "+flagName
	}
	if by := of.lowered.Of(figure.plan); len(by) > 0 {
		rates, from = limits.Lowered(rates, by), from+" and rate_limits of the token"
	}
	return rates, from
}

// resolutions is how much later than need be each window may let a request in.
func resolutions(rates []limits.Rate) string {
	if len(rates) == 0 {
		return "-"
	}
	texts := make([]string, len(rates))
	for i, rate := range rates {
		texts[i] = limits.Resolution(rate.Period).String()
	}
	return strings.Join(texts, ";")
}
