package webhooks_test

import (
	"testing"

	"github.com/stenometer/stenometer/webhooks"
)

// Rule: switched off, nothing is sent and no event is kept for later.
func TestSwitchedOffNothingIsSent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		v := newReceiver(t)
		off := newRig(t, url, func(o *webhooks.Options) { o.Enabled = false })
		e, _ := off.create(v.URL)
		off.deleted(1, 2)
		if err := off.hooks.Dispatch(t.Context()); err != nil {
			t.Fatal(err)
		}
		off.handedOut()
		if found := off.deliveries(e.ID); len(found) != 0 {
			t.Errorf("%d deliveries are kept", len(found))
		}
		on := newRig(t, url, nil)
		on.start()
		on.deleted(3)
		if got := v.await(t, 1); len(got) != 1 || got[0].header.Get("Speakr-Event") != "recording.deleted" {
			t.Errorf("got %v", got)
		}
		until(t, "one is delivered", func() bool { found := on.deliveries(e.ID); return len(found) == 1 && found[0].Status == "success" })
	})
}
