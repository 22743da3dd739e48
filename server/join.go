package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"time"

	"github.com/stenometer/stenometer/accounts"
	accounthandlers "github.com/stenometer/stenometer/accounts/handlers"
	"github.com/stenometer/stenometer/api/health"
	"github.com/stenometer/stenometer/api/openai"
	"github.com/stenometer/stenometer/api/openapi"
	v1 "github.com/stenometer/stenometer/api/v1"
	"github.com/stenometer/stenometer/api/v1/admin"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/completions"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/idempotency"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/orgs"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/settings"
	"github.com/stenometer/stenometer/speech"
	"github.com/stenometer/stenometer/streams"
	"github.com/stenometer/stenometer/tokens"
	tokenhandlers "github.com/stenometer/stenometer/tokens/handlers"
	"github.com/stenometer/stenometer/web"
	"github.com/stenometer/stenometer/webhooks"
	webhookhandlers "github.com/stenometer/stenometer/webhooks/handlers"
	"github.com/stenometer/stenometer/webhooks/inbound"
)

const (
	// maxJobs is how many recordings one process works on at once, over all organizations. Each may hold a media child
	// process or wait for a speech or text engine.
	maxJobs = 8
	// slotLife is how long a job slot outlives a dead process. Whoever takes its jobs over waits for their slots too,
	// so it stays well below the half minute within which a killed process's work is resumed.
	slotLife = 15 * time.Second

	// keyMargin is how long a request with an idempotency key is believed to be worked on beyond the time of its handler.
	keyMargin = 10 * time.Second
	// issuerTimeout bounds one call to the issuer of OpenID Connect: a person waits for it.
	issuerTimeout = 10 * time.Second
	// watchEvery is how often a worker asks whether its work is still wanted: a deletion stops it within that, and so does
	// the disabling of its account, which everything hears of within a second.
	watchEvery = 300 * time.Millisecond
	// workTimeout bounds one attempt at a transcription or a summary, however long the audio and slow the engine.
	workTimeout = 12 * time.Hour
)

// join makes the parts that need the opened storages and wires them together.
func (s *Server) join() error {
	logger := s.program.Logger
	toolbox, err := media.New(media.Options{Room: s.room, Logger: logger})
	if err != nil {
		return fmt.Errorf("preparing the media programs: %w", err)
	}
	engine, err := speech.New(s.speechOptions(toolbox))
	if err != nil {
		return fmt.Errorf("choosing the speech engine: %w", err)
	}
	writer, err := llm.New(s.textOptions())
	if err != nil {
		return fmt.Errorf("choosing the text engine: %w", err)
	}
	if err := s.joinJobs(); err != nil {
		return err
	}
	s.streams, err = streams.New(streamOptions(s.config, limits.Slots{Leases: s.counts}, s.metrics, logger))
	if err != nil {
		return fmt.Errorf("joining the streams: %w", err)
	}
	if err := s.joinBudgets(engine.Describe(), writer.Describe()); err != nil {
		return err
	}
	s.figures = orgs.NewFigures(s.db, orgs.FiguresOptions{PollEvery: s.config.CredentialPoll, Logger: logger})
	s.inForce = limits.NewInForce(figures(s.config), s.figures)
	s.settings = settings.New(s.db, settings.Options{
		MaxUploadMB: s.config.MaxUploadMB, MaxTranscriptChars: s.config.TextPartChars * s.config.TextMaxParts,
		PollEvery: s.config.CredentialPoll, Now: s.now, Logger: logger,
	})
	if err := s.joinAccounts(); err != nil {
		return err
	}
	s.keys = idempotency.New(s.db, idempotency.Options{
		Life: s.config.KeyLife, Hold: s.config.HandlerTimeout + keyMargin, SweepEvery: time.Hour, Now: s.now, Logger: logger,
	})
	if err := s.joinInbound(); err != nil {
		return err
	}
	s.joinWebhooks()
	text := s.adapter(writer)
	s.recordings = recordings.New(s.db, s.recordingOptions(toolbox, s.transcriber(engine, toolbox), text))
	s.watch = &watch{
		db: s.db, files: filesAnswer(s.config, s.files), counts: s.counts, jobs: s.jobs, metrics: s.metrics, logger: logger, now: s.now,
		alive: &s.alive, probeEvery: s.config.StorageProbe, sweepEvery: s.config.LimitsSweep,
		lookEvery: s.config.LimitsLook, collects: s.program.Collects,
	}
	recordings.RegisterWorkers(s.jobs, s.recordings)
	s.joinRoutes(engine.Describe(), writer.Describe(), text)
	return nil
}

