package tests

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/tests/servertest"
)

// segmentObject is a segment; text and sentence are the same words.
func segmentObject(index int, label, words string, start, end float64) object {
	return object{
		"index": index, "speaker": label, "speaker_label": label, "speaker_id": nil, "text": words, "sentence": words,
		"start_time": start, "end_time": end,
	}
}

func contractOfTranscripts(t *testing.T, w *world) {
	ada, eve := w.account(t, "transcript"), w.account(t, "transcript.eve")
	id := finished(t, ada, nil)
	plain := finished(t, ada, map[string]string{"initial_prompt": "plain"})
	failed := finished(t, ada, map[string]string{"initial_prompt": "fail"})
	first, second := segmentObject(0, "SPEAKER_00", "Hello", 0, 1.5), segmentObject(1, "SPEAKER_01", "Hi é <b>", 1.3, 1.999)
	third := segmentObject(2, "SPEAKER_00", "The budget is 100% agreed.", 2, 2.75)
	whole := object{"format": "json", "kind": "segments", "duration": number, "segments": []any{first, second, third}}
	window := func(segments ...any) object { return whole.with(object{"segments": append([]any{}, segments...)}) }
	path := at("/api/v1/recordings/%d/transcript", id)
	bad := func(rule, query string) row {
		return row{rule: rule, path: query, status: 400, code: "invalid_parameter"}
	}
	keeps(t, ada, []row{
		{rule: "JSON by itself, the same words as text and sentence", path: "", want: whole},
		{rule: "formats in any case", path: "?format=JSON", want: whole},
		bad("another format", "?format=xml"),
		{rule: "start keeps what ends there or later", path: "?start=1.5", want: window(first, second, third)},
		{rule: "indices stay those of the whole", path: "?start=1.6", want: window(second, third)},
		{rule: "end keeps what starts there or before", path: "?end=1.3", want: window(first, second)},
		{rule: "start and end", path: "?start=1.6&end=1.9", want: window(second)},
		{rule: "a window of nothing", path: "?start=100", want: window()},
		{rule: "max_segments tells where the rest starts", path: "?max_segments=1", want: window(first).with(object{"next_start": 1.3})},
		{rule: "max_segments that cuts nothing", path: "?max_segments=3", want: whole},
		{rule: "max_segments within a window", path: "?start=1.6&max_segments=1", want: window(second).with(object{"next_start": 2})},
		bad("max_segments=0", "?max_segments=0"), bad("a negative max_segments", "?max_segments=-1"),
		bad("max_segments that is no number", "?max_segments=x"), bad("start that is no number", "?start=soon"),
		bad("an infinite end", "?end=Infinity"),
		{rule: "text: a line a segment, the speaker in brackets", path: "?format=text", want: object{
			"format": "text", "content": "[SPEAKER_00]: Hello\n[SPEAKER_01]: Hi é <b>\n[SPEAKER_00]: The budget is 100% agreed.",
		}},
		{rule: "windows are of JSON alone", path: "?format=text&max_segments=0", want: some{"format": "text"}},
		{rule: "SRT without voices, milliseconds rounded (differs)", path: "?format=srt", want: object{"format": "srt", "content": strings.Join([]string{
			"1", "00:00:00,000 --> 00:00:01,500", "SPEAKER_00: Hello", "",
			"2", "00:00:01,300 --> 00:00:01,999", "SPEAKER_01: Hi é <b>", "",
			"3", "00:00:02,000 --> 00:00:02,750", "SPEAKER_00: The budget is 100% agreed.", "",
		}, "\n")}},
		{rule: "WebVTT with voices, escaped (differs)", path: "?format=vtt", want: object{"format": "vtt", "content": strings.Join([]string{
			"WEBVTT", "", "00:00:00.000 --> 00:00:01.500", "<v SPEAKER_00>Hello", "",
			"00:00:01.300 --> 00:00:01.999", "<v SPEAKER_01>Hi é &lt;b&gt;", "",
			"00:00:02.000 --> 00:00:02.750", "<v SPEAKER_00>The budget is 100% agreed.", "",
		}, "\n")}},
	}, path)
	raw := "First line.\nSecond line, 100% of it."
	keeps(t, ada, []row{
		{rule: "a plain transcript is raw text", path: "", want: object{"format": "json", "kind": "plain", "segments": []any{}, "raw": raw}},
		{rule: "a plain transcript as text", path: "?format=text", want: object{"format": "text", "content": raw}},
		{rule: "no SRT of a plain transcript", path: "?format=srt", status: 400, code: "no_timings"},
		{rule: "no WebVTT of a plain transcript", path: "?format=vtt", status: 400, code: "no_timings"},
	}, at("/api/v1/recordings/%d/transcript", plain))
	keeps(t, ada, []row{
		{
			rule: "a failed transcription has no transcript (differs: the error as text)", path: at("/api/v1/recordings/%d/transcript", failed),
			status: 404, code: "not_found",
		},
		{rule: "no transcript is told before the format", path: at("/api/v1/recordings/%d/transcript?format=xml", failed), status: 404, code: "not_found"},
		{rule: "no recording", path: "/api/v1/recordings/999999999/transcript", status: 404, code: "not_found"},
	})
	keeps(t, eve, []row{{rule: "another account's is 404 (differs: 403)", path: path, status: 404, code: "not_found"}})
	contractOfTimes(t, ada)
}

