package tests

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/asrtest"
	"github.com/stenometer/stenometer/tests/servertest"
)

// Clients that were written for Speakr's API work by changing the base address: each row of these tables is a row of
// its contract, sent to the built server over HTTP. Where this server answers otherwise the row says so, and
// docs/user-guide/differences.md tells why.
func TestTheContractOfRecordings(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, w *world) {
		w.provider.Always(spoken)
		for _, section := range []struct {
			name string
			test func(*testing.T, *world)
		}{
			{"list", contractOfLists},
			{"detail", contractOfDetails},
			{"conditional requests", contractOfETags},
			{"transcript", contractOfTranscripts},
			{"feed", contractOfTheFeed},
			{"search", contractOfSearch},
			{"patch", contractOfPatches},
			{"notes and summary", contractOfTexts},
			{"batch", contractOfBatches},
			{"delete", contractOfDeletions},
			{"audio", contractOfAudio},
			{"upload", contractOfUploads},
			{"upload again", contractOfReplays},
			{"transcribe", contractOfTranscribing},
			{"status", contractOfStatuses},
		} {
			t.Run(section.name, func(t *testing.T) {
				t.Parallel()
				section.test(t, w)
			})
		}
	})
}

// spoken is what the transcription service hears; the recording's initial_prompt asks for something else.
func spoken(call asrtest.Call) asrtest.Reply {
	switch call.Fields.Get("initial_prompt") {
	case "plain":
		return asrtest.Plain("First line.\nSecond line, 100% of it.")
	case "words": // H-064
		return asrtest.Reply{Body: `{"text":"Good morning. How are you?","segments":[],"words":[
			{"word":"Good","start":0,"end":0.4},{"word":"morning","start":0.5,"end":1},
			{"word":"How","start":2,"end":2.2},{"word":"are","start":2.2,"end":2.4},{"word":"you","start":2.4,"end":2.8}]}`}
	case "untimed":
		return asrtest.Reply{Body: `{"text":"A B","segments":[{"start":0,"end":1,"text":"A"},{"start":null,"end":2,"text":"B"}]}`}
	case "hold":
		return asrtest.Reply{Hold: true}
	case "fail":
		return asrtest.Fails(http.StatusBadRequest)
	}
	return asrtest.Segments(
		asrtest.Segment{Start: 0, End: 1.5, Text: "Hello", Speaker: "SPEAKER_00"},
		asrtest.Segment{Start: 1.3, End: 1.999, Text: "Hi é <b>", Speaker: "SPEAKER_01"},
		asrtest.Segment{Start: 2, End: 2.75, Text: "The budget is 100% agreed.", Speaker: "SPEAKER_00"},
	)
}

var (
	refObject = object{
		"id": whole, "system": text, "kind": text, "ref": text, "url": orNull{text}, "label": orNull{text}, "created_at": micro,
	}
	// listItem is a recording in lists and in the feed, as its owner sees it. error_code is ours.
	listItem = object{
		"id": whole, "title": orNull{text}, "status": text, "created_at": naive, "completed_at": orNull{naive},
		"meeting_date": orNull{naive}, "updated_at": micro, "file_size": whole, "original_filename": orNull{text},
		"participants": orNull{text}, "is_inbox": boolean, "is_highlighted": boolean, "is_archived": boolean,
		"audio_available": boolean, "audio_duration": orNull{number}, "has_transcription": boolean, "has_summary": boolean,
		"processing_time_seconds": orNull{number}, "transcription_duration_seconds": orNull{whole},
		"summarization_duration_seconds": orNull{whole}, "folder_id": orNull{whole},
		"folder": orNull{object{"id": whole, "name": text}}, "deletion_exempt": boolean, "keep_audio_only": boolean,
		"error_message": orNull{text}, "error_code": orNull{text},
		"tags": each{object{"id": whole, "name": text, "color": text}}, "external_refs": each{refObject},
		"is_shared": false, "owner": nil, "share": nil,
	}
	pageObject = object{"page": whole, "per_page": whole, "total": whole, "total_pages": whole, "has_next": boolean, "has_prev": boolean}
)

// listOf is an answer that lists these recordings, in this order.
func listOf(ids ...int64) object {
	list := []any{}
	for _, id := range ids {
		list = append(list, listItem.with(object{"id": id}))
	}
	return object{"recordings": list, "pagination": pageObject.with(object{"total": len(ids)})}
}

