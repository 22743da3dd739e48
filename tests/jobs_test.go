package tests

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/servertest"
	"github.com/stenometer/stenometer/tests/testservices"
)

// lively are heartbeats that let a test see in seconds what takes half a minute by default.
var lively = servertest.Environment{"JOB_HEARTBEAT_SECONDS": "0.5", "JOB_DEAD_AFTER_SECONDS": "3", "JOB_RETRY_SECONDS": "0.2"}

// uploadSpeech uploads a few spoken words and returns the recording's id.
func uploadSpeech(t *testing.T, client *servertest.Client) int64 {
	t.Helper()
	answer := client.Upload("speech.flac", shortSpeech(t), nil)
	if answer.Status != http.StatusAccepted {
		t.Fatalf("upload: %v, want 202", answer)
	}
	return recordingID(t, answer.JSON(t))
}

// expectOneTranscript checks that the recording was transcribed whole, once.
func expectOneTranscript(t *testing.T, client *servertest.Client, id int64) {
	t.Helper()
	transcript := client.Get(at("/api/v1/recordings/%d/transcript", id)).JSON(t)
	segments, _ := transcript["segments"].([]any)
	if len(segments) == 0 {
		t.Fatalf("recording %d has no segments: %v", id, transcript)
	}
	last := -1.0
	for i, entry := range segments {
		segment := entry.(map[string]any)
		start, end := segment["start_time"].(float64), segment["end_time"].(float64)
		if segment["index"] != float64(i) || start < last || end < start || end > 9 {
			t.Errorf("segment %d is out of order or outside the recording: %v", i, segment)
		}
		last = start
	}
}

// Rule: killed at any instant, a process loses no accepted recording: the next start resumes the job and it
// completes, once.
func TestATranscriptionIsResumedAfterAKillAndARestart(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(lively)
	process, client := signedUp(t, environment)
	id := uploadSpeech(t, client)
	client.AwaitStatus(id, 30*time.Second, "PROCESSING")
	process.Kill()

	again := servertest.Start(t, environment)
	killed := time.Now()
	client.URL = again.URL
	client.AwaitStatus(id, 90*time.Second, "COMPLETED")
	t.Logf("completed %v after the restart", time.Since(killed).Round(time.Millisecond))
	expectOneTranscript(t, client, id)
}

// Rule: with a second worker alive, the job of a killed process is taken over within 30 s of the kill.
func TestATranscriptionIsTakenOverByAnotherWorker(t *testing.T) {
	t.Parallel()
	environment := quiet(t) // default heartbeats: the 30 s are what operators get
	worker, client := signedUp(t, environment)
	id := uploadSpeech(t, client)
	client.AwaitStatus(id, 30*time.Second, "PROCESSING")
	second := servertest.Start(t, environment)
	worker.Kill()
	killed := time.Now()
	client.URL = second.URL
	servertest.Eventually(t, 30*time.Second, "the second worker takes the job over", func() bool {
		return containsAll(second.Logs(), `"transcription started"`, fmt.Sprintf(`"recording":%d`, id))
	})
	t.Logf("taken over %v after the kill", time.Since(killed).Round(time.Millisecond))
	client.AwaitStatus(id, 90*time.Second, "COMPLETED")
	expectOneTranscript(t, client, id)
}

// Rule: the same with shared counts, where the killed process still holds all of the organization's job slots.
func TestATakenOverTranscriptionDoesNotWaitForTheSlotsOfTheDead(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(servertest.Environment{
		"RATELIMIT_STORAGE_URI": testservices.OwnRedis(t), "JOBS_MAX_CONCURRENT_PER_ORG": "1",
	})
	worker, client := signedUp(t, environment)
	id := uploadSpeech(t, client)
	client.AwaitStatus(id, 30*time.Second, "PROCESSING")
	second := servertest.Start(t, environment, "--role", "worker")
	worker.Kill()
	killed := time.Now()
	// Less than the 30 s that are promised: the slot was taken, and its life began, a while before the kill.
	servertest.Eventually(t, 24*time.Second, "the second worker takes the job over", func() bool {
		return containsAll(second.Logs(), `"transcription started"`, fmt.Sprintf(`"recording":%d`, id))
	})
	t.Logf("taken over %v after the kill", time.Since(killed).Round(time.Millisecond))
}

// Rule: an orderly stop loses no work: the running job goes back to the queue and the next process completes it.
func TestAnOrderlyStopPutsTheRunningJobBack(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(lively)
	process, client := signedUp(t, environment)
	id := uploadSpeech(t, client)
	client.AwaitStatus(id, 30*time.Second, "PROCESSING")
	if err := process.Stop(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, process.Logs())
	}
	client.URL = servertest.Start(t, environment).URL
	client.AwaitStatus(id, 90*time.Second, "COMPLETED")
	expectOneTranscript(t, client, id)
}

