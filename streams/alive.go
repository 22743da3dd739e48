package streams

import (
	"context"
	"errors"
	"time"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/resting"
)

// aliveEvery is how often a stream asks whether its caller may still have it: twice within the second in which the
// stream of a dead credential ends.
const aliveEvery = 400 * time.Millisecond

// watch ends the stream when its caller may not have it any more. That this cannot be told just now ends nothing: it is
// asked again, and the stream is bounded without it.
func (s *stream) watch(alive func(context.Context) error) {
	if alive == nil {
		return
	}
	s.watching = resting.Again(s.ctx, aliveEvery, func(ctx context.Context) time.Duration {
		var dead *problems.Error
		if err := alive(ctx); errors.As(err, &dead) && dead.Kind != problems.DatabaseUnavailable {
			s.cancel(dead)
		}
		return aliveEvery
	})
}