func contractOfLists(t *testing.T, w *world) {
	ada := w.account(t, "list")
	folder := recordingID(t, ada.Send(http.MethodPost, "/api/v1/folders", object{"name": "Work"}).JSON(t))
	tag := recordingID(t, ada.Send(http.MethodPost, "/api/v1/tags", object{"name": "urgent"}).JSON(t))
	done := finished(t, ada, map[string]string{
		"title": "Alpha 100%", "participants": "Ann, Bob", "meeting_date": "2024-03-01T10:00:00", "folder_id": fmt.Sprint(folder),
		"tag_id": fmt.Sprint(tag), "external_refs": `[{"system":"crm","kind":"deal","ref":"D-1"}]`,
	})
	failed := finished(t, ada, map[string]string{"title": "Beta", "meeting_date": "2024-03-02T23:30:15", "initial_prompt": "fail"})
	held := waiting(t, ada, map[string]string{"title": "Gamma", "meeting_date": "2024-03-03T00:00:00", "initial_prompt": "hold"})
	ada.AwaitStatus(held, 30*time.Second, "PROCESSING")
	ada.Send(http.MethodPatch, at("/api/v1/recordings/%d", failed), object{"is_archived": true, "is_highlighted": true, "is_inbox": false})
	all := listOf(held, failed, done)
	keeps(t, ada, []row{
		{rule: "newest first, archived ones too, and a page object", path: "?", want: object{
			"recordings": []any{
				listItem.with(object{"id": held, "status": "PROCESSING", "completed_at": nil, "has_transcription": false, "error_message": nil}),
				listItem.with(object{"id": failed, "status": "FAILED", "error_message": text, "has_transcription": false, "is_archived": true}),
				listItem.with(object{
					"id": done, "title": "Alpha 100%", "status": "COMPLETED", "has_transcription": true, "error_message": nil,
					"participants": "Ann, Bob", "meeting_date": "2024-03-01T10:00:00", "completed_at": naive, "original_filename": "talk.wav",
					"folder_id": folder, "folder": object{"id": folder, "name": "Work"}, "audio_available": true, "audio_duration": number,
					"tags": []any{object{"id": tag, "name": "urgent", "color": text}}, "is_inbox": true, "is_highlighted": false,
					"external_refs": []any{refObject.with(object{"system": "crm", "kind": "deal", "ref": "D-1", "url": nil, "label": nil})},
				}),
			},
			"pagination": object{"page": 1, "per_page": 25, "total": 3, "total_pages": 1, "has_next": false, "has_prev": false},
		}},
		{rule: "status in any case", path: "?status=Completed", want: listOf(done)},
		{rule: "status failed", path: "?status=failed", want: listOf(failed)},
		{rule: "status processing", path: "?status=processing", want: listOf(held)},
		{rule: "status pending", path: "?status=pending", want: listOf()},
		{rule: "an unknown status keeps all", path: "?status=sleeping", want: all},
		{rule: "q looks in the title in any case", path: "?q=ALPHA", want: listOf(done)},
		{rule: "q looks in the participants", path: "?q=%20bob%20", want: listOf(done)},
		{rule: "a percent sign in q is a letter (differs)", path: "?q=%25", want: listOf(done)},
		{rule: "inbox=true", path: "?inbox=TRUE", want: listOf(held, done)},
		{rule: "inbox with another word is the others", path: "?inbox=false", want: listOf(failed)},
		{rule: "starred", path: "?starred=true", want: listOf(failed)},
		{rule: "archived=true", path: "?archived=true", want: listOf(failed)},
		{rule: "archived with another word", path: "?archived=no", want: listOf(held, done)},
	}, "/api/v1/recordings")
	contractOfOrder(t, ada, done, failed, held)
	contractOfNarrowing(t, ada, tag, folder, done, failed, held)
}

