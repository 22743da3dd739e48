package tests

import (
	"testing"

	"github.com/stenometer/stenometer/tests/servertest"
)

// statsShapes is 3.10 of the older file.
func statsShapes() map[string]shape {
	return map[string]shape{
		"":           "recordings:object storage:object queue:object tokens:object transcription:object activity:object",
		"recordings": "total:int completed:int processing:int pending:int failed:int",
		"storage":    "used_bytes:int used_human:text",
		"queue":      "jobs_queued:int jobs_processing:int",
		"tokens":     "used_this_month:int budget:int? percentage:number?",
		"transcription": "used_this_month_seconds:int used_this_month_minutes:int budget_seconds:int? budget_minutes:int? " +
			"percentage:number? estimated_cost:number",
		"activity": "recordings_today:int last_transcription:N?",
	}
}

// statsContract is the contract's rows of the dashboard's figures (2.2 and 3.10 of the older file).
func statsContract(t *testing.T, r *rig) {
	t.Helper()
	r.holds(t, r.ada, []rule{
		{
			says: "the account's own figures", method: "GET", path: "/api/v1/stats", status: 200, shapes: statsShapes(),
			values: map[string]any{
				"recordings.total": 4, "recordings.completed": 4, "recordings.processing": 0, "recordings.pending": 0, "recordings.failed": 0,
				"queue.jobs_queued": 0, "queue.jobs_processing": 0, "tokens.budget": nil, "transcription.budget_seconds": nil,
			},
		},
		{says: "scope=user is that", method: "GET", path: "/api/v1/stats?scope=user", status: 200, shapes: statsShapes(), values: map[string]any{"recordings.total": 4}},
		{says: "a scope that nobody knows shows no one else's (ours)", method: "GET", path: "/api/v1/stats?scope=everything", status: 200, shapes: statsShapes(), values: map[string]any{"recordings.total": 4}},
		{says: "scope=all is not for everybody", method: "GET", path: "/api/v1/stats?scope=all", status: 403, code: "insufficient_permission", shapes: map[string]shape{"": refusedRole}},
	})
	r.holds(t, r.eve, []rule{
		{
			says: "who has nothing has zeros", method: "GET", path: "/api/v1/stats?scope=everything", status: 200, shapes: statsShapes(),
			values: map[string]any{"recordings.total": 0, "storage.used_bytes": 0, "storage.used_human": "0.0 B", "activity.last_transcription": nil, "activity.recordings_today": 0},
		},
	})
	t.Run("the figures of storage and of the last transcription", func(t *testing.T) {
		client := r.client(t, r.ada)
		stats, listed := client.Get("/api/v1/stats").JSON(t), client.Get("/api/v1/recordings").JSON(t)
		var sum float64
		var last string
		for _, item := range found(listed, "recordings[]") {
			entry, _ := item.(map[string]any)
			size, _ := entry["file_size"].(float64)
			completed, _ := entry["completed_at"].(string)
			sum, last = sum+size, max(last, completed)
		}
		if used := found(stats, "storage.used_bytes"); used[0] != sum || sum == 0 {
			t.Errorf("used_bytes is %v, want %v", used, sum)
		}
		if got := found(stats, "activity.last_transcription"); got[0] != last || last == "" {
			t.Errorf("last_transcription is %v, want %v", got, last)
		}
	})
	r.holds(t, servertest.CreateToken(t, r.environment, "ada@example.org", "write"), []rule{
		{says: "figures take read", method: "GET", path: "/api/v1/stats", status: 403, code: "insufficient_scope", shapes: map[string]shape{"": refusedScope}},
	})
}
