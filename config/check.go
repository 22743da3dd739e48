package config

import (
	"fmt"
	"net/url"
	"strings"
)

// check applies the rules between settings. A rule is left out where one of its settings has a fault of its own.
func (l *loader) check(c *Config) {
	l.checkAddresses(c)
	l.checkSpeech(c)
	l.checkSignIn(c)
	if l.good("DATABASE_URL", "SECRET_KEY") && c.DatabaseURL.Scheme() != "sqlite" && !c.SecretKey.IsSet() {
		l.fault("SECRET_KEY", "", "is required with PostgreSQL, where several processes must share it: "+textRules["secret-key"].allowed)
	}
	if l.good("JOB_DEAD_AFTER_SECONDS", "JOB_HEARTBEAT_SECONDS") && c.JobDeadAfter < 3*c.JobHeartbeat {
		l.fault("JOB_DEAD_AFTER_SECONDS", shown(number(c.JobDeadAfter.Seconds())),
			fmt.Sprintf("must be at least three times JOB_HEARTBEAT_SECONDS (%s), or one late heartbeat would give a living process's jobs away", number(c.JobHeartbeat.Seconds())))
	}
	if l.good("SESSION_IDLE_HOURS", "SESSION_LIFETIME_HOURS") && c.SessionIdle > c.SessionLifetime {
		l.fault("SESSION_IDLE_HOURS", shown(number(c.SessionIdle.Hours())),
			fmt.Sprintf("must be at most SESSION_LIFETIME_HOURS (%s)", number(c.SessionLifetime.Hours())))
	}
}

func (l *loader) checkAddresses(c *Config) {
	if l.good("LISTEN_ADDR", "METRICS_ADDR") && overlap(c.ListenAddr, c.MetricsAddr) {
		l.fault("METRICS_ADDR", shown(c.MetricsAddr), fmt.Sprintf("must differ from LISTEN_ADDR (%s)", c.ListenAddr))
	}
	if c.TrustedProxyCount == 0 && l.good("TRUSTED_PROXY_COUNT") && l.isSet("TRUSTED_PROXY_NETWORKS") {
		l.warn("TRUSTED_PROXY_NETWORKS", "has no effect while TRUSTED_PROXY_COUNT is 0")
	}
	for _, network := range c.TrustedProxyNetworks {
		if network.Bits() == 0 && c.TrustedProxyCount > 0 {
			l.warn("TRUSTED_PROXY_NETWORKS", network.String()+" lets everybody who reaches the server choose the address by which they are counted")
		}
	}
}

// overlap reports whether two listening addresses would meet. Port 0 is a free port, which never does.
func overlap(a, b string) bool {
	hostA, portA, errA := splitAddress(a)
	hostB, portB, errB := splitAddress(b)
	return errA == nil && errB == nil && portA == portB && portA != 0 && (hostA == hostB || hostA == "" || hostB == "")
}

// checkSpeech makes sure that the engine chosen has what it needs, and names what it will not use.
func (l *loader) checkSpeech(c *Config) {
	if !l.good("TRANSCRIPTION_CONNECTOR", "TRANSCRIPTION_BASE_URL", "TRANSCRIPTION_API_KEY", "TRANSCRIPTION_MODEL", "ASR_BASE_URL") {
		return
	}
	host := hostOf(c.TranscriptionBaseURL)
	var unused []string
	switch c.TranscriptionConnector {
	case "openai_whisper", "openai_transcribe":
		if !c.TranscriptionAPIKey.IsSet() && (host == "" || host == "api.openai.com") {
			l.fault("TRANSCRIPTION_API_KEY", "", fmt.Sprintf("is required by %s at OpenAI; set it, or TRANSCRIPTION_BASE_URL for another server", c.TranscriptionConnector))
		}
		if strings.HasSuffix(host, ".openai.azure.com") || strings.HasSuffix(host, ".cognitiveservices.azure.com") {
			l.fault("TRANSCRIPTION_BASE_URL", c.TranscriptionBaseURL.String(), "must be an OpenAI-compatible server; Azure's interface is another one")
		}
		unused = []string{"ASR_BASE_URL"}
	case "asr_endpoint":
		if !c.ASRBaseURL.IsSet() {
			l.fault("ASR_BASE_URL", "", "is required by asr_endpoint: "+textRules["http"].allowed)
		}
		unused = []string{"TRANSCRIPTION_BASE_URL", "TRANSCRIPTION_API_KEY"}
	case "embedded":
		unused = []string{"TRANSCRIPTION_BASE_URL", "TRANSCRIPTION_API_KEY", "TRANSCRIPTION_MODEL", "ASR_BASE_URL"}
	}
	for _, variable := range unused {
		if l.isSet(variable) {
			l.warn(variable, "is not used by the speech engine "+c.TranscriptionConnector)
		}
	}
}

func hostOf(address Location) string {
	u, err := url.Parse(address.Reveal())
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}
