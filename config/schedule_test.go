package config_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stenometer/stenometer/config"
)

func TestSchedules(t *testing.T) {
	t.Parallel()
	got, err := config.ParseSchedule("0s, 30s,2m,1h")
	if want := (config.Schedule{0, 30 * time.Second, 2 * time.Minute, time.Hour}); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, wrong := range []string{"", "30", "1s,", "-1s", "169h", "soon", "0s,0s,0s,0s,0s,0s,0s,0s,0s,0s,0s,0s,0s,0s,0s,0s,0s,0s,0s,0s,0s"} {
		if got, err := config.ParseSchedule(wrong); err == nil {
			t.Errorf("%q is read as %v", wrong, got)
		}
	}
}

// Without WEBHOOK_MAX_ATTEMPTS there are as many attempts as the schedule has waits; the variable only cuts it.
func TestAttemptsFollowTheSchedule(t *testing.T) {
	t.Parallel()
	for want, environment := range map[int][]string{
		7: nil, 2: {"WEBHOOK_RETRY_SCHEDULE=0s,1s"}, 3: {"WEBHOOK_MAX_ATTEMPTS=3"},
	} {
		c, _, err := config.Load(environment, "")
		if err != nil || c.WebhookAttempts != want {
			t.Errorf("%v: %d attempts, %v, want %d", environment, c.WebhookAttempts, err, want)
		}
	}
}

// Rule: an exception to what may be called is for whole hosts.
func TestHostPatternsAreAnchored(t *testing.T) {
	t.Parallel()
	pattern, err := config.ParseHostPattern(`n8n|.*\.lan`)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{"n8n": true, "a.lan": true, "n8n.evil.example": false, "evil-n8n": false, "a.lan.example": false, "": false} {
		if got := pattern.Whole().MatchString(host); got != want {
			t.Errorf("%q matches: %v, want %v", host, got, want)
		}
	}
	for _, wrong := range []string{"(", ")|(", "a)|(b", "[a"} {
		if _, err := config.ParseHostPattern(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
