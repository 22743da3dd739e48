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

// options are what one server, the master that Sentinels name and the nodes of a cluster have in common. What the
// library repeats by itself may be done twice: leases, pings and epochs. Decisions and refunds it never repeats.
func (r *Redis) options(s config.LimitsStorage, trusted *tls.Config) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs: s.Addresses, MasterName: s.Master,
		Username: s.Username, Password: s.Password.Reveal(), DB: s.Database, TLSConfig: trusted,
		SentinelUsername: s.SentinelUsername, SentinelPassword: s.SentinelPassword.Reveal(),
		ContextTimeoutEnabled: true,
		DialTimeout:           r.timeout / 2, DialerRetries: dialTries, DialerRetryTimeout: r.timeout / 10,
		ReadTimeout: r.timeout, WriteTimeout: r.timeout, PoolTimeout: r.timeout, PipelinePoolSize: onePool,
		MaxRetries: repeats, MinRetryBackoff: shortestPause, MaxRetryBackoff: longestPause, MaxRedirects: clusterRedirects,
		MaintNotificationsConfig: withoutNotices(), DisableIdentity: true,
	}
}

// clusterOptions say besides how often to look where the slots are, for which the common options have no word.
func (r *Redis) clusterOptions(s config.LimitsStorage, trusted *tls.Config) *redis.ClusterOptions {
	o := r.options(s, trusted).Cluster()
	o.MaxRetries = -1 // its redirects are repeats enough
	o.ClusterStateReloadInterval, o.DisableRoutingPolicies = clusterReload, true
	return o
}

// serverOptions are those of one server.
func (r *Redis) serverOptions(s config.LimitsStorage, trusted *tls.Config) *redis.Options {
	o := r.options(s, trusted).Simple()
	if s.Socket != "" {
		o.Network, o.Addr = "unix", s.Socket
	}
	return o
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

// contact looks at a counter: an account that may only ping must not be found out by the first request.
func (r *Redis) contact(ctx context.Context) error {
	_, err := r.Peek(ctx, []Limit{{Plan: OrganizationAI, Rate: Rate{Limit: 1, Period: time.Second}, Cost: 1}})
	return err
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
