package tests

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/servertest"
)

func contractOfTheFeed(t *testing.T, w *world) {
	ada, eve := w.account(t, "feed"), w.account(t, "feed.eve")
	first, second := finished(t, ada, map[string]string{"title": "one"}), finished(t, ada, map[string]string{"title": "two"})
	gone := finished(t, ada, map[string]string{"title": "three"})
	before := follow(t, ada, "", first, second, gone)
	ada.Send(http.MethodDelete, at("/api/v1/recordings/%d", gone), nil)
	follow(t, ada, before, gone) // a pass that begins now begins after the deletion
	upsert := func(id int64) object { return object{"type": "upsert", "recording": listItem.with(object{"id": id})} }
	page := object{"changes": []any{}, "next_cursor": text, "has_more": false}
	caughtUp := follow(t, ada, "", first, second)
	keeps(t, ada, []row{
		{rule: "a full pass: the present recordings, no deletions from before it", path: "", want: page.with(object{"changes": []any{upsert(first), upsert(second)}})},
		{rule: "nothing new is an empty page with a cursor", path: "?cursor=" + caughtUp, want: page},
		{rule: "a page has more", path: "?limit=1", want: page.with(object{"changes": []any{upsert(first)}, "has_more": true})},
		{rule: "a limit of 500", path: "?limit=500", want: page.with(object{"changes": each{some{"type": "upsert"}}})},
		{rule: "a limit that is no number is 100", path: "?limit=x", want: page.with(object{"changes": each{some{"type": "upsert"}}})},
		{rule: "limit=0", path: "?limit=0", status: 400, code: "invalid_parameter"},
		{rule: "limit=501", path: "?limit=501", status: 400, code: "invalid_parameter"},
		{rule: "a negative limit", path: "?limit=-1", status: 400, code: "invalid_parameter"},
		{rule: "a cursor that is none", path: "?cursor=abc", status: 400, code: "invalid_parameter"},
		{rule: "scope own", path: "?scope=own", want: page.with(object{"changes": []any{upsert(first), upsert(second)}})},
		{rule: "scope all is own where nothing is shared", path: "?scope=all", want: page.with(object{"changes": []any{upsert(first), upsert(second)}})},
		{rule: "scope shared is empty where nothing is shared", path: "?scope=shared", want: page},
		{rule: "an unknown scope", path: "?scope=mine", status: 400, code: "invalid_parameter"},
	}, "/api/v1/recordings/changes")
	keeps(t, eve, []row{{rule: "another account's are not told", path: "/api/v1/recordings/changes", want: page}})

	t.Run("pages go on where they ended", func(t *testing.T) {
		half := ada.Get("/api/v1/recordings/changes?limit=1").JSON(t)["next_cursor"].(string)
		expectForm(t, ada.Get("/api/v1/recordings/changes?cursor="+url.QueryEscape(half)), page.with(object{"changes": []any{upsert(second)}}))
	})
	t.Run("a change, then a deletion, each once", func(t *testing.T) {
		ada.Send(http.MethodPatch, at("/api/v1/recordings/%d", first), object{"title": "one, again"})
		ada.Send(http.MethodDelete, at("/api/v1/recordings/%d", second), nil)
		next := follow(t, ada, caughtUp, first, second)
		expectForm(t, ada.Get("/api/v1/recordings/changes?cursor="+caughtUp), page.with(object{"changes": []any{
			object{"type": "upsert", "recording": listItem.with(object{"id": first, "title": "one, again"})},
			object{"type": "delete", "id": second, "deleted_at": micro, "reason": "deleted"},
		}}))
		expectForm(t, ada.Get("/api/v1/recordings/changes?cursor="+next), page)
	})
	contractOfMoves(t, ada, first)
}

// follow waits until everything has settled: the page after the cursor ends with the last of the recordings that have
// changed. It returns the cursor behind it.
func follow(t *testing.T, client *servertest.Client, cursor string, changed ...int64) (next string) {
	t.Helper()
	servertest.Eventually(t, 10*time.Second, "the changes settle", func() bool {
		body := client.Get("/api/v1/recordings/changes?cursor=" + cursor).JSON(t)
		next, _ = body["next_cursor"].(string)
		list, _ := body["changes"].([]any)
		return len(list) == len(changed)
	})
	return next
}

// contractOfMoves is what moves updated_at, and so appears in the feed.
func contractOfMoves(t *testing.T, ada *servertest.Client, id int64) {
	base := at("/api/v1/recordings/%d", id)
	tag := recordingID(t, ada.Send(http.MethodPost, "/api/v1/tags", object{"name": "moves"}).JSON(t))
	folder := recordingID(t, ada.Send(http.MethodPost, "/api/v1/folders", object{"name": "moves"}).JSON(t))
	moment := func() string { return ada.Get(base).JSON(t)["updated_at"].(string) }
	for _, r := range []row{
		{rule: "title", method: "PATCH", path: base, body: object{"title": "moved"}},
		{rule: "participants", method: "PATCH", path: base, body: object{"participants": "moved"}},
		{rule: "meeting_date", method: "PATCH", path: base, body: object{"meeting_date": "2001-02-03"}},
		{rule: "is_inbox", method: "PATCH", path: base, body: object{"is_inbox": false}},
		{rule: "is_highlighted", method: "PATCH", path: base, body: object{"is_highlighted": true}},
		{rule: "is_archived", method: "PATCH", path: base, body: object{"is_archived": true}},
		{rule: "folder_id", method: "PATCH", path: base, body: object{"folder_id": folder}},
		{rule: "notes", method: "PUT", path: base + "/notes", body: object{"notes": "moved"}},
		{rule: "summary", method: "PUT", path: base + "/summary", body: object{"summary": "moved"}},
		{rule: "a tag more", method: "POST", path: base + "/tags", body: object{"tag_ids": []int64{tag}}},
		{rule: "a tag less", method: "DELETE", path: fmt.Sprintf("%s/tags/%d", base, tag)},
		{rule: "a reference", method: "POST", path: base + "/external-refs", body: object{"system": "crm", "kind": "deal", "ref": "1"}},
		{rule: "the audio", method: "POST", path: base + "/delete-audio"},
	} {
		t.Run(r.rule+" moves updated_at", func(t *testing.T) {
			before := moment()
			if answer := r.send(t, ada); answer.Status >= 300 {
				t.Fatalf("%s %s: %v", r.method, r.path, answer)
			}
			if after := moment(); after <= before {
				t.Errorf("updated_at was %s and is %s", before, after)
			}
		})
	}
}
