package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/jobstest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// forClients runs a test against a server on each database, whose transcription service hears two people. The
// client calls as the owner of a full token does.
func forClients(t *testing.T, test func(t *testing.T, client *servertest.Client)) {
	t.Helper()
	for name, address := range jobstest.Migrated.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, client := signedUp(t, quiet(t).With(servertest.Environment{
				"DATABASE_URL": address(t), "SECRET_KEY": "0123456789abcdef0123456789abcdef",
				"ASR_BASE_URL": talkingProvider(t).ASRBaseURL(), "RECORDING_CHANGES_SETTLE_MILLISECONDS": "10",
			}))
			test(t, client)
		})
	}
}

// memberAt is the member of an answer at a path such as "recordings.total", as dashboards name what they show.
func memberAt(t *testing.T, answer servertest.Answer, path string) any {
	t.Helper()
	var value any = answer.JSON(t)
	for name := range strings.SplitSeq(path, ".") {
		object, is := value.(map[string]any)
		if value = object[name]; !is {
			t.Fatalf("the answer has nothing at %s: %v", path, answer)
		}
	}
	return value
}

// Rule: a dashboard's widget, which maps members of one JSON answer and sends its token in a header of its
// configuration, finds numbers where it looks.
func TestDashboardWidgetsFindTheirFigures(t *testing.T) {
	t.Parallel()
	forClients(t, func(t *testing.T, client *servertest.Client) {
		// One dashboard writes the header as documented, the other as it writes that of every service.
		token := strings.TrimPrefix(client.Header.Get("Authorization"), "Bearer ")
		client.Header = http.Header{}
		widget := func(header, value string) servertest.Answer {
			t.Helper()
			answer := client.Call("GET", "/api/v1/stats", nil, http.Header{header: {value}, "Accept": {"*/*"}})
			if answer.Status != http.StatusOK || !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
				t.Fatalf("got %v, want 200 and JSON", answer)
			}
			return answer
		}
		expect := func(answer servertest.Answer, figures map[string]any) {
			t.Helper()
			for path, want := range figures {
				if got := memberAt(t, answer, path); got != want {
					t.Errorf("%s is %v, want %v", path, got, want)
				}
			}
		}
		expect(widget("Authorization", "Bearer "+token), map[string]any{
			"recordings.total": 0.0, "recordings.completed": 0.0, "recordings.processing": 0.0, "recordings.pending": 0.0,
			"recordings.failed": 0.0, "storage.used_bytes": 0.0, "storage.used_human": "0.0 B", "queue.jobs_queued": 0.0,
			"queue.jobs_processing": 0.0, "tokens.used_this_month": 0.0, "transcription.used_this_month_minutes": 0.0,
			"activity.recordings_today": 0.0, "activity.last_transcription": nil,
		})
		client.Header.Set("Authorization", "Bearer "+token)
		file := tone(t)
		client.AwaitStatus(mustUpload(t, client, file), time.Minute, "COMPLETED")
		client.Header = http.Header{}
		answer := widget("X-Api-Token", token)
		expect(answer, map[string]any{
			"recordings.total": 1.0, "recordings.completed": 1.0, "recordings.pending": 0.0, "recordings.processing": 0.0,
			"storage.used_bytes": float64(len(file)), "storage.used_human": fmt.Sprintf("%.1f KB", float64(len(file))/1024),
			"activity.recordings_today": 1.0,
		})
		last, _ := memberAt(t, answer, "activity.last_transcription").(string)
		if _, err := time.Parse("2006-01-02T15:04:05", strings.SplitN(last, ".", 2)[0]); err != nil {
			t.Errorf("the newest transcript is of %q, which is no time", last)
		}
	})
}

func mustUpload(t *testing.T, client *servertest.Client, file []byte) int64 {
	t.Helper()
	answer := client.Upload("talk.wav", file, nil)
	if answer.Status != http.StatusAccepted {
		t.Fatalf("uploading: %v", answer)
	}
	return int64(answer.JSON(t)["id"].(float64))
}

// flow is a client as workflow engines send: their own Accept and User-Agent, forms with the file first.
type flow struct {
	t      *testing.T
	client *servertest.Client
}

