package config

import (
	"net/url"
	"path/filepath"
	"strings"
)

const (
	sqliteReaders       = 4
	postgresConnections = 20
)

// derive computes the defaults that depend on other settings.
func (l *loader) derive(c *Config) {
	if !c.DatabaseURL.IsSet() {
		c.DatabaseURL = NewLocation("sqlite://" + filepath.Join(c.DataDir, "stenometer.db"))
	}
	if !c.FileStorageURL.IsSet() {
		files := url.URL{Scheme: "file", Path: filepath.Join(c.DataDir, "files")}
		c.FileStorageURL = NewLocation(files.String())
	}
	if !l.isSet("DATABASE_MAX_CONNECTIONS") {
		c.DatabaseMaxConnections = postgresConnections
		if c.DatabaseURL.Scheme() == "sqlite" {
			c.DatabaseMaxConnections = sqliteReaders
		}
	}
	if !l.isSet("WEBHOOK_MAX_ATTEMPTS") {
		c.WebhookAttempts = len(c.WebhookRetries)
	}
	l.deriveUserRate(&c.UserRateRead, "API_USER_RATE_LIMIT_READ", c.TokenRateRead, "API_TOKEN_RATE_LIMIT_READ")
	l.deriveUserRate(&c.UserRateWrite, "API_USER_RATE_LIMIT_WRITE", c.TokenRateWrite, "API_TOKEN_RATE_LIMIT_WRITE")
	l.deriveUserRate(&c.UserRateProcess, "API_USER_RATE_LIMIT_PROCESS", c.TokenRateProcess, "API_TOKEN_RATE_LIMIT_PROCESS")
	if !l.isSet("TRANSCRIPTION_CONNECTOR") {
		c.TranscriptionConnector = connectorOf(c)
	}
}

// deriveUserRate makes an account's limit twice the token limit in force. Switching the token limit off must not
// switch the account's off with it: twice the token limit's default remains.
func (l *loader) deriveUserRate(user *Rates, variable string, token Rates, tokenVariable string) {
	if l.isSet(variable) {
		return
	}
	if token.Off() {
		token, _ = ParseRates(l.setting(tokenVariable).parsedDefault)
	}
	*user = token.doubled()
}

// connectorOf chooses the speech engine by what is set, in Speakr's order; without anything, the embedded one.
func connectorOf(c *Config) string {
	switch {
	case c.ASRBaseURL.IsSet():
		return "asr_endpoint"
	case strings.Contains(c.TranscriptionModel, "gpt-4o"):
		return "openai_transcribe"
	case c.TranscriptionBaseURL.IsSet() || c.TranscriptionAPIKey.IsSet() || c.TranscriptionModel != "":
		return "openai_whisper"
	}
	return "embedded"
}

func (l *loader) setting(name string) Setting {
	for _, setting := range l.table {
		if setting.Name == name {
			return setting
		}
	}
	return Setting{}
}
