package limits

import "context"

// Forget makes a counter what it was before anything was counted.
func (r *Redis) Forget(ctx context.Context, l Limit) error {
	if err := check([]Limit{l}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if err := r.client.Del(ctx, string(r.appendKey(nil, &l))).Err(); err != nil {
		return unavailable("forgetting a counter in Redis", err)
	}
	return nil
}