// joinRoutes makes the table of routes over the parts that join has made.
func (s *Server) joinRoutes(heard speech.Description, written llm.Description, text *llm.Adapter) {
	logger := s.program.Logger
	addresses := auth.NewAddresses(auth.AddressOptions{
		TrustedProxies: s.config.TrustedProxyCount, TrustedNetworks: s.config.TrustedProxyNetworks,
		Now: s.now, Logger: logger, Ignored: s.metrics.ForwardedIgnored,
	})
	guard := auth.NewGuard(s.guardOptions(addresses))
	options := tableOptions(s.config, guard, s.metrics, logger, s.now)
	options.Keys, options.Purses, options.Streams, options.Auditor, options.Signing = s.keys, s.budgets.Purses(), s.streams, s.audit, s.signing()
	s.table = routes.New(options)
	Declare(s.table, Parts{
		Health:   &health.API{Ready: s.watch.report},
		Accounts: accounthandlers.New(s.signInOptions(addresses)),
		Tokens:   tokenhandlers.New(s.tokens),
		V1: v1.New(v1.Options{
			Recordings: s.recordings, Accounts: s.accounts, Organizations: orgs.NewOrganizations(s.db, s.now), Budgets: s.budgets, Limits: guard, Addresses: addresses, PublicURL: s.config.PublicURL,
			Engine: heard, Text: written, Version: s.program.Version, Now: s.now,
		}),
		Admin: admin.New(s.adminOptions()),
		OpenAI: openai.New(openai.Options{
			Recordings: s.recordings, Now: s.now, Completions: completions.New(completions.Options{
				Text: text, Further: s.config.TextModelsAllowed, InputChars: s.config.MaxInputChars, Tokens: s.config.ChatMaxTokens,
			}),
		}),
		Webhooks: webhookhandlers.New(s.webhooks, s.audit),
		Inbound:  inbound.New(s.integrations, s.recordings, s.audit, s.config.PublicURL),
		OpenAPI:  openapi.New(),
		Web:      web.New(web.Options{Recordings: s.recordings, Issuer: s.config.OIDCIssuer, Mail: s.config.SMTPURL.IsSet()}),
	})
}

func (s *Server) joinJobs() (err error) {
	s.jobs, err = jobs.New(s.db, jobs.Options{
		Role:          string(s.program.Role),
		LimitsStorage: s.config.RateLimitStorageURI.Scheme(),
		Version:       s.program.Version,
		MaxWorkers:    maxJobs,
		Heartbeat:     s.config.JobHeartbeat,
		DeadAfter:     s.config.JobDeadAfter,
		MaxAttempts:   s.config.JobMaxAttempts,
		RetryBase:     s.config.JobRetryBase,
		Finished:      s.metrics.JobFinished,
		Logger:        s.program.Logger,
	})
	if err != nil {
		return fmt.Errorf("joining the job queue: %w", err)
	}
	return nil
}

func (s *Server) joinBudgets(heard speech.Description, written llm.Description) error {
	prices, err := budgets.LoadPrices(s.config.PricesFile)
	if err != nil {
		return fmt.Errorf("joining the budgets: %w", err)
	}
	s.budgets = budgets.New(s.db, budgets.Options{
		Default: s.config.MonthlyBudget.Micros(), Prices: prices,
		Engines: map[budgets.Price]budgets.Engine{
			budgets.Transcription: {Provider: heard.Provider, Model: heard.Model},
			budgets.Text:          written.Engine,
		},
		Lease: s.config.HoldLease, SweepEvery: s.config.HoldLease / 3, Announcer: webhooks.Thresholds{}, Now: s.now, Logger: s.program.Logger,
	})
	return nil
}

func (s *Server) speechOptions(toolbox *media.Media) speech.Options {
	return speech.Options{
		Connector:  s.config.TranscriptionConnector,
		BaseURL:    s.config.TranscriptionBaseURL.Reveal(),
		APIKey:     s.config.TranscriptionAPIKey.Reveal(),
		Model:      s.config.TranscriptionModel,
		MaxBytes:   s.config.ChunkLimit.Bytes,
		MaxLength:  s.config.ChunkLimit.Length,
		ASRBaseURL: s.config.ASRBaseURL.Reveal(),
		ASRDiarize: s.config.ASRDiarize,
		Client:     outbound.Operator(s.config.TranscriptionTimeout),
		Timeout:    s.config.TranscriptionTimeout,
		Media:      toolbox,
		Now:        s.now,
	}
}