// contractOfNarrowing is the list's parameters of what a recording belongs to.
func contractOfNarrowing(t *testing.T, ada *servertest.Client, tag, folder, done, failed, held int64) {
	all := listOf(held, failed, done)
	since := ada.Get(at("/api/v1/recordings/%d", done)).JSON(t)["updated_at"].(string)
	keeps(t, ada, []row{
		{rule: "tag_id", path: fmt.Sprintf("?tag_id=%d", tag), want: listOf(done)},
		{rule: "a tag_id that is no number is ignored", path: "?tag_id=x", want: all},
		{rule: "tag_id=0 is ignored", path: "?tag_id=0", want: all},
		{rule: "folder_id", path: fmt.Sprintf("?folder_id=%d", folder), want: listOf(done)},
		{rule: "folder_id=none in any case", path: "?folder_id=None", want: listOf(held, failed)},
		{rule: "a folder_id that is neither is ignored", path: "?folder_id=x", want: all},
		{rule: "an owner_id that is no number is ignored", path: "?owner_id=me", want: all},
		{rule: "unknown parameters are ignored", path: "?mood=red", want: all},
		{rule: "scope own", path: "?scope=own", want: all},
		{rule: "scope all is own where nothing is shared", path: "?scope=all", want: all},
		{rule: "scope shared is empty where nothing is shared", path: "?scope=shared", want: listOf()},
		{rule: "an unknown scope", path: "?scope=mine", status: 400, code: "invalid_parameter"},
		{rule: "an unknown date_field", path: "?date_field=deleted_at", status: 400, code: "invalid_parameter"},
		{rule: "updated_since that is no date", path: "?updated_since=yesterday", status: 400, code: "invalid_parameter"},
		{rule: "updated_since is later than, not since", path: "?updated_since=" + since, want: listOf(held, failed)},
		{rule: "external_system alone", path: "?external_system=crm", status: 400, code: "invalid_parameter"},
		{rule: "external_ref alone", path: "?external_ref=D-1", status: 400, code: "invalid_parameter"},
		{rule: "external_system and external_ref", path: "?external_system=crm&external_ref=D-1", want: listOf(done)},
		{rule: "external_kind narrows", path: "?external_system=crm&external_ref=D-1&external_kind=lead", want: listOf()},
	}, "/api/v1/recordings")
}

// contractOfOrder is the list's parameters of pages, dates and order.
func contractOfOrder(t *testing.T, ada *servertest.Client, done, failed, held int64) {
	page := func(list object, page object) object { return list.with(object{"pagination": pageObject.with(page)}) }
	keeps(t, ada, []row{
		{rule: "sort_by title, ascending", path: "?sort_by=title&sort_order=ASC", want: listOf(done, failed, held)},
		{rule: "sort_by title, descending by itself", path: "?sort_by=title", want: listOf(held, failed, done)},
		{rule: "sort_by meeting_date", path: "?sort_by=meeting_date&sort_order=asc", want: listOf(done, failed, held)},
		{rule: "sort_by updated_at", path: "?sort_by=updated_at", want: listOf(failed, held, done)},
		{rule: "sort_by status", path: "?sort_by=status&sort_order=asc", want: listOf(done, failed, held)},
		{rule: "sort_by file_size", path: "?sort_by=file_size", want: listOf(held, failed, done)},
		{rule: "an unknown sort_by is created_at", path: "?sort_by=mood&sort_order=asc", want: listOf(done, failed, held)},
		{rule: "an unknown sort_order is descending", path: "?sort_order=up", want: listOf(held, failed, done)},
		{rule: "date_field meeting_date, date_from", path: "?date_field=meeting_date&date_from=2024-03-02", want: listOf(held, failed)},
		{rule: "a bare date_to is its whole day", path: "?date_field=meeting_date&date_to=2024-03-02", want: listOf(failed, done)},
		{rule: "an offset is converted", path: "?date_field=meeting_date&date_to=2024-03-01T12:00:00%2B02:00", want: listOf(done)},
		{rule: "a date_to in the future by created_at", path: "?date_to=2100-01-01", want: listOf(held, failed, done)},
		{rule: "a date_from that is no date is 400 (differs)", path: "?date_from=x", status: 400, code: "invalid_parameter"},
		{rule: "a date_to that is no date is 400 (differs)", path: "?date_to=x", status: 400, code: "invalid_parameter"},
		{rule: "per_page and page", path: "?per_page=2&page=2", want: page(listOf(done), object{
			"page": 2, "per_page": 2, "total": 3, "total_pages": 2, "has_next": false, "has_prev": true,
		})},
		{rule: "has_next", path: "?per_page=2", want: page(listOf(held, failed), object{"total": 3, "total_pages": 2, "has_next": true, "has_prev": false})},
		{rule: "beyond the end is empty, with has_prev", path: "?page=9", want: page(listOf(), object{
			"page": 9, "total": 3, "total_pages": 1, "has_next": false, "has_prev": true,
		})},
		{rule: "per_page above 100 is 100", path: "?per_page=1000", want: some{"pagination": some{"per_page": 100}}},
		{rule: "per_page that is no number is 25", path: "?per_page=x", want: some{"pagination": some{"per_page": 25}}},
		{rule: "per_page below 1 is 1 (differs)", path: "?per_page=-1", want: some{"pagination": some{"per_page": 1}}},
		{rule: "page below 1 is 1", path: "?page=0", want: some{"pagination": some{"page": 1}}},
		{rule: "page that is no number is 1", path: "?page=one", want: some{"pagination": some{"page": 1}}},
		{rule: "page beyond 64 bits is empty (differs)", path: "?page=99999999999999999999", want: some{"recordings": []any{}}},
		{rule: "nothing found has no pages", path: "?q=nothing", want: page(listOf(), object{"total": 0, "total_pages": 0, "has_next": false})},
	}, "/api/v1/recordings")
}