func (f flow) send(method, path string, body any, status int) servertest.Answer {
	f.t.Helper()
	answer := f.client.Send(method, path, body)
	if answer.Status != status {
		f.t.Fatalf("%s %s: got %v, want %d", method, path, answer, status)
	}
	return answer
}

// upload sends a form as an axios of Node does: boundaries of many hyphens, and the file before the fields.
func (f flow) upload(file []byte, fields ...string) servertest.Answer {
	f.t.Helper()
	const boundary = "--------------------------493671920834750928374652"
	var form bytes.Buffer
	fmt.Fprintf(&form, "--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"Montag \u00fcber Zahlen.wav\"\r\n"+
		"Content-Type: audio/x-wav\r\n\r\n%s\r\n", boundary, file)
	for i := 0; i < len(fields); i += 2 {
		fmt.Fprintf(&form, "--%s\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", boundary, fields[i], fields[i+1])
	}
	fmt.Fprintf(&form, "--%s--\r\n", boundary)
	return f.client.Call("POST", "/api/v1/recordings/upload", &form, http.Header{"Content-Type": {"multipart/form-data; boundary=" + boundary}})
}

// Rule: a workflow that uploads, polls, fetches, names and tags needs nothing but the server's address and a token.
func TestWorkflowsUploadPollFetchAndTag(t *testing.T) {
	t.Parallel()
	forClients(t, func(t *testing.T, client *servertest.Client) {
		client.Header.Set("User-Agent", "axios/1.12.0")
		client.Header.Set("Accept", "application/json,text/html,application/xhtml+xml,application/xml,text/*;q=0.9, image/*;q=0.8, */*;q=0.7")
		f := flow{t, client}
		uploaded := f.upload(tone(t), "title", "Montag", "meeting_date", "2026-03-02T10:00:00+01:00")
		if uploaded.Status != http.StatusAccepted {
			t.Fatalf("uploading: %v", uploaded)
		}
		id := int64(uploaded.JSON(t)["id"].(float64))
		path := fmt.Sprintf("/api/v1/recordings/%d", id)
		if name := memberAt(t, uploaded, "original_filename"); name != "Montag über Zahlen.wav" {
			t.Errorf("the file is called %v", name)
		}
		if done := client.AwaitStatus(id, time.Minute, "COMPLETED", "FAILED"); done["status"] != "COMPLETED" {
			t.Fatalf("the recording ended as %v", done)
		}
		transcript := f.send("GET", path+"/transcript?format=text", nil, http.StatusOK)
		if text := memberAt(t, transcript, "content").(string); !strings.Contains(text, "budget figures") || !strings.Contains(text, "I send the minutes") {
			t.Errorf("the transcript is %q", text)
		}
		f.send("PATCH", path, map[string]any{"title": "Zahlen"}, http.StatusOK)
		tag := memberAt(t, f.send("POST", "/api/v1/tags", map[string]any{"name": "Done"}, http.StatusCreated), "id")
		f.send("POST", path+"/tags", map[string]any{"tag_id": tag}, http.StatusOK)
		found := f.send("GET", fmt.Sprintf("/api/v1/recordings?tag_id=%v&status=completed", tag), nil, http.StatusOK)
		list, _ := memberAt(t, found, "recordings").([]any)
		if len(list) != 1 || list[0].(map[string]any)["title"] != "Zahlen" || list[0].(map[string]any)["meeting_date"] != "2026-03-02T09:00:00" {
			t.Errorf("the tag finds %v", list)
		}
	})
}

// Rule: a workflow that polls with the ETag of what it has gets 304 until there is something new.
func TestPollingWithETagsTellsWhenSomethingIsNew(t *testing.T) {
	t.Parallel()
	forClients(t, func(t *testing.T, client *servertest.Client) {
		id := mustUpload(t, client, tone(t))
		client.AwaitStatus(id, time.Minute, "COMPLETED")
		path := fmt.Sprintf("/api/v1/recordings/%d", id)
		poll := func(tag string, status int) string {
			t.Helper()
			header := http.Header{}
			if tag != "" {
				header.Set("If-None-Match", tag)
			}
			answer := client.Call("GET", path, nil, header)
			if answer.Status != status || answer.Header.Get("Etag") == "" || (status == http.StatusNotModified && len(answer.Body) > 0) {
				t.Fatalf("asking with %q: got %v, ETag %q, want %d", tag, answer, answer.Header.Get("Etag"), status)
			}
			return answer.Header.Get("Etag")
		}
		known := poll("", http.StatusOK)
		if again := poll(known, http.StatusNotModified); again != known {
			t.Errorf("the ETag became %q without a change", again)
		}
		client.Send("PATCH", path, map[string]any{"notes": "new"})
		if fresh := poll(known, http.StatusOK); fresh == known {
			t.Error("a change has the ETag of what was before")
		}
	})
}