func (s *Server) transcriber(engine speech.Engine, toolbox *media.Media) *speech.Transcriber {
	return speech.NewTranscriber(engine, toolbox, speech.TranscriberOptions{
		TempDir: s.temporary(), Backoff: s.config.JobRetryBase,
		Breaker: outbound.NewBreaker(s.config.ProviderPause, s.now), Logger: s.program.Logger,
	})
}

func (s *Server) textOptions() llm.Options {
	return llm.Options{
		BaseURL: s.config.TextModelBaseURL.Reveal(),
		APIKey:  s.config.TextModelAPIKey.Reveal(),
		Model:   s.config.TextModelName,
		Client:  outbound.Operator(s.config.TextModelTimeout),
		Timeout: s.config.TextModelTimeout,
		Now:     s.now,
	}
}

func (s *Server) adapter(writer llm.Engine) *llm.Adapter {
	return llm.NewAdapter(writer, llm.AdapterOptions{
		Attempts: s.config.TextModelAttempts, Breaker: outbound.NewBreaker(s.config.ProviderPause, s.now), Logger: s.program.Logger,
	})
}

func (s *Server) recordingOptions(toolbox *media.Media, transcriber *speech.Transcriber, text *llm.Adapter) recordings.Options {
	return recordings.Options{
		Files: s.files, LocalPath: s.localPath(), TempDir: s.temporary(), Free: freeSpace(s.config.DataDir),
		Keys: s.keys, Queue: s.jobs, AutoSummaries: s.config.AutoSummaries, Purses: s.budgets.Purses(), Media: toolbox, Transcriber: transcriber, Text: text,
		TextBounds:      s.textBounds(),
		Inquiry:         inquiryOptions(s.config, text, s.now),
		Slots:           jobs.NewSlots(s.counts, s.config.JobsMaxConcurrentPerOrg, slotLife),
		Allowance:       jobs.NewAllowance(s.counts.For(limits.OnProcess), s.inForce),
		SignAudio:       signedAudio(s.config, s.files),
		Standing:        s.settings.Values,
		PublicSharing:   s.config.PublicSharing && s.config.PublicURL != "",
		InternalSharing: s.config.InternalSharing, ShowUsernames: s.config.ShowUsernames,
		MaxUploadBytes: int64(s.config.MaxUploadMB) << 20,
		ReserveBytes:   int64(s.config.DiskReserveMB) << 20,
		Spool:          s.spool, Imports: s.imports,
		Transcribed: s.metrics.Transcribed,
		HearingMax:  s.config.SyncAudioMax, HearingTimeout: s.config.TranscriptionTimeout,
		SlotLife: slotLife, WatchEvery: watchEvery, WorkTimeout: workTimeout,
		SweepInterval: s.config.SweepInterval, SweepAge: s.config.SweepAge, SweepRemove: s.config.SweepRemove,
		ChangesSettle: s.config.ChangesSettle, TombstoneLife: s.config.TombstoneLife,
		Now: s.now, Logger: s.program.Logger,
	}
}

func (s *Server) textBounds() recordings.TextBounds {
	return recordings.TextBounds{
		InputChars: s.config.MaxInputChars, PartChars: s.config.TextPartChars, MaxParts: s.config.TextMaxParts,
		SummaryTokens: s.config.SummaryMaxTokens, ChatTokens: s.config.ChatMaxTokens,
		TitleTokens: s.config.TitleMaxTokens, EventTokens: s.config.EventMaxTokens,
	}
}

// localPath tells where a stored file lies when the storage is a folder of this machine, so that a job can read it
// in place; nil when it is not.
func (s *Server) localPath() func(key string) string {
	folder, local := filesFolder(s.config)
	if !local {
		return nil
	}
	return func(key string) string { return filepath.Join(folder, filepath.FromSlash(key)) }
}

func (s *Server) guardOptions(addresses *auth.Addresses) auth.Options {
	return auth.Options{
		Tokens: s.tokens, Sessions: s.accounts, Limits: s.counts.For, InForce: s.inForce, Addresses: addresses,
		AllowQueryToken: s.config.AllowQueryToken, TokensManageByToken: s.config.TokensManageByToken,
		Metrics: s.metrics, Logger: s.program.Logger, Now: s.now,
	}
}