// contractOfTimes is what engines do not tell: segments, or when they begin.
func contractOfTimes(t *testing.T, ada *servertest.Client) {
	whole := object{"format": "json", "kind": "segments", "duration": number}
	words := finished(t, ada, map[string]string{"initial_prompt": "words"})
	untimed := finished(t, ada, map[string]string{"initial_prompt": "untimed"})
	keeps(t, ada, []row{
		{rule: "times are made of the words where there are no segments (H-064)", path: at("%d/transcript", words), want: whole.with(object{"segments": []any{
			some{"text": "Good morning.", "start_time": 0, "end_time": 1}, some{"text": "How are you?", "start_time": 2, "end_time": 2.8},
		}})},
		{rule: "and subtitles of those", path: at("%d/transcript?format=srt", words), want: some{"format": "srt"}},
		{rule: "a segment without times is kept (H-064)", path: at("%d/transcript", untimed), want: whole.with(object{"segments": []any{
			some{"text": "A", "start_time": 0}, some{"text": "B", "start_time": nil, "end_time": nil},
		}})},
		{rule: "it is in no window", path: at("%d/transcript?start=0", untimed), want: whole.with(object{"segments": []any{some{"text": "A"}}})},
		{rule: "and no subtitles are made", path: at("%d/transcript?format=vtt", untimed), status: 400, code: "no_timings"},
	}, "/api/v1/recordings/")
}

// taggedRoutes are the answers with an ETag, by the letter that their tags begin with.
var taggedRoutes = map[string]string{"r": "", "t": "/transcript", "s": "/summary", "n": "/notes", "e": "/events", "k": "/speakers"}

