package v1_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const (
	commonKeys = `id title status created_at completed_at meeting_date updated_at file_size original_filename participants
		is_inbox is_highlighted is_archived audio_available audio_duration processing_time_seconds transcription_duration_seconds
		summarization_duration_seconds folder_id folder deletion_exempt keep_audio_only tags external_refs `
	uploadKeys = commonKeys + `user_id mime_type audio_deleted_at notes notes_html transcription summary summary_html events
		prompt_variables resolved_hotwords resolved_initial_prompt duplicate_info shared_with_count public_share_count ignored`
	listKeys   = commonKeys + `has_transcription has_summary error_message error_code is_shared owner share`
	detailKeys = commonKeys + `error_message error_code mime_type events duplicate_info`
)

func TestUploadForm(t *testing.T) {
	t.Parallel()
	s := open(t)
	body := s.expect(s.upload(s.token, "talk.wav", sound(1), "title", "T", "notes", "a <b>\n\nc", "tag_ids[0]", "7", "folder_id", "x"), http.StatusAccepted, "")
	keys(t, "upload form", body, uploadKeys)
	ignored := body["ignored"].(map[string]any)
	if body["status"] != "QUEUED" || body["title"] != "T" || body["notes_html"] != "<p>a &lt;b&gt;</p><p>c</p>" || fmt.Sprint(ignored) != "map[folder_id:x tag_ids:[7]]" {
		t.Errorf("the form is %v", body)
	}
	if at := body["updated_at"].(string); len(at) != len("2026-03-05T06:13:46.123456Z") {
		t.Errorf("updated_at is %s", at)
	}
	if at := body["created_at"].(string); strings.HasSuffix(at, "Z") {
		t.Errorf("created_at is %s", at)
	}
	again := s.expect(s.upload(s.token, "talk.wav", sound(1)), http.StatusAccepted, "")
	if again["duplicate_warning"].(map[string]any)["existing_title"] != "T" || again["duplicate_info"].(map[string]any)["total_copies"] != 2.0 {
		t.Errorf("the copy is told as %v", again["duplicate_warning"])
	}
	blind := s.expect(s.upload(s.mint(s.user, "upload"), "talk.wav", sound(1), "title", "secret", "notes", "secret"), http.StatusAccepted, "")
	if text := fmt.Sprint(blind); strings.Contains(text, "secret") || strings.Contains(text, "talk.wav") || strings.Contains(text, "existing_title:T") {
		t.Errorf("a token that may only upload is shown %s", text)
	}
}

