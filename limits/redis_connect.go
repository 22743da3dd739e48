package limits

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/stenometer/stenometer/config"
)

const (
	// dialTries and the backoffs bound what one decision does about a server that is not there. As the library comes it
	// waits most of 2 seconds for one that is away, and 5 for one that hangs, whatever the context says.
	dialTries     = 1
	repeats       = 1
	shortestPause = 5 * time.Millisecond
	longestPause  = 10 * time.Millisecond
	// onePool lets batches use the connections that single decisions have made: the library would make others for them,
	// which takes a slow server twice the time.
	onePool = -1
	// clusterRedirects is how often a decision follows a slot that has moved.
	clusterRedirects = 2
	// clusterReload is how often the client looks where the slots are. A master that refuses connections makes it look
	// no earlier, so that this is how long a failover lasts for us beyond the cluster's own.
	clusterReload = time.Second
)

// serverOptions are those of one server. A command is sent again only after an error that came early: one that took the
// whole time may have been carried out, and would be charged twice.
func (r *Redis) serverOptions(s config.LimitsStorage, trusted *tls.Config) *redis.Options {
	o := &redis.Options{
		Username: s.Username, Password: s.Password.Reveal(), DB: s.Database, TLSConfig: trusted,
		ContextTimeoutEnabled: true,
		DialTimeout:           r.timeout / 2, DialerRetries: dialTries, DialerRetryTimeout: r.timeout / 10,
		ReadTimeout: r.timeout, WriteTimeout: r.timeout, PoolTimeout: r.timeout, PipelinePoolSize: onePool,
		MaxRetries: repeats, MinRetryBackoff: shortestPause, MaxRetryBackoff: longestPause,
		MaintNotificationsConfig: withoutNotices(), DisableIdentity: true,
	}
	if s.Socket != "" {
		o.Network, o.Addr = "unix", s.Socket
		return o
	}
	o.Addr = s.Addresses[0]
	return o
}

func (r *Redis) sentinelOptions(s config.LimitsStorage, trusted *tls.Config) *redis.FailoverOptions {
	return &redis.FailoverOptions{
		MasterName: s.Master, SentinelAddrs: s.Addresses,
		SentinelUsername: s.SentinelUsername, SentinelPassword: s.SentinelPassword.Reveal(),
		Username: s.Username, Password: s.Password.Reveal(), DB: s.Database, TLSConfig: trusted,
		ContextTimeoutEnabled: true,
		DialTimeout:           r.timeout / 2, DialerRetries: dialTries, DialerRetryTimeout: r.timeout / 10,
		ReadTimeout: r.timeout, WriteTimeout: r.timeout, PoolTimeout: r.timeout, PipelinePoolSize: onePool,
		MaxRetries: repeats, MinRetryBackoff: shortestPause, MaxRetryBackoff: longestPause,
		DisableIdentity: true,
	}
}

// clusterOptions are written out here, because the library's universal options cannot say how often to look where the
// slots are.
func (r *Redis) clusterOptions(s config.LimitsStorage, trusted *tls.Config) *redis.ClusterOptions {
	return &redis.ClusterOptions{
		Addrs: s.Addresses, Username: s.Username, Password: s.Password.Reveal(), TLSConfig: trusted,
		ContextTimeoutEnabled: true,
		DialTimeout:           r.timeout / 2, DialerRetries: dialTries, DialerRetryTimeout: r.timeout / 10,
		ReadTimeout: r.timeout, WriteTimeout: r.timeout, PoolTimeout: r.timeout, PipelinePoolSize: onePool,
		MaxRedirects: clusterRedirects, MaxRetries: -1, MinRetryBackoff: shortestPause, MaxRetryBackoff: longestPause,
		ClusterStateReloadInterval: clusterReload, DisableRoutingPolicies: true,
		MaintNotificationsConfig: withoutNotices(), DisableIdentity: true,
	}
}

// withoutNotices keeps the library from asking for a managed service's announcements, which other servers do not know.
func withoutNotices() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// tlsOf is how the server's certificate is checked; nil without TLS. The name that it must have is the one dialed.
func tlsOf(s config.LimitsStorage) (*tls.Config, error) {
	if !s.TLS {
		return nil, nil //nolint:nilnil // the doc comment says what nil is
	}
	trusted := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CAFile == "" {
		return trusted, nil
	}
	content, err := os.ReadFile(s.CAFile)
	if err != nil {
		return nil, fmt.Errorf("reading the certificates to trust: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("reading the certificates to trust: %s holds none", s.CAFile)
	}
	trusted.RootCAs = pool
	return trusted, nil
}

// firstContact waits for the first decision, and returns only an error that no waiting will mend.
func (r *Redis) firstContact(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisFirstContact)
	defer cancel()
	trial := []Limit{{Plan: OrganizationAI, Rate: Rate{Limit: 1, Period: time.Second}, Cost: 1}}
	for {
		// A look at a counter: an account that may only ping must not be found out by the first request.
		_, err := r.Peek(ctx, trial)
		if err == nil {
			return nil
		}
		if neverUs(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(redisFirstContact / 30):
		}
	}
}

// neverUs reports whether the server answered, and the answer will not change before somebody changes the URI or the
// server's configuration.
func neverUs(err error) bool {
	var unknown *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	if errors.As(err, &unknown) || errors.As(err, &noTLS) {
		return true
	}
	var answer redis.Error
	if !errors.As(err, &answer) {
		return false
	}
	said := answer.Error()
	code, _, _ := strings.Cut(said, " ")
	switch code {
	case "WRONGPASS", "NOAUTH", "NOPERM", "DENIED", "MOVED":
		return true
	}
	for _, words := range []string{
		"AUTH", "invalid password", "invalid username", "DB index is out of range", "SELECT is not allowed", "cluster support disabled",
	} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

// Ping asks whether Redis answers, each master of a cluster; its error is the reason, for an operator.
func (r *Redis) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	ping := func(ctx context.Context, server *redis.Client) error { return server.Ping(ctx).Err() }
	var err error
	if r.cluster != nil {
		err = r.cluster.ForEachMaster(ctx, ping)
	} else {
		err = r.client.Ping(ctx).Err()
	}
	if err != nil {
		return fmt.Errorf("asking Redis: %w", err)
	}
	return nil
}
