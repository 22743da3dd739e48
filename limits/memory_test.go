package limits_test

import (
	"testing"
	"time"

	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/limits/limitstest"
)

func TestMemoryKeepsTheRulesOfAStore(t *testing.T) {
	t.Parallel()
	limitstest.Run(t, func(*testing.T) limitstest.Subject {
		clock := limitstest.NewClock()
		return limitstest.Subject{
			Store:  limits.NewMemory(clock.Now),
			Window: time.Minute,
			Now:    clock.Now,
			Wait:   clock.Move,
		}
	})
}
