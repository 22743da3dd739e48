package testservices

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// sentinelMaster is the name that the Sentinels of tests know their master by.
const sentinelMaster = "limits"

// PrivateSentinel is a master and a replica of one test under three Sentinels, which notice within a second that the
// master is gone.
type PrivateSentinel struct {
	// URL is what RATELIMIT_STORAGE_URI says to use it.
	URL string
	// Master and Replica are what they were when the test began.
	Master, Replica *PrivateRedis
	// Sentinels are the three that watch.
	Sentinels []*PrivateRedis

	t testing.TB
}

// Sentinel starts them and waits until a failover would succeed.
func Sentinel(t testing.TB) *PrivateSentinel {
	t.Helper()
	s := &PrivateSentinel{t: t, Master: StoppableRedis(t), Replica: StoppableRedis(t)}
	host, port, _ := net.SplitHostPort(s.Master.Address)
	if err := s.Replica.client.ReplicaOf(context.Background(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the replica has what the master has", func() bool {
		return strings.Contains(s.Replica.client.Info(context.Background(), "replication").Val(), "master_link_status:up")
	})
	addresses := make([]string, 3)
	for i := range addresses {
		watcher := startSentinel(t, host, port)
		s.Sentinels, addresses[i] = append(s.Sentinels, watcher), watcher.Address
	}
	s.URL = "redis+sentinel://" + strings.Join(addresses, ",") + "/" + sentinelMaster
	eventually(t, "the Sentinels know each other and the replica", func() bool {
		for _, watcher := range s.Sentinels {
			known := sentinelOf(watcher).Master(context.Background(), sentinelMaster).Val()
			if known["num-slaves"] != "1" || known["num-other-sentinels"] != "2" || known["flags"] != "master" {
				return false
			}
		}
		return true
	})
	return s
}

// sentinelOf speaks to a Sentinel over the connection that the test has to it.
func sentinelOf(r *PrivateRedis) *redis.SentinelClient {
	s := redis.NewSentinelClient(r.client.Options())
	r.t.Cleanup(func() { _ = s.Close() })
	return s
}

func startSentinel(t testing.TB, host, port string) *PrivateRedis {
	t.Helper()
	return start(t, func(own int) *PrivateRedis {
		// A Sentinel keeps what it learns in its file.
		file := filepath.Join(t.TempDir(), "sentinel.conf")
		lines := []string{
			fmt.Sprintf("port %d", own), "bind 127.0.0.1",
			fmt.Sprintf("sentinel monitor %s %s %s 2", sentinelMaster, host, port),
			"sentinel down-after-milliseconds " + sentinelMaster + " 500",
			"sentinel failover-timeout " + sentinelMaster + " 3000",
		}
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return &PrivateRedis{
			URL:       fmt.Sprintf("redis://%s", local(own)),
			Address:   local(own),
			arguments: []string{file, "--sentinel"},
			client:    connect(&redis.Options{Addr: local(own)}),
		}
	})
}

// FailOver stops the master and waits until the replica is master for every Sentinel and for itself.
func (s *PrivateSentinel) FailOver() {
	s.t.Helper()
	s.Master.Stop()
	_, port, _ := net.SplitHostPort(s.Replica.Address)
	eventually(s.t, "the Sentinels made the replica master", func() bool {
		for _, watcher := range s.Sentinels {
			named := sentinelOf(watcher).GetMasterAddrByName(context.Background(), sentinelMaster).Val()
			if len(named) != 2 || named[1] != port {
				return false
			}
		}
		return strings.Contains(s.Replica.client.Info(context.Background(), "replication").Val(), "role:master")
	})
}
