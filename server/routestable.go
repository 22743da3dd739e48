package server

import (
	"context"
	"flag"
	"log/slog"
	"time"

	accounthandlers "github.com/stenometer/stenometer/accounts/handlers"
	"github.com/stenometer/stenometer/api/health"
	"github.com/stenometer/stenometer/api/openai"
	"github.com/stenometer/stenometer/api/openapi"
	v1 "github.com/stenometer/stenometer/api/v1"
	"github.com/stenometer/stenometer/api/v1/admin"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/metrics"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/streams"
	tokenhandlers "github.com/stenometer/stenometer/tokens/handlers"
	"github.com/stenometer/stenometer/web"
	webhookhandlers "github.com/stenometer/stenometer/webhooks/handlers"
	"github.com/stenometer/stenometer/webhooks/inbound"
)

// RouteTable is the table of a configuration without a database behind it: every row, its guards and its figures
// are those of the running server, and no handler can be called. `server routes` and the golden file show it.
func RouteTable(cfg *config.Config) *routes.Table {
	return table(cfg, Callers{Figures: figures(cfg)}, false)
}

// Callers is who a dry table lets in, and at which figures.
type Callers struct {
	Tokens   auth.TokenFinder
	Sessions auth.SessionFinder
	Figures  limits.Figures
	// Counters keeps what is counted; nil is a memory of the table's own.
	Counters limits.Store
	// Signing judges signed deliveries.
	Signing routes.Signing
}

// DryTable is the table with every guard real and every handler replaced by one that only says that it was reached.
// The tests walk it.
func DryTable(cfg *config.Config, callers Callers) *routes.Table { return table(cfg, callers, true) }

func table(cfg *config.Config, callers Callers, dry bool) *routes.Table {
	counted := metrics.New("")
	logger := slog.New(slog.DiscardHandler)
	counters := callers.Counters
	if counters == nil {
		counters = limits.NewMemory(time.Now)
	}
	guard := auth.NewGuard(auth.Options{
		Tokens: callers.Tokens, Sessions: callers.Sessions, InForce: limits.NewInForce(callers.Figures, nil),
		Limits: limits.Always(counters), Metrics: counted, Logger: logger, Now: time.Now,
		Addresses:       auth.NewAddresses(auth.AddressOptions{Now: time.Now, Logger: logger}),
		AllowQueryToken: cfg.AllowQueryToken, TokensManageByToken: cfg.TokensManageByToken,
	})
	options := tableOptions(cfg, guard, counted, logger, time.Now)
	options.Dry, options.Signing = dry, callers.Signing
	options.Streams, _ = streams.New(streamOptions(cfg, nil, counted, logger)) // the configuration was checked: it makes some
	declared := routes.New(options)
	Declare(declared, Parts{
		Health:   &health.API{},
		Accounts: accounthandlers.New(accounthandlers.Options{}),
		Tokens:   tokenhandlers.New(nil),
		V1:       v1.New(v1.Options{}),
		Admin:    admin.New(admin.Options{}),
		OpenAI:   openai.New(openai.Options{}),
		Webhooks: webhookhandlers.New(nil, nil),
		Inbound:  inbound.New(nil, nil, nil, ""),
		OpenAPI:  openapi.New(),
		Web:      web.New(web.Options{}),
	})
	return declared
}

func printRoutes(_ context.Context, call Invocation, arguments []string) error {
	flags := flag.NewFlagSet("routes", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "for programs")
	if err := parse(call, flags, arguments); err != nil {
		return err
	}
	cfg, err := load(call)
	if err != nil {
		return err
	}
	if *asJSON {
		return RouteTable(cfg).WriteJSON(call.Output)
	}
	return RouteTable(cfg).WriteText(call.Output)
}
