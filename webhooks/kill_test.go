package webhooks_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/webhooks"
)

// childURL makes this test binary a process that announces events and delivers them until it is killed.
const childURL = "STENOMETER_TEST_WEBHOOKS_URL"

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		fmt.Println(runChild(url))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func runChild(url string) error {
	ctx := context.Background()
	db, err := models.Open(ctx, models.Options{URL: url, MaxConnections: 4})
	if err != nil {
		return err
	}
	hooks, queue, err := build(db, slog.New(slog.DiscardHandler), time.Second, nil)
	if err != nil {
		return err
	}
	var user models.User
	if err := db.Read.Take(&user).Error; err != nil {
		return err
	}
	if err := queue.Start(ctx); err != nil {
		return err
	}
	hooks.Start(ctx)
	fmt.Println("working")
	for i := int64(0); ; i++ {
		err := db.Transaction(ctx, func(tx *gorm.DB) error {
			return webhooks.Announce(tx, webhooks.Event{
				Type: webhooks.RecordingDeleted, OrganizationID: user.OrganizationID, UserID: user.ID, RecordingID: 1 + i%5,
				Data: map[string]any{"recording_id": 1 + i%5, "title": "t"}, OccurredAt: time.Now(),
			})
		})
		if err != nil && !models.IsBusy(err) {
			return err
		}
		time.Sleep(3 * time.Millisecond) //nolint:forbidigo // the pace of the load
	}
}

// Rule: an event that was committed arrives, with one id and one body, whenever the process is killed (H-053).
func TestNothingIsLostByAKill(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		v := newReceiver(t)
		r := newRig(t, url, nil)
		e, _ := r.create(v.URL)
		for range 10 {
			killSoon(t, url)
		}
		hooks, queue, err := build(r.db, slog.New(slog.NewTextHandler(t.Output(), nil)), time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.hooks, r.queue = hooks, queue
		r.start()
		r.handedOut()
		until(t, "all is delivered", func() bool {
			var open int64
			return r.db.Read.Model(&models.WebhookDelivery{}).Where("webhook_id = ? AND finished_at IS NULL", e.ID).Count(&open).Error == nil && open == 0
		})
		var committed []string
		if err := r.db.Read.Model(&models.OutboxEvent{}).Pluck("event_id", &committed).Error; err != nil {
			t.Fatal(err)
		}
		bodies := make(map[string]string)
		for _, got := range v.received() {
			id, body := got.header.Get("Webhook-Id"), string(got.body)
			if before, twice := bodies[id]; twice && before != body {
				t.Errorf("event %s arrived as %s and as %s", id, before, body)
			}
			bodies[id] = body
		}
		lost := 0
		for _, id := range committed {
			if bodies[id] == "" {
				lost++
			}
		}
		if lost > 0 || len(committed) < 50 || len(bodies) != len(committed) {
			t.Errorf("of %d committed events %d were lost; %d arrived", len(committed), lost, len(bodies))
		}
		inOrder(t, v.received())
	})
}

// killSoon runs such a process and kills it a random while after it has begun.
func killSoon(t *testing.T, url string) {
	t.Helper()
	killAfter(t, url, func() { <-time.After(50*time.Millisecond + rand.N(300*time.Millisecond)) })
}

// killAfter runs such a process until wait returns.
func killAfter(t *testing.T, url string, wait func()) {
	t.Helper()
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env, process.Stderr = append(os.Environ(), childURL+"="+url), t.Output()
	output, err := process.StdoutPipe()
	if err == nil {
		err = process.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "working") {
		t.Errorf("the other process said %q, %v", line, err)
	}
	wait()
	if err := process.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = process.Wait() // tells that it was killed
}
