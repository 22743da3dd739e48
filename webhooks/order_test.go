package webhooks_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/webhooks"
)

// Rule: the next event of a recording waits for the one before, at most until that was tried three times; those of other
// recordings do not wait.
func TestTheNextEventWaitsForTheOneBefore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, func(o *webhooks.Options) {
			o.Schedule = []time.Duration{0, 200 * time.Millisecond, 200 * time.Millisecond, time.Hour}
		})
		v := newReceiver(t)
		v.answers(http.StatusInternalServerError)
		r.create(v.URL)
		r.deleted(7, 7, 8)
		r.start()
		var order []string
		until(t, "the second event of the recording is sent", func() bool {
			order = nil
			for _, got := range v.received() {
				switch body := string(got.body); {
				case strings.Contains(body, `"recording_id":8,`):
					order = append(order, "other")
				case strings.Contains(body, `"sequence":1,`):
					order = append(order, "first")
				default:
					order = append(order, "second")
				}
			}
			return strings.Contains(strings.Join(order, " "), "second")
		})
		before, _, _ := strings.Cut(strings.Join(order, " "), "second")
		if n := strings.Count(before, "first"); n != 3 {
			t.Errorf("the first was tried %d times before the second: %v", n, order)
		}
		if strings.Count(before, "other") == 0 {
			t.Errorf("another recording's event waited: %v", order)
		}
	})
}
