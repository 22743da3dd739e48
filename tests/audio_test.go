package tests

import (
	"fmt"
	"net/http"
	"testing"
)

// Rule: ranges follow RFC 9110, HEAD is GET without a body, and the scope is checked on each (H-063).
func TestAudioRanges(t *testing.T) {
	t.Parallel()
	_, client := signedUp(t, quiet(t))
	content := tone(t)
	id := recordingID(t, client.Upload("tone.wav", content, nil).JSON(t))
	address := at("/api/v1/recordings/%d/audio", id)
	size := len(content)
	for _, row := range []struct {
		header       string
		status       int
		contentRange string
		body         []byte
	}{
		{"", 200, "", content},
		{"bytes=0-1", 206, fmt.Sprintf("bytes 0-1/%d", size), content[:2]},
		{"bytes=-100", 206, fmt.Sprintf("bytes %d-%d/%d", size-100, size-1, size), content[size-100:]},
		{"bytes=100-", 206, fmt.Sprintf("bytes 100-%d/%d", size-1, size), content[100:]},
		{"bytes=0-999999999", 206, fmt.Sprintf("bytes 0-%d/%d", size-1, size), content},
		{"bytes=999999999-", 416, fmt.Sprintf("bytes */%d", size), nil},
		{"bytes=5-1", 200, "", content},
		{"lines=1-2", 200, "", content},
	} {
		header := http.Header{}
		if row.header != "" {
			header.Set("Range", row.header)
		}
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			answer := client.Call(method, address, nil, header)
			if answer.Status != row.status || answer.Header.Get("Content-Range") != row.contentRange {
				t.Errorf("%s %s: %d with Content-Range %q, want %d %q", method, row.header, answer.Status, answer.Header.Get("Content-Range"), row.status, row.contentRange)
			}
			if answer.Header.Get("Accept-Ranges") != "bytes" {
				t.Errorf("%s %s: Accept-Ranges is %q", method, row.header, answer.Header.Get("Accept-Ranges"))
			}
			if method == http.MethodGet && row.body != nil && string(answer.Body) != string(row.body) {
				t.Errorf("%s %s: %d bytes, want %d", method, row.header, len(answer.Body), len(row.body))
			}
			if method == http.MethodHead && len(answer.Body) != 0 {
				t.Errorf("HEAD %s has a body", row.header)
			}
		}
	}
	if answer := client.Call(http.MethodGet, address, nil, http.Header{"Range": {"bytes=999999999-"}}); answer.Code() != "range_not_satisfiable" {
		t.Errorf("the 416 is %v, want a JSON error", answer)
	}
}
