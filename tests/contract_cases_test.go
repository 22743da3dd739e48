package tests

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// oddIDs are numbers that are no id of anything, as clients and attackers write them.
var oddIDs = []string{"2147483648", "9223372036854775807", "9223372036854775808", "-1", "0", "1e3", "1.5", "1e400"}

// oddIDContract holds ids in queries and in JSON to what ids in paths are held to (H-071): 400, 404, or passed over
// where the contract passes over what it does not know; always JSON, never a failure.
func oddIDContract(t *testing.T, r *rig) {
	t.Helper()
	client := r.client(t, r.ada)
	for _, id := range oddIDs {
		for _, row := range []struct{ method, path, body string }{
			{"GET", "/api/v1/recordings?tag_id=%s", ""},
			{"GET", "/api/v1/recordings?folder_id=%s", ""},
			{"GET", "/api/v1/search?q=hello&tag_id=%s", ""},
			{"GET", "/api/v1/search?q=hello&folder_id=%s", ""},
			{"GET", "/api/v1/search?q=hello&recording_ids=%s", ""},
			{"PATCH", "/api/v1/recordings/{again}", `{"folder_id":%s}`},
			{"POST", "/api/v1/recordings/{again}/tags", `{"tag_ids":[%s]}`},
			{"POST", "/api/v1/recordings/{again}/tags", `{"tag_id":%s}`},
			{"PUT", "/api/v1/recordings/{again}/tags", `{"tag_ids":[%s]}`},
			{"PATCH", "/api/v1/recordings/batch", `{"recording_ids":[%s],"updates":{"title":"x"}}`},
			{"DELETE", "/api/v1/recordings/batch", `{"recording_ids":[%s]}`},
			{"POST", "/api/v1/recordings/batch/transcribe", `{"recording_ids":[%s]}`},
			{"POST", "/api/v1/tags", `{"name":"odd","group_id":%s}`},
			{"POST", "/api/v1/folders", `{"name":"odd","naming_template_id":%s}`},
			{"DELETE", "/api/v1/recordings/{again}/tags/%s", ""},
			{"DELETE", "/api/v1/recordings/{again}/external-refs/%s", ""},
			{"DELETE", "/api/v1/shares/%s", ""},
		} {
			path, body := row.path, row.body
			if strings.Contains(path, "%s") {
				path = fmt.Sprintf(path, id)
			} else {
				body = fmt.Sprintf(body, id)
			}
			answer := client.Call(row.method, r.fill(path), strings.NewReader(body), http.Header{"Content-Type": {"application/json"}})
			answer.JSON(t)
			if answer.Status >= http.StatusInternalServerError || answer.Status == http.StatusUnauthorized {
				t.Errorf("%s %s %s: %v", row.method, path, body, answer)
			}
		}
	}
	r.holds(t, r.ada, []rule{{says: "nothing came of it", method: "GET", path: "/api/v1/recordings/{again}", status: 200, values: map[string]any{"title": "again", "folder_id": nil, "tags.len": 0}}})
}

// timeContract shows that a time which is read and written back does not move, whatever the client's zone (H-073).
func timeContract(t *testing.T, r *rig) {
	t.Helper()
	const path = "/api/v1/recordings/{again}"
	var rules []rule
	for sent, kept := range map[string]string{
		"2024-02-29T23:30:15":        "2024-02-29T23:30:15",
		"2024-02-29T18:30:15-05:00":  "2024-02-29T23:30:15",
		"2024-03-01T05:00:15+05:30":  "2024-02-29T23:30:15",
		"2026-03-29T02:30:00":        "2026-03-29T02:30:00",
		"2026-03-05T06:13:46.123456": "2026-03-05T06:13:46.123456",
		"2026-03-05":                 "2026-03-05T00:00:00",
	} {
		rules = append(rules, rule{says: "sent as " + sent, method: "PATCH", path: path, body: `{"meeting_date":"` + sent + `"}`, status: 200, values: map[string]any{"recording.meeting_date": kept}})
		for range 3 {
			rules = append(rules,
				rule{says: "and read", method: "GET", path: path, status: 200, values: map[string]any{"meeting_date": kept}, keep: "time:meeting_date"},
				rule{says: "and written back", method: "PATCH", path: path, body: `{"meeting_date":"{time}"}`, status: 200, values: map[string]any{"recording.meeting_date": kept}})
		}
	}
	for _, sent := range []string{"2026-02-29", "2026-13-01T00:00:00", "2026-03-05T25:00:00", "yesterday"} {
		rules = append(rules, rule{says: "no time: " + sent, method: "PATCH", path: path, body: `{"meeting_date":"` + sent + `"}`, status: 400, code: "invalid_parameter"})
	}
	rules = append(rules, rule{says: "the last second of a day", method: "PATCH", path: path, body: `{"meeting_date":"2024-02-29T23:59:59"}`, status: 200})
	for query, count := range map[string]int{
		"date_from=2024-02-29T23:59:59&date_to=2024-02-29T23:59:59": 1, "date_from=2024-02-29&date_to=2024-02-29": 1,
		"date_from=2024-03-01": 0, "date_to=2024-02-28": 0,
		"date_from=2024-02-29T18:59:59-05:00&date_to=2024-03-01T05:29:59%2B05:30": 1,
	} {
		all := "/api/v1/recordings?date_field=meeting_date&q=again&" + query
		rules = append(rules, rule{says: "filtered by " + query, method: "GET", path: all, status: 200, values: map[string]any{"recordings.len": count}})
	}
	r.holds(t, r.ada, rules)
}
