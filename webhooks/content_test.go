package webhooks_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/webhooks"
)

// Rule: titles follow the scope read: an endpoint that a credential without it made is sent none, and one that is sent
// titles is pointed elsewhere by who may read them only.
func TestContentFollowsItsScope(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), nil)
	blind := r.principal(r.user, "webhooks")
	v := newReceiver(t)
	e, _, err := r.hooks.Create(t.Context(), blind, wish(v.URL, "recording.deleted"))
	if err != nil || e.Content {
		t.Fatalf("made %+v, %v", e, err)
	}
	w := wish(v.URL, "recording.deleted")
	w.Content = new(true)
	_, _, err = r.hooks.Create(t.Context(), blind, w)
	expectProblem(t, "content without read", err, problems.InsufficientScope)
	seeing, _ := r.create(nowhere)
	for name, change := range map[string]webhooks.Wish{"moved": {URL: &v.URL}, "content": {Content: new(true)}} {
		_, err = r.hooks.Change(t.Context(), blind, seeing.ID, change)
		expectProblem(t, name, err, problems.InsufficientScope)
	}
	if _, err := r.hooks.Change(t.Context(), blind, seeing.ID, webhooks.Wish{Name: new("renamed")}); err != nil {
		t.Errorf("it cannot be renamed: %v", err)
	}
	r.start()
	r.deleted(1)
	if got := string(v.await(t, 1)[0].body); !strings.Contains(got, `"title":null`) {
		t.Errorf("sent %s", got)
	}
	d, err := r.hooks.Delivery(t.Context(), r.owner, seeing.ID, r.deliveries(seeing.ID)[0].ID)
	if err != nil || !strings.Contains(d.Payload, "Tïtle") || strings.Contains(d.WithoutContent(), "Tïtle") || d.WithoutContent() == "" {
		t.Errorf("shown as %q and %q, %v", d.Payload, d.WithoutContent(), err)
	}
}

// Rule: what waits was written while titles were sent, and is sent and kept without them once they are not: who may not
// read them could switch them off and let what waits come to another address.
func TestWhatWaitsIsSentWithoutContent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, func(o *webhooks.Options) { o.Attempts, o.PauseAfter, o.Trial = 1, 1, 0 })
		down, elsewhere := newReceiver(t), newReceiver(t)
		down.answers(http.StatusServiceUnavailable)
		e, _ := r.create(down.URL)
		r.start()
		r.deleted(1)
		until(t, "it is paused", func() bool { return r.endpoint(e.ID).AutoPaused })
		blind := r.principal(r.user, "webhooks")
		_, err := r.hooks.Change(t.Context(), blind, e.ID, webhooks.Wish{Content: new(false), URL: &elsewhere.URL, Enabled: new(true)})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(elsewhere.await(t, 1)[0].body); strings.Contains(got, "Tïtle") || !strings.Contains(got, `"title":null`) {
			t.Errorf("sent %s", got)
		}
		until(t, "it is delivered", func() bool { return r.deliveries(e.ID)[0].Status == "success" })
		d, err := r.hooks.Delivery(t.Context(), r.owner, e.ID, r.deliveries(e.ID)[0].ID)
		if sent := string(elsewhere.received()[0].body); err != nil || d.Payload != sent {
			t.Errorf("%q is kept of %q, %v", d.Payload, sent, err)
		}
	})
}
