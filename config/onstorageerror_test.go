package config_test

import (
	"strings"
	"testing"

	"github.com/stenometer/stenometer/config"
)

// What happens in an outage is said in full or not at all, and reads back as it was written.
func TestOnStorageErrorIsReadStrictly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.OnStorageError{
		"local,local,deny":    {Read: config.CountLocally, Write: config.CountLocally, Process: config.Deny},
		" Local , deny,LOCAL": {Read: config.CountLocally, Write: config.Deny, Process: config.CountLocally},
		"deny,deny,deny":      {Read: config.Deny, Write: config.Deny, Process: config.Deny},
	} {
		got, err := config.ParseOnStorageError(text)
		if err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
		if again, err := config.ParseOnStorageError(got.String()); err != nil || again != got {
			t.Errorf("%q reads back as %v, %v", got, again, err)
		}
	}
	for _, text := range []string{
		"", "local", "local,deny", "local,local,deny,deny", "local,local,", "local;local;deny", "allow,local,deny",
		"local,local,deny.", "local local deny",
	} {
		got, err := config.ParseOnStorageError(text)
		if err == nil || got != (config.OnStorageError{}) || !strings.Contains(err.Error(), "local,local,deny") {
			t.Errorf("%q: got %v, %v, want an error that says what is allowed", text, got, err)
		}
	}
}
