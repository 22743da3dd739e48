package tests

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/tests/servertest"
)

// hit is what a search finds; a segment has its place, and everything else has none.
func hit(id int64, field, words string, score float64, spans ...any) object {
	return object{
		"recording_id": id, "title": text, "meeting_date": pattern("a UTC time with Z, to the second", `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`),
		"field": field, "segment_index": nil, "start_time": nil, "end_time": nil, "speaker": nil,
		"text": words, "match_spans": spans, "score": score,
	}
}

func contractOfSearch(t *testing.T, w *world) {
	ada, eve := w.account(t, "search"), w.account(t, "search.eve")
	folder := recordingID(t, ada.Send(http.MethodPost, "/api/v1/folders", object{"name": "Work"}).JSON(t))
	tag := recordingID(t, ada.Send(http.MethodPost, "/api/v1/tags", object{"name": "urgent"}).JSON(t))
	talk := finished(t, ada, map[string]string{
		"title": "Budget talk", "participants": "Ann Budget", "notes": "a budget\n\nsecond line, 100% sure", "meeting_date": "2024-03-01T10:00:00.5",
		"folder_id": fmt.Sprint(folder), "tag_id": fmt.Sprint(tag),
	})
	ada.Send(http.MethodPut, at("/api/v1/recordings/%d/summary", talk), object{"summary": "# About\n\nthe budget"})
	plain := finished(t, ada, map[string]string{"title": "Plain", "initial_prompt": "plain", "meeting_date": "2024-03-02"})
	answer := func(query string, hits ...any) object {
		return object{"query": query, "mode_used": "keyword", "page": 1, "has_more": false, "results": append([]any{}, hits...)}
	}
	segment := hit(talk, "transcript", "The budget is 100% agreed.", 0.7, []any{4, 10}).with(object{
		"segment_index": 2, "start_time": 2, "end_time": 2.75, "speaker": "SPEAKER_00",
	})
	title, summary := hit(talk, "title", "Budget talk", 1, []any{0, 6}), hit(talk, "summary", "the budget", 0.9, []any{4, 10})
	people, note := hit(talk, "participants", "Ann Budget", 0.8, []any{4, 10}), hit(talk, "notes", "a budget", 0.8, []any{2, 8})
	all := answer("budget", title, summary, people, note, segment)
	only := func(hits ...any) object { return answer("budget", hits...) }
	bad := func(rule, query string) row {
		return row{rule: rule, path: query, status: 400, code: "invalid_parameter"}
	}
	keeps(t, ada, []row{
		{rule: "every field by its weight, in any case, places in code points", path: "?q=BUDGET", want: all.with(object{"query": "BUDGET"})},
		{rule: "q is trimmed", path: "?q=%20budget%20", want: all},
		{rule: "mode keyword", path: "?q=budget&mode=keyword", want: all},
		{rule: "mode auto is keyword without an index of meanings", path: "?q=budget&mode=auto", want: all},
		{rule: "mode semantic without an index of meanings", path: "?q=budget&mode=semantic", status: 409, code: "semantic_unavailable"},
		bad("another mode", "?q=budget&mode=fuzzy"),
		bad("no q", ""), bad("q of one character", "?q=b"), bad("q that is blank", "?q=%20%20%20"),
		bad("q of 501 characters", "?q="+strings.Repeat("b", 501)),
		{rule: "q of 500 characters", path: "?q=" + strings.Repeat("b", 500), want: answer(strings.Repeat("b", 500))},
		{rule: "fields", path: "?q=budget&fields=title,%20notes", want: only(title, note)},
		bad("an unknown field", "?q=budget&fields=title,mood"), bad("empty fields", "?q=budget&fields="),
		{rule: "scope own", path: "?q=budget&scope=own", want: all},
		{rule: "scope all", path: "?q=budget&scope=all", want: all},
		{rule: "scope shared is empty", path: "?q=budget&scope=shared", want: only()},
		bad("an unknown scope", "?q=budget&scope=mine"),
		{rule: "recording_ids", path: fmt.Sprintf("?q=budget&recording_ids=%d,%d", plain, talk), want: all},
		{rule: "recording_ids of others", path: fmt.Sprintf("?q=budget&recording_ids=%d", plain), want: only()},
		bad("recording_ids that are no numbers", "?q=budget&recording_ids=1,x"),
		{rule: "tag_id", path: fmt.Sprintf("?q=budget&tag_id=%d", tag), want: all},
		{rule: "another tag_id", path: "?q=budget&tag_id=999999999", want: only()},
		{rule: "a tag_id that is no number is ignored", path: "?q=budget&tag_id=x", want: all},
		{rule: "folder_id", path: fmt.Sprintf("?q=budget&folder_id=%d", folder), want: all},
		{rule: "folder_id=none", path: "?q=budget&folder_id=none", want: only()},
		bad("a folder_id that is neither", "?q=budget&folder_id=x"),
		{rule: "speaker, the whole name in any case, forces the transcript", path: "?q=budget&speaker=speaker_00&fields=title", want: only(segment)},
		{rule: "another speaker", path: "?q=budget&speaker=SPEAKER_01", want: only()},
		{rule: "date_from by the meeting", path: "?q=budget&date_from=2024-03-02", want: only()},
		{rule: "a bare date_to is its whole day", path: "?q=budget&date_to=2024-03-01", want: all},
		{rule: "date_field created_at", path: "?q=budget&date_field=created_at&date_from=2024-03-02", want: all},
		bad("another date_field", "?q=budget&date_field=updated_at"), bad("date_from that is no date", "?q=budget&date_from=x"),
		bad("date_to that is no date", "?q=budget&date_to=x"),
	}, "/api/v1/search")
	keeps(t, eve, []row{{rule: "another account's are not found", path: "/api/v1/search?q=budget", want: only()}})
	contractOfTerms(t, ada, talk, plain)
}

