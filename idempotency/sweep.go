package idempotency

import (
	"context"
	"time"
)

// pruneAtOnce is how many keys one transaction removes: it must not keep the database's writer for long.
const pruneAtOnce = 1000

// Start begins to remove expired keys, until Stop.
func (k *Keys) Start(ctx context.Context) {
	ctx, k.cancel = context.WithCancel(context.WithoutCancel(ctx))
	k.ended.Go(func() { k.sweep(ctx) })
}

// Stop ends what Start began and waits for it.
func (k *Keys) Stop() {
	k.cancel()
	k.ended.Wait()
}

func (k *Keys) sweep(ctx context.Context) {
	ticker := time.NewTicker(k.SweepEvery)
	defer ticker.Stop()
	for {
		for {
			pruned, err := k.Prune(ctx, pruneAtOnce)
			if err != nil && ctx.Err() == nil {
				k.Logger.WarnContext(ctx, "expired idempotency keys could not be removed", "error", err.Error())
			}
			if pruned < pruneAtOnce {
				break
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
