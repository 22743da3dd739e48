package tests

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/stenometer/stenometer/tests/servertest"
)

// bucket is an S3 server of one test with an empty bucket, and the settings that reach it.
func bucket(t *testing.T) (*s3mem.Backend, servertest.Environment) {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("recordings"); err != nil {
		t.Fatal(err)
	}
	storage := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(storage.Close)
	query := url.Values{
		"region": {"us-east-1"}, "endpoint": {storage.URL}, "use_path_style": {"true"},
		"request_checksum_calculation": {"when_required"}, "response_checksum_validation": {"when_required"},
	}
	return backend, servertest.Environment{
		"FILE_STORAGE_URL":  "s3://recordings?" + query.Encode(),
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
	}
}

func stored(t *testing.T, backend *s3mem.Backend) int {
	t.Helper()
	objects, err := backend.ListBucket("recordings", nil, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	return len(objects.Contents)
}

// Rule: with recordings in S3 the main job is the same: upload, transcription, ranges, deletion of the media; what is
// refused leaves no object.
func TestRecordingsInS3(t *testing.T) {
	t.Parallel()
	backend, storage := bucket(t)
	_, client := signedUp(t, quiet(t).With(storage))
	content := tone(t)
	if answer := client.Upload("text.mp3", []byte("no music"), nil); answer.Status != http.StatusBadRequest {
		t.Errorf("a text file: %v, want 400", answer)
	}
	if left := stored(t, backend); left != 0 {
		t.Errorf("%d objects are left of a refused upload", left)
	}
	answer := client.Upload("tone.wav", content, nil)
	if answer.Status != http.StatusAccepted {
		t.Fatalf("upload: %v, want 202", answer)
	}
	id := recordingID(t, answer.JSON(t))
	client.AwaitStatus(id, time.Minute, "COMPLETED")
	audio := client.Call(http.MethodGet, at("/api/v1/recordings/%d/audio", id), nil, http.Header{"Range": {"bytes=10-19"}})
	if audio.Status != http.StatusPartialContent || string(audio.Body) != string(content[10:20]) {
		t.Errorf("a range of the audio: %d with %d bytes, want 206 with 10", audio.Status, len(audio.Body))
	}
	if answer := client.Send(http.MethodDelete, at("/api/v1/recordings/%d", id), nil); answer.Status != http.StatusOK {
		t.Fatalf("delete: %v", answer)
	}
	servertest.Eventually(t, 30*time.Second, "the object is gone", func() bool { return stored(t, backend) == 0 })
}
