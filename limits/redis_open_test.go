package limits

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/tests/testservices"
)

// refusedAtOnce wants an error that says why, shows no password and came long before the patience with a server that
// is away would have ended.
func refusedAtOnce(t *testing.T, uri, why string) {
	t.Helper()
	start := time.Now()
	_, err := OpenRedis(t.Context(), named(t, uri), RedisOptions{})
	if err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("opening %s: %v, want an error that says %q", config.NewLocation(uri), err, why)
	}
	if took := time.Since(start); took > contactPatience*2/3 {
		t.Errorf("%v: tried for %v", err, took)
	}
}

func TestOpenRedisRefusesAWrongPassword(t *testing.T) {
	t.Parallel()
	admin := patient(t)
	user := "limits-" + strings.ToLower(rand.Text())
	if err := admin.client.Do(t.Context(), "ACL", "SETUSER", user, "on", ">right-one", "~test-*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.client.Do(context.WithoutCancel(t.Context()), "ACL", "DELUSER", user) })
	with := func(password string) string {
		u, err := url.Parse(testservices.Redis(t))
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword(user, password)
		return u.String()
	}
	if !admitted(t, open(t, with("right-one"), RedisOptions{}), readStack(1, time.Minute)) {
		t.Error("with the right password nothing is admitted")
	}
	refusedAtOnce(t, with("hunter2"), "WRONGPASS")
	refusedAtOnce(t, with("right-one"), "NOPERM") // the prefix is not test-
}

// What no waiting mends stops the start, wherever the URI leads.
func TestOpenRedisRefusesWhatWillNeverDo(t *testing.T) {
	t.Parallel()
	locked, plain, encrypted := testservices.StoppableRedis(t), testservices.StoppableRedis(t), testservices.TLS(t)
	locked.Configure("requirepass", "right-one")
	refusedAtOnce(t, locked.URL, "NOAUTH")
	refusedAtOnce(t, "redis://:hunter2@"+locked.Address, "WRONGPASS")
	refusedAtOnce(t, "redis://"+plain.Address+"/999", "out of range")
	refusedAtOnce(t, "redis+cluster://"+plain.Address, "cluster support disabled")
	refusedAtOnce(t, "rediss://"+encrypted.Address, "certificate")

	cluster := testservices.Cluster(t)
	refusedAtOnce(t, "redis://"+cluster.Masters[0].Address+"/1", "SELECT is not allowed")
	for _, node := range cluster.Masters {
		node.Configure("requirepass", "right-one")
	}
	refusedAtOnce(t, cluster.URL, "NOAUTH")
	refusedAtOnce(t, strings.Replace(cluster.URL, "://", "://:hunter2@", 1), "WRONGPASS")

	sentinel := testservices.Sentinel(t)
	sentinel.Master.Configure("requirepass", "right-one")
	refusedAtOnce(t, sentinel.URL, "NOAUTH")
	refusedAtOnce(t, strings.Replace(sentinel.URL, "://", "://:hunter2@", 1), "WRONGPASS")
	for _, watcher := range sentinel.Sentinels {
		if err := watcher.Client().Do(t.Context(), "ACL", "SETUSER", "default", "resetpass", ">right-one").Err(); err != nil {
			t.Fatal(err)
		}
	}
	refusedAtOnce(t, sentinel.URL, "NOAUTH")
	refusedAtOnce(t, sentinel.URL+"?sentinel_password=hunter2", "WRONGPASS")
}

// One master of the cluster would answer for a third of the organizations, and send the others away.
func TestOpenRedisRefusesANodeOfACluster(t *testing.T) {
	t.Parallel()
	cluster := testservices.Cluster(t)
	var refused int
	for _, node := range cluster.Masters {
		if _, err := OpenRedis(t.Context(), named(t, node.URL), RedisOptions{}); err != nil && strings.Contains(err.Error(), "MOVED") {
			refused++
		}
	}
	if refused != 2 {
		t.Errorf("%d of the 2 masters that do not have the first counter were refused", refused)
	}
}

func TestOpenRedisFaults(t *testing.T) {
	t.Parallel()
	if _, err := OpenRedis(t.Context(), named(t, "redis://127.0.0.1:1"), RedisOptions{Prefix: "a{b}"}); err == nil {
		t.Error("a prefix with braces was taken")
	}
	if _, err := OpenRedis(t.Context(), named(t, "memory://"), RedisOptions{}); err == nil {
		t.Error("memory:// is Redis")
	}
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refusedAtOnce(t, "rediss://127.0.0.1:1?ca="+empty, "holds none")
	refusedAtOnce(t, "rediss://127.0.0.1:1?ca=/nowhere/ca.pem", "no such file")
}

// A server that is away at the start is waited for, and then the store is there and waits itself.
func TestOpenRedisDoesWithoutAServer(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]func(*testing.T) (uri string, stop, start func()){
		"single": func(t *testing.T) (string, func(), func()) {
			r := testservices.StoppableRedis(t)
			return r.URL, r.Stop, r.Start
		},
		"socket": func(t *testing.T) (string, func(), func()) {
			r := testservices.Socket(t)
			return r.URL, r.Stop, r.Start
		},
		"TLS": func(t *testing.T) (string, func(), func()) {
			r := testservices.TLS(t)
			return r.URL, r.Stop, r.Start
		},
		"frozen": func(t *testing.T) (string, func(), func()) {
			r := testservices.StoppableRedis(t)
			return r.URL, r.Freeze, r.Thaw
		},
		"cluster": func(t *testing.T) (string, func(), func()) {
			c := testservices.Cluster(t)
			return c.URL, func() { each(c.Masters, (*testservices.PrivateRedis).Freeze) }, func() { each(c.Masters, (*testservices.PrivateRedis).Thaw) }
		},
		"sentinel": func(t *testing.T) (string, func(), func()) {
			s := testservices.Sentinel(t)
			return s.URL, func() { each(s.Sentinels, (*testservices.PrivateRedis).Freeze) }, func() { each(s.Sentinels, (*testservices.PrivateRedis).Thaw) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			uri, stop, start := kind(t)
			stop()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			r, err := OpenRedis(ctx, named(t, uri), RedisOptions{Prefix: "test-" + rand.Text()})
			if err != nil {
				t.Fatalf("a server that is away: %v", err)
			}
			t.Cleanup(func() { _ = r.Close() })
			away(t, r, "away")
			if r.Ping(t.Context()) == nil {
				t.Error("a server that is away answers a ping")
			}
			start()
			comesBack(t, r)
			if err := r.Ping(t.Context()); err != nil {
				t.Errorf("it counts again, and a ping fails: %v", err)
			}
		})
	}
}

func each[T any](all []T, do func(T)) {
	for _, one := range all {
		do(one)
	}
}
