package server

import (
	"fmt"
	"strings"

	"github.com/stenometer/stenometer/accounts"
	accounthandlers "github.com/stenometer/stenometer/accounts/handlers"
	"github.com/stenometer/stenometer/accounts/oidc"
	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/mail"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/tokens"
)

// joinAccounts makes the accounts, with the mail by which links reach people, their tokens, and the log of what they do.
func (s *Server) joinAccounts() error {
	s.tokens = tokens.New(s.db, s.tokenOptions())
	s.audit = audit.New(s.db, audit.Options{
		Keep: s.config.AuditLife, Failed: s.metrics.AuditFailed, Now: s.now, Logger: s.program.Logger,
	})
	options := accountOptions(s.config, s.now, s.program.Logger)
	options.Erase, options.Queue = recordings.ErasingBy(s.jobs), s.jobs
	if s.config.SMTPURL.IsSet() {
		mailer, err := mail.New(mail.Options{
			URL: s.config.SMTPURL.Reveal(), From: s.config.MailFrom, Timeout: s.config.MailTimeout, Now: s.now,
		})
		if err != nil {
			return fmt.Errorf("joining the mail: %w", err)
		}
		options.Mail = mailer
	}
	s.accounts = accounts.New(s.db, options)
	accounts.RegisterWorkers(s.jobs, s.accounts)
	return nil
}

func (s *Server) signInOptions(addresses *auth.Addresses) accounthandlers.Options {
	return accounthandlers.Options{
		Accounts: s.accounts, Limits: s.counts.For(limits.OnWrite), LoginFailures: perMinute(loginFailuresPerMinute),
		Addresses: addresses, Audit: s.audit, OIDC: s.oidcOptions(), SecureCookies: isHTTPS(s.config.PublicURL),
	}
}

// oidcOptions name the issuer without asking it anything: one that is down keeps nobody from starting.
func (s *Server) oidcOptions() accounthandlers.OIDC {
	options := accounthandlers.OIDC{
		Name: s.config.OIDCIssuer, Roles: s.config.OIDCRoleMap, AutoRegister: s.config.OIDCAutoRegister, StateLife: s.config.OIDCStateLife,
	}
	if s.config.OIDCIssuer != "" {
		options.Issuer = oidc.New(oidc.Options{
			Issuer: s.config.OIDCIssuer, ClientID: s.config.OIDCClientID, ClientSecret: s.config.OIDCClientSecret.Reveal(),
			Scopes: strings.Fields(s.config.OIDCScopes), RedirectURL: s.config.PublicURL + accounthandlers.CallbackPath,
			RoleClaim: s.config.OIDCRoleClaim, Client: outbound.Operator(issuerTimeout), Now: s.now,
		})
	}
	return options
}
