package tests

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"testing"
)

// Rule: a file is known by its content, not by its name or its declared type (H-059, H-060).
func TestMediaIsKnownByItsContent(t *testing.T) {
	t.Parallel()
	_, client := signedUp(t, deaf(t))
	m4a := encode(t, "a.m4a", "-c:a", "aac")
	for _, row := range []struct {
		name, contentType, mime string
		content                 []byte
	}{
		{"voice.bin", "application/octet-stream", "audio/mp4", m4a},
		{"voice.m4a", "audio/x-m4a", "audio/mp4", m4a},
		{"voice", "", "audio/mp4", m4a},
		{"a.mp3", "audio/mpeg", "audio/mpeg", encode(t, "a.mp3", "-c:a", "libmp3lame")},
		{"a.webm", "audio/webm", "audio/webm", encode(t, "a.webm", "-c:a", "libopus")},
		{"a.ogg", "audio/wav", "audio/ogg", encode(t, "a.ogg", "-c:a", "libvorbis")},
		{"a.flac", "text/plain", "audio/flac", encode(t, "a.flac", "-c:a", "flac")},
		{"a.wav", "audio/wav", "audio/wav", encode(t, "a.wav", "-rf64", "always")},
	} {
		answer := post(t, client, part{fmt.Sprintf(`form-data; name="file"; filename=%q`, row.name), row.contentType, bytes.NewReader(row.content)})
		if answer.Status != http.StatusAccepted {
			t.Errorf("%s as %q: %v, want 202", row.name, row.contentType, answer)
			continue
		}
		if got := answer.JSON(t)["mime_type"]; got != row.mime {
			t.Errorf("%s as %q: found to be %v, want %s", row.name, row.contentType, got, row.mime)
		}
	}
}

// Rule: the name is a label only. It is shown as it was, offered for download in both header forms, and never
// becomes a path (H-062).
func TestAFileNameIsALabelOnly(t *testing.T) {
	t.Parallel()
	environment := deaf(t)
	_, client := signedUp(t, environment)
	for _, row := range []struct{ name, sent, shown string }{
		{"not ASCII", `会議 ä 🎙 "q".m4a`, `会議 ä 🎙 "q".m4a`},
		{"decomposed", "Ko\u0308ln.m4a", "Ko\u0308ln.m4a"},
		{"a path", "../../etc/passwd.wav", ""},
		{"300 characters", strings.Repeat("é", 300) + ".wav", ""},
		{"direction marks", "a\u202egpj.wav", ""},
		{"a newline", "a\nb.wav", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			escaped := strings.NewReplacer("\\", "\\\\", `"`, `\"`, "\n", "%0A").Replace(row.sent)
			answer := post(t, client, part{`form-data; name="file"; filename="` + escaped + `"`, "audio/wav", bytes.NewReader(tone(t))})
			if answer.Status != http.StatusAccepted {
				t.Fatalf("got %v, want 202", answer)
			}
			body := answer.JSON(t)
			shown, _ := body["original_filename"].(string)
			if row.shown != "" && shown != row.shown {
				t.Errorf("shown as %q, want %q", shown, row.shown)
			}
			if strings.ContainsAny(shown, "/\\\n\r\x00\u202e") || shown == "" || len([]rune(shown)) > 255 {
				t.Errorf("shown as %q", shown)
			}
			audio := client.Get(at("/api/v1/recordings/%d/audio?download=true", recordingID(t, body)))
			kind, parameters, err := mime.ParseMediaType(audio.Header.Get("Content-Disposition"))
			if err != nil || kind != "attachment" || parameters["filename"] != shown {
				t.Errorf("Content-Disposition %q gives %s %q (%v), want attachment %q", audio.Header.Get("Content-Disposition"), kind, parameters["filename"], err, shown)
			}
		})
	}
	for _, file := range filesLeft(t, environment) {
		if strings.Contains(file, "passwd") || strings.Contains(file, "gpj") {
			t.Errorf("the name became a path: %s", file)
		}
	}
}