// detailItem is one recording, with its three texts. error_message and error_code are ours where it has not failed.
func detailItem() object {
	return listItem.without("has_transcription", "has_summary", "is_shared", "owner", "share").with(object{
		"mime_type": orNull{text}, "events": each{some{}}, "transcription": orNull{text}, "summary": orNull{text}, "notes": orNull{text},
		"duplicate_info": orNull{object{"total_copies": whole, "copies": each{object{"id": whole, "title": text, "created_at": naive, "is_self": boolean}}}},
	})
}

func contractOfDetails(t *testing.T, w *world) {
	ada, eve := w.account(t, "detail"), w.account(t, "detail.eve")
	id := finished(t, ada, map[string]string{"title": "Alpha", "notes": "mine", "meeting_date": "2026-03-05T09:43:46.123456+03:30"})
	path := at("/api/v1/recordings/%d", id)
	full := detailItem().with(object{
		"id": id, "title": "Alpha", "notes": "mine", "summary": nil, "mime_type": "audio/wav", "duplicate_info": nil, "events": []any{},
		"meeting_date": "2026-03-05T06:13:46.123456", "transcription": "[SPEAKER_00]: Hello\n[SPEAKER_01]: Hi é <b>\n[SPEAKER_00]: The budget is 100% agreed.",
	})
	minimal := full.without("transcription", "summary", "notes")
	keeps(t, ada, []row{
		{rule: "the full form, its transcription as text, an offset converted to UTC", path: "", want: full},
		{rule: "format=minimal leaves the texts out", path: "?format=minimal", want: minimal},
		{rule: "another format is full", path: "?format=Minimal", want: full},
		{rule: "include names the texts", path: "?include=notes,%20summary", want: full.without("transcription")},
		{rule: "unknown names in include are ignored", path: "?include=notes,mood", want: full.without("transcription", "summary")},
		{rule: "an empty include leaves the texts out", path: "?include=", want: minimal},
	}, path)
	keeps(t, ada, []row{
		{rule: "an id that there is not", path: "/api/v1/recordings/999999999", status: 404, code: "not_found"},
		{rule: "an id that is no number", path: "/api/v1/recordings/abc", status: 404, code: "not_found"},
		{rule: "a path with a slash at its end", path: path + "/", status: 404, code: "not_found"},
	})
	keeps(t, eve, []row{{rule: "another account's is 404 (differs: 403)", path: path, status: 404, code: "not_found"}})
	twin := finished(t, ada, map[string]string{"title": "Twin"})
	keeps(t, ada, []row{{rule: "copies of the same bytes are told", path: path + "?format=minimal", want: minimal.with(object{
		"updated_at": micro, "duplicate_info": object{"total_copies": 2, "copies": []any{
			object{"id": id, "title": "Alpha", "created_at": naive, "is_self": true},
			object{"id": twin, "title": "Twin", "created_at": naive, "is_self": false},
		}},
	})}})
}

func contractOfStatuses(t *testing.T, w *world) {
	ada, eve := w.account(t, "status"), w.account(t, "status.eve")
	done, failed := finished(t, ada, nil), finished(t, ada, map[string]string{"initial_prompt": "fail"})
	held := waiting(t, ada, map[string]string{"initial_prompt": "hold"})
	ada.AwaitStatus(held, 30*time.Second, "PROCESSING")
	// error_code is ours.
	status := object{"id": whole, "status": text, "queue_position": nil, "error_message": nil, "error_code": nil, "completed_at": nil}
	path := func(id int64) string { return at("/api/v1/recordings/%d/status", id) }
	keeps(t, ada, []row{
		{rule: "COMPLETED with its time", path: path(done), want: status.with(object{"id": done, "status": "COMPLETED", "completed_at": naive})},
		{rule: "PROCESSING", path: path(held), want: status.with(object{"id": held, "status": "PROCESSING"})},
		{rule: "FAILED tells why (differs: null)", path: path(failed), want: status.with(object{
			"id": failed, "status": "FAILED", "error_message": text, "error_code": text,
		})},
		{rule: "no recording", path: path(999_999_999), status: 404, code: "not_found"},
	})
	keeps(t, eve, []row{{rule: "another account's is 404 (differs: 403)", path: path(done), status: 404, code: "not_found"}})
}
