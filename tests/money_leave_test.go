package tests

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/llmtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// leaversPay asks twenty questions and hangs up in the middle of each. The call ends at the provider within a second, in
// the middle of the measured ones: this machine may be busy with other tests. What the prompt took is charged, and marked
// as an estimate.
func leaversPay(t *testing.T, r *moneyRig) {
	client, id := r.payer(t, "leave", "none")
	resume := r.model.Pause()
	defer resume()
	var took []time.Duration
	charged := 0.0
	for round := range 20 {
		aborted := r.model.Aborted()
		took = append(took, hangUp(t, client, r.model, at("/api/v1/recordings/%d/chat", id), aborted+1))
		servertest.Eventually(t, 30*time.Second, "the call is settled", func() bool {
			stands := chats(t, client)
			return stands.Calls == round+1 && stands.Held == 0
		})
		stands := chats(t, client)
		if stands.Charged <= charged || stands.Charged > charged+0.2 || stands.Estimated != round+1 {
			t.Errorf("after %d were left the ledger has %+v, before it %v", round+1, stands, charged)
		}
		charged = stands.Charged
	}
	// Rule: so does who sends a body where none is read (H-013).
	hangUp(t, client, r.model, at("/api/v1/recordings/%d/regenerate_title", id), r.model.Aborted()+1)
	slices.Sort(took)
	if middle := took[len(took)/2]; middle > time.Second {
		t.Errorf("the provider was left after %v", took)
	}
}

// hangUp leaves while the call is out, and tells how long it took until the provider was left so many times.
func hangUp(t *testing.T, client *servertest.Client, model *llmtest.Server, path string, times int) time.Duration {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, client.URL+path, strings.NewReader(`{"message":"What is it about?"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = client.Header.Clone()
	request.Header.Set("Content-Type", "application/json")
	left := make(chan struct{})
	go func() {
		defer close(left)
		if response, err := client.HTTP.Do(request); err == nil {
			t.Errorf("the question was answered %s", response.Status)
			_ = response.Body.Close()
		}
	}()
	patience, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := model.Await(patience, func(s *llmtest.Server) bool { return s.InFlight() == 1 }); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	leave()
	<-left
	if err := model.Await(patience, func(s *llmtest.Server) bool { return s.Aborted() == times }); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}