func TestUploadRefusals(t *testing.T) {
	t.Parallel()
	s := open(t)
	const path = "/api/v1/recordings/upload"
	form := "multipart/form-data; boundary=b"
	s.expect(s.do("POST", path, strings.NewReader("{}"), "Content-Type", "application/json"), 415, "unsupported_media_type")
	s.expect(s.do("POST", path, strings.NewReader("x")), 415, "unsupported_media_type")
	s.expect(s.do("POST", path, strings.NewReader("x"), "Content-Type", "multipart/form-data"), 400, "bad_request")
	s.expect(s.do("POST", path, strings.NewReader("x"), "Content-Type", form, "Content-Encoding", "gzip"), 415, "unsupported_media_type")
	s.expect(s.do("POST", path, strings.NewReader("--b--\r\n"), "Content-Type", form), 400, "invalid_parameter")
	s.expect(s.do("POST", path, strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nplain\r\n--b--\r\n"), "Content-Type", form), 400, "invalid_parameter")
	s.expect(s.upload(s.token, "a.mp3", []byte("text")), 400, "invalid_media")
	s.expect(s.upload(s.token, "a.mp3", nil), 400, "invalid_media")
	body := s.expect(s.upload(s.token, "a.mp3", make([]byte, maxUpload+1)), 413, "payload_too_large")
	keys(t, "413", body, "error code max_size_mb effective_limit_mb audio_only_mode")
	body = s.expect(s.upload(s.token, "a.wav", sound(1), "strict", "true", "tag_id", "5"), 400, "invalid_parameter")
	if fmt.Sprint(body["ignored"]) != "map[folder_id:<nil> tag_ids:[5]]" {
		t.Errorf("the refusal tells of %v", body["ignored"])
	}
	list := s.expect(s.get("/api/v1/recordings"), 200, "")
	if total := list["pagination"].(map[string]any)["total"]; total != 0.0 {
		t.Errorf("%v recordings came of refused uploads", total)
	}
}

func TestListForm(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav")
	s.complete(id, "segments", "", segment(0, 1, "A", "hello"))
	list := s.expect(s.get("/api/v1/recordings"), 200, "")
	item := list["recordings"].([]any)[0].(map[string]any)
	keys(t, "list form", item, listKeys)
	if item["created_at"] != "2026-03-05T06:13:46" || item["completed_at"] != "2026-03-05T06:13:46.123456" || item["updated_at"] != "2026-03-05T06:13:46.000000Z" {
		t.Errorf("the times are %v, %v, %v", item["created_at"], item["completed_at"], item["updated_at"])
	}
	if item["has_transcription"] != true || item["is_shared"] != false {
		t.Errorf("the item is %v", item)
	}
}

// H-070, and the lenient and strict sides of every parameter.
func TestListParameters(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.complete(s.recording("a.wav"), "plain", "x")  // of 2026-03-05T06:13:46
	for query, want := range map[string][3]float64{ // page, per_page, how many are shown
		"":                                      {1, 25, 1},
		"page=0":                                {1, 25, 1},
		"page=-1":                               {1, 25, 1},
		"page=1e9":                              {1, 25, 1},
		"page=abc":                              {1, 25, 1},
		"page=1.5":                              {1, 25, 1},
		"page=":                                 {1, 25, 1},
		"page=2":                                {2, 25, 0},
		"page=1000000000":                       {1000000000, 25, 0},
		"page=9223372036854775808":              {2147483647, 25, 0},
		"per_page=0":                            {1, 1, 1},
		"per_page=-1":                           {1, 1, 1},
		"per_page=101":                          {1, 100, 1},
		"per_page=1e9":                          {1, 25, 1},
		"per_page=abc":                          {1, 25, 1},
		"per_page=1000000":                      {1, 100, 1},
		"scope=shared":                          {1, 25, 0},
		"scope=all":                             {1, 25, 1},
		"tag_id=3":                              {1, 25, 0},
		"tag_id=x":                              {1, 25, 1},
		"folder_id=none":                        {1, 25, 1},
		"folder_id=3":                           {1, 25, 0},
		"owner_id=99999":                        {1, 25, 0},
		"status=completed":                      {1, 25, 1},
		"status=FAILED":                         {1, 25, 0},
		"status=strange":                        {1, 25, 1},
		"inbox=1":                               {1, 25, 1},
		"starred=true":                          {1, 25, 0},
		"archived=false":                        {1, 25, 1},
		"q=A.WAV":                               {1, 25, 1},
		"q=%25":                                 {1, 25, 0},
		"date_to=2026-03-05":                    {1, 25, 1},
		"date_to=2026-03-04":                    {1, 25, 0},
		"date_to=9999-12-31":                    {1, 25, 1},
		"date_from=2026-03-05":                  {1, 25, 1},
		"date_from=2026-03-06":                  {1, 25, 0},
		"date_from=2026-03-05T11:43:46%2B05:30": {1, 25, 1},
		"date_from=2026-03-05T11:43:46+05:30":   {1, 25, 1},
		"date_from=2026-03-05T01:13:47-05:00":   {1, 25, 0},
		"updated_since=2026-03-05T06:13:46Z":    {1, 25, 0},
		"updated_since=2026-03-05T06:13:45Z":    {1, 25, 1},
		"external_system=a&external_ref=b":      {1, 25, 0},
	} {
		body := s.expect(s.get("/api/v1/recordings?"+query), 200, "")
		pagination := body["pagination"].(map[string]any)
		if shown := len(body["recordings"].([]any)); pagination["page"] != want[0] || pagination["per_page"] != want[1] || float64(shown) != want[2] {
			t.Errorf("?%s: page %v of %v shows %d, want %v", query, pagination["page"], pagination["per_page"], shown, want)
		}
	}
	for _, query := range []string{
		"scope=mine", "date_field=x", "updated_since=x", "date_from=2026-02-29", "date_to=x", "external_ref=b", "external_system=a", "q=%00", "q=" + strings.Repeat("x", 501),
	} {
		s.expect(s.get("/api/v1/recordings?"+query), 400, "invalid_parameter")
	}
}

func TestDetailForm(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav", "notes", "n")
	s.complete(id, "segments", "", segment(0, 1, "A", "hello"))
	path := fmt.Sprintf("/api/v1/recordings/%d", id)
	for query, more := range map[string]string{
		"": " transcription summary notes", "?format=minimal": "", "?include=": "", "?include=notes,%20x": " notes", "?format=other&include=summary": " summary",
	} {
		keys(t, "detail"+query, s.expect(s.get(path+query), 200, ""), detailKeys+more)
	}
	body := s.expect(s.get(path), 200, "")
	if body["transcription"] != "[A]: hello" || body["summary"] != nil || body["notes"] != "n" || body["mime_type"] != "audio/wav" {
		t.Errorf("the detail is %v", body)
	}
	status := s.expect(s.get(path+"/status"), 200, "")
	keys(t, "status", status, "id status queue_position error_message error_code completed_at")
}

// H-071: what is no id of a recording is 404 in JSON, on every route with one.
func TestIDs(t *testing.T) {
	t.Parallel()
	s := open(t)
	mine := s.recording("a.wav")
	stranger := s.mint(s.account("stranger"), "full")
	for _, route := range [][2]string{{"GET", ""}, {"GET", "/status"}, {"GET", "/transcript"}, {"GET", "/audio"}, {"POST", "/transcribe"}, {"DELETE", ""}} {
		for _, id := range []string{"2147483648", "9223372036854775807", "9223372036854775808", "-1", "0", "1e3", "abc", "%00", "1.0", fmt.Sprintf("0000%d", mine)} {
			s.expect(s.do(route[0], "/api/v1/recordings/"+id+route[1], nil), 404, "not_found")
		}
		s.expect(s.do(route[0], fmt.Sprintf("/api/v1/recordings/%d%s", mine, route[1]), nil, "Authorization", "Bearer "+stranger), 404, "not_found")
	}
}

func TestTranscribeAndDelete(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav")
	path := fmt.Sprintf("/api/v1/recordings/%d", id)
	s.expect(s.do("POST", path+"/transcribe", nil), 400, "invalid_state")
	s.complete(id, "segments", "")
	s.expect(s.do("POST", path+"/transcribe", strings.NewReader(`{"min_speakers":"two"}`), "Content-Type", "application/json"), 400, "invalid_parameter")
	s.expect(s.do("POST", path+"/transcribe", strings.NewReader(`{"language":"`+strings.Repeat("x", 36)+`"}`), "Content-Type", "application/json"), 400, "invalid_parameter")
	s.expect(s.do("POST", path+"/transcribe", strings.NewReader(`{}`), "Content-Type", "text/plain"), 415, "unsupported_media_type")
	body := s.expect(s.do("POST", path+"/transcribe", nil), 200, "")
	keys(t, "answer", body, "success job_id status message")
	if body["status"] != "QUEUED" || body["success"] != true || body["job_id"].(float64) < 1 {
		t.Errorf("the answer is %v", body)
	}
	if position := s.expect(s.get(path+"/status"), 200, "")["queue_position"]; position == nil {
		t.Error("the status tells no place in the queue")
	}
	keys(t, "answer", s.expect(s.do("DELETE", path, nil), 200, ""), "success message")
	s.expect(s.do("DELETE", path, nil), 404, "not_found")
	s.expect(s.get(path+"/audio"), 404, "not_found")
}

func TestTranscriptForms(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.recording("a.wav")
	path := fmt.Sprintf("/api/v1/recordings/%d/transcript", id)
	s.expect(s.get(path), 404, "not_found")
	s.complete(id, "segments", "", segment(0, 2.5, "Alice", "Hello"), segment(2.3, 3.9996, "B", "Hi <é> --> you"))
	body := s.expect(s.get(path), 200, "")
	keys(t, "transcript", body, "format kind duration segments gaps")
	first := body["segments"].([]any)[0].(map[string]any)
	keys(t, "segment", first, "index speaker speaker_label speaker_id text sentence start_time end_time")
	if body["kind"] != "segments" || body["duration"] != 12.5 || first["text"] != "Hello" || first["sentence"] != "Hello" || fmt.Sprint(body["gaps"]) != "[map[end_time:6 reason:the service failed start_time:5]]" {
		t.Errorf("the transcript is %v", body)
	}
	cut := s.expect(s.get(path+"?max_segments=1"), 200, "")
	if cut["next_start"] != 2.3 || len(cut["segments"].([]any)) != 1 {
		t.Errorf("the window is %v", cut)
	}
	if later := s.expect(s.get(path+"?start=3"), 200, "")["segments"].([]any); later[0].(map[string]any)["index"] != 1.0 {
		t.Errorf("the window lost the index: %v", later)
	}
	for format, want := range map[string]string{
		"text": "[Alice]: Hello\n[B]: Hi <é> --> you",
		"srt":  "1\n00:00:00,000 --> 00:00:02,500\nAlice: Hello\n\n2\n00:00:02,300 --> 00:00:04,000\nB: Hi <é> -- > you\n",
		"VTT":  "WEBVTT\n\n00:00:00.000 --> 00:00:02.500\n<v Alice>Hello\n\n00:00:02.300 --> 00:00:04.000\n<v B>Hi &lt;é&gt; --&gt; you\n",
	} {
		rendered := s.expect(s.get(path+"?format="+format), 200, "")
		if rendered["content"] != want || rendered["format"] != strings.ToLower(format) {
			t.Errorf("%s is %q, want %q", format, rendered["content"], want)
		}
	}
	for _, query := range []string{"format=pdf", "max_segments=0", "max_segments=-1", "max_segments=x", "start=x", "end=NaN"} {
		s.expect(s.get(path+"?"+query), 400, "invalid_parameter")
	}
	plain := s.recording("b.wav")
	s.complete(plain, "plain", "just words")
	path = fmt.Sprintf("/api/v1/recordings/%d/transcript", plain)
	body = s.expect(s.get(path), 200, "")
	keys(t, "plain transcript", body, "format kind segments raw gaps")
	s.expect(s.get(path+"?format=srt"), 400, "no_timings")
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	s := open(t)
	upload := s.mint(s.user, "upload")
	body := s.expect(s.get("/api/v1/capabilities", "Authorization", "Bearer "+upload), 200, "")
	keys(t, "capabilities", body, "speakr_version api_version server server_version features models_local")
	var built []string
	for name, feature := range body["features"].(map[string]any) {
		if feature == true {
			built = append(built, name)
		}
	}
	slices.Sort(built)
	const want = "can_share_publicly changes_feed chat_sources etags external_refs public_sharing share_links token_scopes upload_idempotency webhook_signature_v2"
	if strings.Join(built, " ") != want || body["api_version"] != "1.1" {
		t.Errorf("%v are on, want %s", built, want)
	}
	body = s.expect(s.get("/api/v1/transcription"), 200, "")
	if body["connector"] != "asr_endpoint" || body["default_model"] != "large" || body["capabilities"].(map[string]any)["diarization"] != true {
		t.Errorf("transcription is %v", body)
	}
	body = s.expect(s.get("/api/v1/users/me"), 200, "")
	if body["email"] != "owner@example.org" || body["is_admin"] != false || body["preferences"].(map[string]any)["diarize"] != true {
		t.Errorf("the user is %v", body)
	}
	entries := s.expect(s.get("/api/v1/limits", "Authorization", "Bearer "+upload), 200, "")["limits"].([]any)
	found := map[string]map[string]any{}
	for _, entry := range entries {
		keys(t, "limit", entry.(map[string]any), "name scope limit window_seconds remaining next_at whole_at")
		found[entry.(map[string]any)["name"].(string)] = entry.(map[string]any)
	}
	// The request itself is counted, and reading the limits is all that this token has done.
	if read := found["token_read"]; read["remaining"] != 998.0 || read["scope"] != "token" || read["window_seconds"] != 60.0 || read["whole_at"] == nil {
		t.Errorf("token_read stands at %v", read)
	}
	if ai := found["user_ai"]; ai["remaining"] != 1000.0 || ai["next_at"] != nil {
		t.Errorf("user_ai stands at %v", ai)
	}
}
