package tests

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/tests/servertest"
)

// A setting that nobody hands on is a promise in the user guide, and a zero in the program: what is remembered for 90
// days is then forgotten at once.
func TestEverySettingIsHandedOn(t *testing.T) {
	t.Parallel()
	var sources strings.Builder
	for _, folder := range []string{"server", filepath.Join("cmd", "server")} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no sources in %s: %v", folder, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(text)
		}
	}
	settings := reflect.TypeFor[config.Config]()
	for i := range settings.NumField() {
		field := settings.Field(i)
		if field.Tag.Get("env") == "" {
			continue
		}
		read := regexp.MustCompile(`\b(?:config|cfg)\.` + field.Name + `\b`).MatchString(sources.String())
		if !read {
			t.Errorf("%s (%s) is not read by the server", field.Name, field.Tag.Get("env"))
		}
	}
}

// A change waits for the settle window before followers are told, whatever the list shows.
func TestTheFeedWaitsAsLongAsItsSettingSays(t *testing.T) {
	t.Parallel()
	_, client := signedUp(t, quiet(t).With(servertest.Environment{"RECORDING_CHANGES_SETTLE_MILLISECONDS": "60000"}))
	client.Upload("tone.wav", tone(t), nil)
	if total := client.Get("/api/v1/recordings").JSON(t)["pagination"].(map[string]any)["total"]; total != 1.0 {
		t.Fatalf("%v recordings are listed", total)
	}
	if page := client.Get("/api/v1/recordings/changes").JSON(t); len(page["changes"].([]any)) != 0 {
		t.Errorf("within the window the feed has %v", page)
	}
}

// A deletion is remembered as long as the setting says: sweeps that come before that leave it.
func TestTheFeedRemembersAsLongAsItsSettingSays(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(servertest.Environment{
		"RECORDING_CHANGES_SETTLE_MILLISECONDS": "10", "SWEEP_INTERVAL_SECONDS": "0.05",
	})
	_, client := signedUp(t, environment)
	id := recordingID(t, client.Upload("tone.wav", tone(t), nil).JSON(t))
	var before string
	servertest.Eventually(t, 10*time.Second, "the feed tells the recording", func() bool {
		page := client.Get("/api/v1/recordings/changes").JSON(t)
		before = page["next_cursor"].(string)
		return len(page["changes"].([]any)) == 1
	})
	client.Send(http.MethodDelete, fmt.Sprintf("/api/v1/recordings/%d", id), nil)
	deleted := func() bool {
		answer := client.Get("/api/v1/recordings/changes?cursor=" + url.QueryEscape(before))
		return answer.Status == http.StatusOK && strings.Contains(string(answer.Body), `"type":"delete"`)
	}
	servertest.Eventually(t, 10*time.Second, "the feed tells the deletion", deleted)
	// Between two sweeps for files deletions that are long past are forgotten.
	awaitSweep(t, environment)
	awaitSweep(t, environment)
	if !deleted() {
		t.Error("the deletion has been forgotten at once")
	}
}

// awaitSweep returns once a sweep has removed an old temporary file.
func awaitSweep(t *testing.T, environment servertest.Environment) {
	t.Helper()
	leftover := filepath.Join(environment["DATA_DIR"], "tmp", "upload-leftover")
	if err := os.WriteFile(leftover, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(leftover, old, old); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, 10*time.Second, "a sweep removes what is left over", func() bool {
		_, err := os.Stat(leftover)
		return os.IsNotExist(err)
	})
}
