package limits

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// clusterEpochs is how many epochs a cluster holds. Their names spread them over the slots so evenly that any 512
// slots in a row have one, which makes one at least for each master of 32.
const clusterEpochs = 160

// epochKeys are the keys that say since when Redis has counted.
func (r *Redis) epochKeys() []string {
	if r.cluster == nil {
		return []string{r.prefix + ":epoch"}
	}
	keys := make([]string, clusterEpochs)
	for i := range keys {
		keys[i] = r.prefix + ":epoch:{" + strconv.Itoa(i) + "}"
	}
	return keys
}

// Epoch tells whether Redis has forgotten what was counted since the last call: it was emptied, started anew without
// its data, or has thrown keys away. The first call knows nothing that could be lost. On a cluster it is told of any
// master. A loss may be told beside an error, and is told once by each process.
func (r *Redis) Epoch(ctx context.Context) (lost bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	r.epochMu.Lock()
	defer r.epochMu.Unlock()
	keys := r.epochKeys()
	if r.epochs == nil {
		r.epochs = make([]string, len(keys))
	}
	found, failed := r.readEpochs(ctx, keys)
	var missing []string
	for key, epoch := range found {
		if epoch == "" {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		if err := r.setEpochs(ctx, missing); err != nil {
			failed = err
		}
		again, err := r.readEpochs(ctx, missing) // another process may have been first
		if err != nil {
			failed = err
		}
		for key, epoch := range again {
			found[key] = epoch
		}
	}
	for i, key := range keys {
		epoch, known := found[key]
		if !known {
			continue
		}
		if r.epochs[i] != "" && r.epochs[i] != epoch {
			lost = true
		}
		r.epochs[i] = epoch
	}
	if failed != nil {
		failed = unavailable("asking Redis since when it has counted", failed)
	}
	return lost, failed
}

// readEpochs finds "" where there is none, and leaves out what could not be asked.
func (r *Redis) readEpochs(ctx context.Context, keys []string) (map[string]string, error) {
	pipeline := r.client.Pipeline()
	answers := make([]*redis.StringCmd, len(keys))
	for i, key := range keys {
		answers[i] = pipeline.Get(ctx, key)
	}
	_, _ = pipeline.Exec(ctx) // each command has its own error
	var failed error
	found := make(map[string]string, len(keys))
	for i, key := range keys {
		epoch, err := answers[i].Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			failed = err
			continue
		}
		found[key] = epoch
	}
	return found, failed
}

func (r *Redis) setEpochs(ctx context.Context, keys []string) error {
	pipeline := r.client.Pipeline()
	for _, key := range keys {
		pipeline.SetNX(ctx, key, rand.Text(), 0)
	}
	_, err := pipeline.Exec(ctx)
	return err
}
