package webhooks_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/webhooks"
)

// Rule: of two changes at once none undoes the other: each holds whole, or is refused.
func TestChangesAtOnceUndoNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, nil)
		e, _ := r.create(nowhere)
		events := [][]string{{"recording.deleted"}, {"recording.created"}}
		for i := range 25 {
			name := fmt.Sprintf("name %d", i)
			var renamed, subscribed error
			var both sync.WaitGroup
			both.Go(func() { _, renamed = r.hooks.Change(t.Context(), r.owner, e.ID, webhooks.Wish{Name: &name}) })
			both.Go(func() { _, subscribed = r.hooks.Change(t.Context(), r.owner, e.ID, webhooks.Wish{Events: events[i%2]}) })
			both.Wait()
			after := r.endpoint(e.ID)
			if renamed == nil && after.Name != name || subscribed == nil && !slices.Contains(after.Events, webhooks.Type(events[i%2][0])) {
				t.Fatalf("round %d: %+v, though both held", i, after)
			}
			for _, err := range []error{renamed, subscribed} {
				if err != nil && !problems.Is(err, problems.Conflict) {
					t.Fatal(err)
				}
			}
		}
	})
}

// Rule: a webhook that is made disabled is told nothing until it is enabled.
func TestAWebhookIsMadeDisabled(t *testing.T) {
	t.Parallel()
	r := newRig(t, sqliteURL(t), nil)
	w := wish(nowhere, "recording.deleted")
	w.Enabled = new(false)
	made, _, err := r.hooks.Create(t.Context(), r.owner, w)
	if err != nil || made.Enabled || r.endpoint(made.ID).Enabled {
		t.Fatalf("made %+v, %v", made, err)
	}
	r.deleted(1)
	if err := r.hooks.Dispatch(t.Context()); err != nil || len(r.deliveries(made.ID)) != 0 {
		t.Errorf("%d deliveries, %v", len(r.deliveries(made.ID)), err)
	}
}
