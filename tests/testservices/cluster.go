package testservices

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

const slots = 16384

// PrivateCluster is a Redis Cluster of one test: three masters, and the replicas that the test adds.
type PrivateCluster struct {
	// URL is what RATELIMIT_STORAGE_URI says to use it.
	URL string
	// Masters hold a third of the slots each, in their order.
	Masters []*PrivateRedis

	t testing.TB
}

// Cluster starts one and waits until every node knows all of it. It goes on where a node is down: the slots of that
// one fail alone.
func Cluster(t testing.TB) *PrivateCluster {
	t.Helper()
	Redis(t)
	c := &PrivateCluster{t: t}
	addresses := make([]string, 3)
	for i := range addresses {
		node := startNode(t)
		c.do(node, "cluster", "addslotsrange", i*slots/3, (i+1)*slots/3-1)
		c.do(node, "cluster", "set-config-epoch", i+1)
		c.Masters, addresses[i] = append(c.Masters, node), node.Address
	}
	for _, node := range c.Masters[1:] {
		c.meet(node)
	}
	c.agree(c.Masters...)
	c.URL = "redis+cluster://" + strings.Join(addresses, ",")
	return c
}

// Proxies puts one before each master, in their order: clients that ask the cluster from now on are sent there.
func (c *PrivateCluster) Proxies() []*Proxy {
	c.t.Helper()
	var proxies []*Proxy
	for _, node := range c.Masters {
		proxy := NewProxy(c.t, node.Address)
		_, port, _ := net.SplitHostPort(proxy.Address)
		node.Configure("cluster-announce-port", port)
		proxies = append(proxies, proxy)
	}
	eventually(c.t, "every master tells of the proxies", func() bool {
		for _, node := range c.Masters {
			told := node.client.ClusterNodes(context.Background()).Val()
			for _, proxy := range proxies {
				if !strings.Contains(told, proxy.Address) {
					return false
				}
			}
		}
		return true
	})
	return proxies
}

func startNode(t testing.TB) *PrivateRedis {
	t.Helper()
	var free ports
	return start(t, func(port int) *PrivateRedis {
		bus := free.next(t)
		for bus == port {
			bus = free.next(t)
		}
		return &PrivateRedis{
			URL:     fmt.Sprintf("redis://%s", local(port)),
			Address: local(port),
			arguments: []string{
				"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus),
				"--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no", "--cluster-config-file", "nodes.conf",
			},
			client: connect(&redis.Options{Addr: local(port)}),
		}
	})
}

func (c *PrivateCluster) do(node *PrivateRedis, command ...any) {
	c.t.Helper()
	if err := node.client.Do(context.Background(), command...).Err(); err != nil {
		c.t.Fatalf("%v at %s: %v", command, node.Address, err)
	}
}

// meet makes a node known to the first one, and by and by to all.
func (c *PrivateCluster) meet(node *PrivateRedis) {
	c.t.Helper()
	host, port, _ := net.SplitHostPort(c.Masters[0].Address)
	bus := c.Masters[0].client.ConfigGet(context.Background(), "cluster-port").Val()["cluster-port"]
	c.do(node, "cluster", "meet", host, port, bus)
}

// agree waits until all of these see one whole cluster.
func (c *PrivateCluster) agree(nodes ...*PrivateRedis) {
	c.t.Helper()
	known := fmt.Sprintf("cluster_known_nodes:%d\r\n", len(nodes))
	eventually(c.t, "the nodes of the cluster know each other", func() bool {
		for _, node := range nodes {
			info := node.client.ClusterInfo(context.Background()).Val()
			if !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, known) ||
				!strings.Contains(info, fmt.Sprintf("cluster_slots_ok:%d\r\n", slots)) {
				return false
			}
		}
		return true
	})
}

// AddReplica gives a master a replica that takes its place when it is gone, and waits until it could.
func (c *PrivateCluster) AddReplica(master *PrivateRedis) *PrivateRedis {
	c.t.Helper()
	replica := startNode(c.t)
	c.meet(replica)
	c.agree(append([]*PrivateRedis{replica}, c.Masters...)...)
	c.do(replica, "cluster", "replicate", master.client.Do(context.Background(), "cluster", "myid").Val())
	eventually(c.t, "the replica has what the master has", func() bool {
		return strings.Contains(replica.client.Info(context.Background(), "replication").Val(), "master_link_status:up") &&
			strings.Contains(c.Masters[0].client.ClusterNodes(context.Background()).Val(), "slave ")
	})
	return replica
}

// FailOver stops a master and waits until the replica has its slots.
func (c *PrivateCluster) FailOver(master, replica *PrivateRedis) {
	c.t.Helper()
	master.Stop()
	eventually(c.t, "the replica became master", func() bool {
		return strings.Contains(replica.client.Info(context.Background(), "replication").Val(), "role:master")
	})
}
