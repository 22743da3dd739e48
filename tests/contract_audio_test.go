package tests

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"
)

func contractOfAudio(t *testing.T, w *world) {
	ada, eve := w.account(t, "audio"), w.account(t, "audio.eve")
	content := talk(0)
	id := recordingID(t, ada.Upload("Besprechung ü 1.wav", content, nil).JSON(t))
	path, size := at("/api/v1/recordings/%d/audio", id), len(content)
	whole := ada.Get(path)
	tag := whole.Header.Get("ETag")
	const name = `filename="Besprechung__1.wav"; filename*=UTF-8''Besprechung%20%C3%BC%201.wav`
	for _, r := range []struct {
		rule, query string
		header      http.Header
		status      int
		headers     map[string]string
		body        []byte
	}{
		{"the whole file", "", nil, 200, map[string]string{
			"Content-Type": "audio/wav", "Content-Disposition": "inline; " + name, "Content-Length": fmt.Sprint(size), "Accept-Ranges": "bytes",
			"Cache-Control": "private, no-cache",
		}, content},
		{"download=true is an attachment", "?download=True", nil, 200, map[string]string{"Content-Disposition": "attachment; " + name}, content},
		{"another download is inline", "?download=1", nil, 200, map[string]string{"Content-Disposition": "inline; " + name}, content},
		{"one range", "", http.Header{"Range": {"bytes=0-1"}}, 206, map[string]string{
			"Content-Range": fmt.Sprintf("bytes 0-1/%d", size), "Content-Length": "2", "Accept-Ranges": "bytes",
		}, content[:2]},
		{"a range beyond the file", "", http.Header{"Range": {"bytes=999999999-"}}, 416, map[string]string{"Content-Range": fmt.Sprintf("bytes */%d", size)}, nil},
		{"the tag that it has", "", http.Header{"If-None-Match": {tag}}, 304, map[string]string{"ETag": tag}, []byte{}},
		{"since it was stored", "", http.Header{"If-Modified-Since": {whole.Header.Get("Last-Modified")}}, 304, nil, []byte{}},
		{"a range of what it has", "", http.Header{"Range": {"bytes=0-1"}, "If-Range": {tag}}, 206, nil, content[:2]},
		{"a range of another file is the whole", "", http.Header{"Range": {"bytes=0-1"}, "If-Range": {`"other"`}}, 200, nil, content},
	} {
		t.Run(r.rule, func(t *testing.T) {
			answer := ada.Call(http.MethodGet, path+r.query, nil, r.header)
			if answer.Status != r.status || r.body != nil && !bytes.Equal(answer.Body, r.body) {
				t.Errorf("got %d with %d bytes, want %d with %d", answer.Status, len(answer.Body), r.status, len(r.body))
			}
			for name, want := range r.headers {
				if got := answer.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
	if tag == "" || whole.Header.Get("Last-Modified") == "" {
		t.Errorf("the headers are %v", whole.Header)
	}
	outside := ada.Call(http.MethodGet, path, nil, http.Header{"Range": {"bytes=999999999-"}})
	expectForm(t, outside, object{"error": text, "code": "range_not_satisfiable"})
	keeps(t, eve, []row{{rule: "another account's is 404 (differs: 403)", path: path, status: 404, code: "not_found"}})
	keeps(t, ada, []row{{rule: "no recording", path: "/api/v1/recordings/999999999/audio", status: 404, code: "not_found"}})
}