func contractOfETags(t *testing.T, w *world) {
	ada, eve := w.account(t, "etag"), w.account(t, "etag.eve")
	id := finished(t, ada, map[string]string{"title": "Alpha"})
	base := at("/api/v1/recordings/%d", id)
	for prefix, route := range taggedRoutes {
		t.Run("the tag of "+base+route, func(t *testing.T) {
			fresh := ada.Get(base + route)
			tag := fresh.Header.Get("ETag")
			expectTag(t, tag, prefix, id)
			if cache := fresh.Header.Get("Cache-Control"); cache != "private, no-cache" {
				t.Errorf("Cache-Control is %q", cache)
			}
			for _, known := range []string{tag, strings.TrimPrefix(tag, "W/"), `"x", ` + tag, "*"} {
				again := ada.Call(http.MethodGet, base+route, nil, http.Header{"If-None-Match": {known}})
				if again.Status != http.StatusNotModified || len(again.Body) != 0 || again.Header.Get("ETag") != tag {
					t.Errorf("If-None-Match %s: got %v with ETag %q, want an empty 304 with %s", known, again, again.Header.Get("ETag"), tag)
				}
			}
			if other := ada.Call(http.MethodGet, base+route, nil, http.Header{"If-None-Match": {`W/"r1-2-3"`}}); other.Status != http.StatusOK {
				t.Errorf("another tag: got %v, want 200", other)
			}
			hidden := eve.Call(http.MethodGet, base+route, nil, http.Header{"If-None-Match": {"*"}})
			if hidden.Status != http.StatusNotFound || hidden.Header.Get("ETag") != "" {
				t.Errorf("another account: got %v with ETag %q, want 404 without", hidden, hidden.Header.Get("ETag"))
			}
		})
	}
	t.Run("each query has its own tag", func(t *testing.T) {
		if whole, minimal := ada.Get(base).Header.Get("ETag"), ada.Get(base+"?format=minimal").Header.Get("ETag"); whole == minimal {
			t.Errorf("both have %s", whole)
		}
	})
	t.Run("the name of a folder is part of the tag", func(t *testing.T) {
		folder := recordingID(t, ada.Send(http.MethodPost, "/api/v1/folders", object{"name": "Work"}).JSON(t))
		ada.Send(http.MethodPatch, base, object{"folder_id": folder})
		before := ada.Get(base).Header.Get("ETag")
		ada.Send(http.MethodPatch, at("/api/v1/folders/%d", folder), object{"name": "Play"})
		if answer := ada.Call(http.MethodGet, base, nil, http.Header{"If-None-Match": {before}}); answer.Status != http.StatusOK {
			t.Errorf("after the folder was renamed: %v, want 200", answer)
		}
	})
	for _, path := range []string{base + "/status", "/api/v1/recordings", "/api/v1/recordings/changes", "/api/v1/search?q=hello"} {
		if tag := ada.Get(path).Header.Get("ETag"); tag != "" {
			t.Errorf("%s has the ETag %s, want none", path, tag)
		}
	}
	contractOfMatches(t, w, base)
}

// contractOfMatches is If-Match, which the contract has not: a change that was not seen is not overwritten.
func contractOfMatches(t *testing.T, w *world, base string) {
	ada := w.token(t, "etag")
	for prefix, route := range taggedRoutes {
		tag := ada.Get(base + route).Header.Get("ETag")
		for _, change := range []row{
			{method: "PATCH", path: base, body: object{"title": "by " + prefix}},
			{method: "PUT", path: base + "/notes", body: object{"notes": "by " + prefix}},
			{method: "PUT", path: base + "/summary", body: object{"summary": "by " + prefix}},
		} {
			change.header = http.Header{"If-Match": {tag}}
			if answer := change.send(t, ada); answer.Status != http.StatusOK {
				t.Errorf("%s with the present tag of %q: %v, want 200", change.path, route, answer)
			}
			change.body = object{"title": "lost", "notes": "lost", "summary": "lost"}
			answer := change.send(t, ada)
			if answer.Status != http.StatusPreconditionFailed || answer.Code() != "precondition_failed" {
				t.Errorf("%s with a stale tag: %v, want 412 precondition_failed", change.path, answer)
			}
			tag = ada.Get(base + route).Header.Get("ETag")
		}
	}
	if strings.Contains(string(ada.Get(base).Body), "lost") {
		t.Error("a refused change was made")
	}
}

func expectTag(t *testing.T, tag, prefix string, id int64) {
	t.Helper()
	shape := pattern("a weak tag", fmt.Sprintf(`W/"%s%d-\d{16}-[0-9a-f]{16}"`, prefix, id))
	if !shape.holds(tag) {
		t.Errorf("the ETag is %s", tag)
	}
}
