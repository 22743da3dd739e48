package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// The variables by which scripts/with-services tells where its services are.
const (
	redisVariable    = "STENOMETER_TEST_REDIS"
	postgresVariable = "STENOMETER_TEST_POSTGRES"
)

// redisServer is the private Redis of the run. It is emptied again and again.
type redisServer struct {
	address string
	pid     int
	version string
	client  *redis.Client
}

var (
	infoPID     = regexp.MustCompile(`(?m)^process_id:(\d+)`)
	infoVersion = regexp.MustCompile(`(?m)^redis_version:(\S+)`)
)

func findRedis(ctx context.Context) (*redisServer, error) {
	url := os.Getenv(redisVariable)
	if url == "" {
		return nil, errors.New("no Redis to measure with: run it by scripts/with-services, as make bench does")
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", redisVariable, err)
	}
	r := &redisServer{address: options.Addr, client: redis.NewClient(options)}
	info, err := r.client.Info(ctx, "server").Result()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("asking Redis: %w", err), r.client.Close())
	}
	pid, version := infoPID.FindStringSubmatch(info), infoVersion.FindStringSubmatch(info)
	if pid == nil || version == nil {
		return nil, errors.Join(errors.New("Redis does not tell its process and version"), r.client.Close())
	}
	r.pid, _ = strconv.Atoi(pid[1])
	r.version = version[1]
	return r, nil
}

// empty forgets what earlier servers counted.
func (r *redisServer) empty(ctx context.Context) error {
	if err := r.client.FlushAll(ctx).Err(); err != nil {
		return fmt.Errorf("emptying Redis: %w", err)
	}
	return nil
}

func (r *redisServer) cpu() float64 { return cpuOf(r.pid) }
