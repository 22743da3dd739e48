package recordings

import (
	"testing"
	"time"

	"github.com/stenometer/stenometer/outbound"
)

// Rule: an import waits as the server asks, and asks ever less often one that is busy for long: addresses are anybody's.
func TestABusyServerIsAskedEverLessOften(t *testing.T) {
	t.Parallel()
	for asked, most := range map[time.Duration]int{time.Second: 120, outbound.MaxRetryAfter: 24} {
		times := 0
		for age := time.Duration(0); age < providerPatience; times++ {
			wait := notYet{wait: asked}.after(age)
			if wait < asked || wait > outbound.MaxRetryAfter || age == 0 && wait != asked {
				t.Fatalf("after %s it waits %s, asked for %s", age, wait, asked)
			}
			age += wait
		}
		if times > most {
			t.Errorf("one that says %s each time is asked %d times", asked, times)
		}
	}
}
