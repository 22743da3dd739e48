package decisions

import (
	"context"
	"time"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
)

// patience is more than the server has: a machine that is busy for a moment must not end a run.
const patience = 5 * time.Second

// openStore opens our store as the server does.
func openStore(ctx context.Context, uri string) (*limits.Redis, error) {
	storage, err := config.ParseLimitsStorage(uri)
	if err != nil {
		return nil, err
	}
	return limits.OpenRedis(ctx, storage, limits.RedisOptions{Timeout: patience})
}