func (s *Server) adminOptions() admin.Options {
	return admin.Options{
		Accounts: s.accounts, Tokens: s.tokens, Organizations: orgs.NewOrganizations(s.db, s.now), Figures: s.figures, InForce: s.inForce,
		Budgets: s.budgets, Audit: s.audit, Jobs: s.jobs, Recordings: s.recordings, Settings: s.settings,
	}
}

func isHTTPS(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && parsed.Scheme == "https"
}

func (s *Server) tokenOptions() tokens.Options {
	options := tokenOptions(s.config, s.now)
	options.Limits, options.Figures, options.Logger = s.counts.For(limits.OnWrite), s.inForce, s.program.Logger
	return options
}

// tokenOptions are those of a command, which no limit counts.
func tokenOptions(cfg *config.Config, now func() time.Time) tokens.Options {
	return tokens.Options{MaxPerUser: cfg.MaxTokensPerUser, PollEvery: cfg.CredentialPoll, Now: now}
}

func accountOptions(cfg *config.Config, now func() time.Time, logger *slog.Logger) accounts.Options {
	return accounts.Options{
		Registration:    accounts.Registration(cfg.Registration),
		SessionLifetime: cfg.SessionLifetime, SessionIdle: cfg.SessionIdle, ResetLife: cfg.PasswordResetLife, InviteMailEvery: cfg.InviteMailEvery,
		SecretKey: cfg.SecretKey.Reveal(), PublicURL: cfg.PublicURL, Now: now, Logger: logger,
	}
}

// parts are what runs beside the requests, in the order of their start: who can tell credentials first, work last.
func (s *Server) parts() []part {
	always := func(start func(context.Context)) func(context.Context) error {
		return func(ctx context.Context) error { start(ctx); return nil }
	}
	return []part{
		{"the figures' watch", s.figures.Start, func(context.Context) error { s.figures.Stop(); return nil }},
		{"the settings' watch", s.settings.Start, func(context.Context) error { s.settings.Stop(); return nil }},
		{"the credentials' watch", always(s.tokens.Start), s.tokens.Stop},
		{"the sessions' sweep", always(s.accounts.Start), func(context.Context) error { s.accounts.Stop(); return nil }},
		{"the idempotency keys' sweep", always(s.keys.Start), func(context.Context) error { s.keys.Stop(); return nil }},
		{"the audit log's sweep", always(s.audit.Start), func(context.Context) error { s.audit.Stop(); return nil }},
		{"the budgets' sweep", always(s.budgets.Start), func(context.Context) error { s.budgets.Stop(); return nil }},
		{"the metrics", s.startMetrics, s.stopMetrics},
		{"the job queue", s.jobs.Start, s.jobs.Stop},
		{"the webhooks", s.startWebhooks, func(context.Context) error { s.webhooks.Stop(); return nil }},
		{"the recordings' sweep", always(s.recordings.Start), s.recordings.Stop},
		{"the watch", s.watch.start, s.watch.stop},
	}
}

func streamOptions(cfg *config.Config, slots streams.Slots, counted streams.Metrics, logger *slog.Logger) streams.Options {
	return streams.Options{
		Slots: slots, Places: cfg.StreamsPerOrg, Lease: cfg.StreamLease, Heartbeat: cfg.StreamHeartbeat,
		Clocks: streams.Clocks{
			FirstByte: cfg.StreamFirstByte, Idle: cfg.StreamIdle, Total: cfg.StreamTotal, ClientStall: cfg.StreamClientStall,
		},
		Metrics: counted, Logger: logger,
	}
}

func tableOptions(cfg *config.Config, guard *auth.Guard, counted routes.Metrics, logger *slog.Logger, now func() time.Time) routes.Options {
	return routes.Options{
		Guard:  guard,
		Bounds: routes.Bounds{Upload: int64(cfg.MaxUploadMB) << 20},
		Timeouts: routes.Timeouts{
			Handler: cfg.HandlerTimeout, Model: cfg.TextModelTimeout + cfg.HandlerTimeout, Agent: cfg.AgentTimeout + cfg.TextModelTimeout + cfg.HandlerTimeout,
			BodyStall: cfg.UploadStallTimeout, BodyLeast: int64(cfg.UploadLeastRate), WriteStall: cfg.UploadStallTimeout,
		},
		Origins: cfg.AllowedOrigins,
		Metrics: counted, Logger: logger, Now: now,
	}
}