// Rule: a web process takes recordings in; a worker process works them.
func TestWebAndWorkerProcessesShareTheWork(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(lively)
	web := servertest.Start(t, environment, "--role", "web")
	servertest.CreateUser(t, environment, "ada@example.org")
	client := web.Client(servertest.CreateToken(t, environment, "ada@example.org"))
	id := uploadSpeech(t, client)
	if status := client.Get(at("/api/v1/recordings/%d/status", id)).JSON(t); status["status"] != "QUEUED" && status["status"] != "PENDING" {
		t.Fatalf("without a worker the recording is %v", status)
	}
	servertest.Start(t, environment, "--role", "worker")
	client.AwaitStatus(id, 90*time.Second, "COMPLETED")
}

// Rule: deleting works in every state, stops the work and takes the media away (H-069).
func TestDeletingWhileItIsTranscribed(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(lively).With(servertest.Environment{"JOBS_MAX_CONCURRENT_PER_ORG": "1"})
	_, client := signedUp(t, environment)
	first := uploadSpeech(t, client)
	client.AwaitStatus(first, 30*time.Second, "PROCESSING")
	waiting := uploadSpeech(t, client)
	for _, id := range []int64{waiting, first} {
		if answer := client.Send(http.MethodDelete, at("/api/v1/recordings/%d", id), nil); answer.Status != http.StatusOK {
			t.Fatalf("deleting recording %d: %v, want 200", id, answer)
		}
		if answer := client.Get(at("/api/v1/recordings/%d", id)); answer.Status != http.StatusNotFound {
			t.Errorf("recording %d after its deletion: %v, want 404", id, answer)
		}
	}
	servertest.Eventually(t, 30*time.Second, "the media is gone", func() bool { return len(filesLeft(t, environment)) == 0 })

	// The slot is free again: with one job at a time, a new recording completes.
	client.AwaitStatus(recordingID(t, client.Upload("tone.wav", tone(t), nil).JSON(t)), 90*time.Second, "COMPLETED")
}

// Rule: no speech is COMPLETED with an empty transcript; an id is never used twice.
func TestARecordingWithoutSpeechIsCompleted(t *testing.T) {
	t.Parallel()
	_, client := signedUp(t, quiet(t))
	answer := client.Upload("silence.wav", encode(t, "silence.wav", "-af", "volume=0", "-ar", "16000"), nil)
	id := recordingID(t, answer.JSON(t))
	client.AwaitStatus(id, 60*time.Second, "COMPLETED")
	transcript := client.Get(at("/api/v1/recordings/%d/transcript", id))
	if segments, _ := transcript.JSON(t)["segments"].([]any); transcript.Status != http.StatusOK || len(segments) != 0 {
		t.Errorf("got %v, want 200 without segments", transcript)
	}
	if deleted := client.Send(http.MethodDelete, at("/api/v1/recordings/%d", id), nil); deleted.Status != http.StatusOK {
		t.Fatalf("delete: %v", deleted)
	}
	if next := recordingID(t, client.Upload("tone.wav", tone(t), nil).JSON(t)); next <= id {
		t.Errorf("the next recording is %d, after %d was deleted", next, id)
	}
}

// Rule: a job that gives up leaves the recording FAILED with its reason and its audio; it can be started again.
func TestAJobThatGivesUpLeavesTheAudio(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(lively).With(servertest.Environment{
		"TRANSCRIPTION_CONNECTOR": "openai_whisper", "TRANSCRIPTION_BASE_URL": "http://127.0.0.1:1", "TRANSCRIPTION_API_KEY": "sk-secret-key",
		"JOB_MAX_ATTEMPTS": "2",
	})
	process, client := signedUp(t, environment)
	content := tone(t)
	id := recordingID(t, client.Upload("tone.wav", content, nil).JSON(t))
	status := client.AwaitStatus(id, 90*time.Second, "FAILED")
	message, _ := status["error_message"].(string)
	if message == "" || containsAll(message, "127.0.0.1") || containsAll(message, "sk-secret") {
		t.Errorf("error_message is %q, want a reason without the provider's address or key", message)
	}
	if audio := client.Get(at("/api/v1/recordings/%d/audio", id)); audio.Status != http.StatusOK || string(audio.Body) != string(content) {
		t.Errorf("the audio is not as it was uploaded: %d, %d bytes", audio.Status, len(audio.Body))
	}
	again := client.Send(http.MethodPost, at("/api/v1/recordings/%d/transcribe", id), map[string]any{})
	if body := again.JSON(t); again.Status != http.StatusOK || body["status"] != "QUEUED" || body["success"] != true {
		t.Errorf("transcribe again: %v, want 200 QUEUED", again)
	}
	if containsAll(process.Logs(), "sk-secret-key") {
		t.Error("the provider's key is in the log")
	}
}