// contractOfTerms is what stands in q, and in how many pages the answer comes.
func contractOfTerms(t *testing.T, ada *servertest.Client, talk, plain int64) {
	half := hit(talk, "title", "Budget talk", 1, []any{0, 6}, []any{7, 11})
	page := func(number int, more bool, hits ...any) object {
		return object{"query": "budget", "mode_used": "keyword", "page": number, "has_more": more, "results": append([]any{}, hits...)}
	}
	finds := func(rule, q string, hits ...any) row {
		return row{rule: rule, path: "?q=" + url.QueryEscape(q), want: object{
			"query": q, "mode_used": "keyword", "page": 1, "has_more": false, "results": append([]any{}, hits...),
		}}
	}
	second := hit(plain, "transcript", "Second line, 100% of it.", 0.7, []any{13, 17})
	agreed := hit(talk, "transcript", "The budget is 100% agreed.", 0.7, []any{14, 18}).with(object{
		"segment_index": 2, "start_time": 2, "end_time": 2.75, "speaker": "SPEAKER_00",
	})
	sure := hit(talk, "notes", "second line, 100% sure", 0.8, []any{13, 17})
	bad := func(rule, query string) row {
		return row{rule: rule, path: query, status: 400, code: "invalid_parameter"}
	}
	keeps(t, ada, []row{
		finds("a percent sign is a letter; a plain transcript by its lines", "100%", sure, second, agreed),
		finds("an underscore is a letter", "1_0%"), finds("a backslash is a letter", `100\%`),
		finds("words may be in different fields, all must be there", "talk nowhere"),
		finds("a phrase is one term, repetitions drop", `"budget talk" BUDGET budget "budget talk"`, half.with(object{"match_spans": each{of: []any{whole, whole}}}),
			some{"score": 0.45}, some{"score": 0.4}, some{"score": 0.4}, some{"score": 0.35}),
		finds("names of JSON members are not found", "start_time"),
		{rule: "limit and has_more", path: "?q=budget&limit=1", want: page(1, true, some{"field": "title"})},
		{rule: "page", path: "?q=budget&limit=2&page=3", want: page(3, false, some{"field": "transcript"})},
		{rule: "a page beyond the end", path: "?q=budget&page=9", want: page(9, false)},
		{rule: "limit=50", path: "?q=budget&limit=50", want: page(1, false, some{}, some{}, some{}, some{}, some{})},
		{rule: "a limit that is no number is 20", path: "?q=budget&limit=x", want: page(1, false, some{}, some{}, some{}, some{}, some{})},
		{rule: "a page that is no number is 1", path: "?q=budget&page=x", want: page(1, false, some{}, some{}, some{}, some{}, some{})},
		bad("limit=0", "?q=budget&limit=0"), bad("limit=51", "?q=budget&limit=51"), bad("page=0", "?q=budget&page=0"),
	}, "/api/v1/search")
	t.Run("a long line is cut to 400 code points around the match", func(t *testing.T) {
		long := strings.Repeat("é", 600) + " needle " + strings.Repeat("ß", 600)
		ada.Send(http.MethodPut, at("/api/v1/recordings/%d/notes", plain), object{"notes": long})
		body := ada.Get("/api/v1/search?q=needle").JSON(t)
		found := body["results"].([]any)[0].(map[string]any)
		shown := []rune(found["text"].(string))
		span := found["match_spans"].([]any)[0].([]any)
		from, to := int(span[0].(float64)), int(span[1].(float64))
		if len(shown) > 400 || shown[0] != '…' || shown[len(shown)-1] != '…' || string(shown[from:to]) != "needle" {
			t.Errorf("%d code points, the match %q", len(shown), string(shown[from:to]))
		}
	})
}