// mirror is a companion app's copy of an account: when each recording was changed last, by id.
type mirror struct {
	t      *testing.T
	client *servertest.Client
	cursor string
	has    map[float64]string
}

// follow goes through the feed until there is no more, and returns what it was told.
func (m *mirror) follow() (told []string) {
	m.t.Helper()
	for {
		answer := m.client.Get("/api/v1/recordings/changes?limit=2&cursor=" + m.cursor)
		if answer.Status != http.StatusOK {
			m.t.Fatalf("following: %v", answer)
		}
		var page struct {
			Changes []struct {
				Type      string
				ID        float64
				Recording struct {
					ID        float64
					UpdatedAt string `json:"updated_at"`
				}
			}
			NextCursor string `json:"next_cursor"`
			HasMore    bool   `json:"has_more"`
		}
		if err := json.Unmarshal(answer.Body, &page); err != nil {
			m.t.Fatal(err)
		}
		for _, change := range page.Changes {
			if change.Type == "delete" {
				delete(m.has, change.ID)
				told = append(told, fmt.Sprint("drop ", change.ID))
				continue
			}
			m.has[change.Recording.ID] = change.Recording.UpdatedAt
			told = append(told, fmt.Sprint("keep ", change.Recording.ID))
		}
		m.cursor = page.NextCursor
		if !page.HasMore {
			return told
		}
	}
}

// listed is the account as a list has it.
func (m *mirror) listed() map[float64]string {
	m.t.Helper()
	has := map[float64]string{}
	list, _ := memberAt(m.t, m.client.Get("/api/v1/recordings?per_page=100"), "recordings").([]any)
	for _, recording := range list {
		object := recording.(map[string]any)
		has[object["id"].(float64)] = object["updated_at"].(string)
	}
	return has
}

// catchUp follows until the copy is what the list has; meanwhile changes may still be settling.
func (m *mirror) catchUp() (told []string) {
	m.t.Helper()
	servertest.Eventually(m.t, 20*time.Second, "the copy is what the list has", func() bool {
		told = append(told, m.follow()...)
		return maps.Equal(m.has, m.listed())
	})
	return told
}

// Rule: a companion app that makes one full pass of the feed and then follows has what the account has, and hears only
// of what has changed.
func TestCompanionAppsKeepACopyInStep(t *testing.T) {
	t.Parallel()
	forClients(t, func(t *testing.T, client *servertest.Client) {
		file := tone(t)
		var ids []int64
		for range 5 {
			ids = append(ids, mustUpload(t, client, file))
		}
		for _, id := range ids {
			client.AwaitStatus(id, time.Minute, "COMPLETED")
		}
		copied := &mirror{t: t, client: client, has: map[float64]string{}}
		copied.catchUp()
		if len(copied.has) != 5 {
			t.Fatalf("after the full pass the copy has %v, want 5 recordings", copied.has)
		}
		if told := copied.follow(); len(told) > 0 {
			t.Errorf("nothing has changed, and the feed tells %v", told)
		}
		client.Send("PATCH", fmt.Sprintf("/api/v1/recordings/%d", ids[1]), map[string]any{"title": "Renamed"})
		client.Send("DELETE", fmt.Sprintf("/api/v1/recordings/%d", ids[3]), nil)
		told := copied.catchUp()
		slices.Sort(told)
		want := []string{fmt.Sprint("drop ", ids[3]), fmt.Sprint("keep ", ids[1])}
		if told = slices.Compact(told); !slices.Equal(told, want) {
			t.Errorf("the feed tells %v, want %v", told, want)
		}
	})
}
