package speech_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/providers"
	"github.com/stenometer/stenometer/speech"
	"github.com/stenometer/stenometer/tests/asrtest"
)

func TestConnectorIsChosenByConfiguration(t *testing.T) {
	t.Parallel()
	m := newMedia(t)
	for _, c := range []struct {
		options speech.Options
		want    string
	}{
		{speech.Options{}, "embedded"},
		{speech.Options{Connector: "embedded", BaseURL: "http://a"}, "embedded"},
		{speech.Options{BaseURL: "http://a"}, "openai_whisper"},
		{speech.Options{BaseURL: "http://a/v1 # my server"}, "openai_whisper"},
		{speech.Options{APIKey: key}, "openai_whisper"},
		{speech.Options{APIKey: key, Model: "gpt-4o-transcribe-diarize"}, "openai_transcribe"},
		{speech.Options{APIKey: key, ASRBaseURL: "http://b"}, "asr_endpoint"},
		{speech.Options{Connector: "openai_whisper", APIKey: key, ASRBaseURL: "http://b"}, "openai_whisper"},
	} {
		c.options.Client, c.options.Media = &http.Client{}, m
		engine, err := speech.New(c.options)
		if err != nil {
			t.Errorf("%+v: %v", c.options, err)
			continue
		}
		if got := engine.Describe().Connector; got != c.want {
			t.Errorf("%+v: %s, want %s", c.options, got, c.want)
		}
	}
}

func TestWrongConfigurationNamesTheVariable(t *testing.T) {
	t.Parallel()
	m := newMedia(t)
	for want, options := range map[string]speech.Options{
		"TRANSCRIPTION_CONNECTOR": {Connector: "mistral", APIKey: key},
		"TRANSCRIPTION_API_KEY":   {Model: "whisper-1"},
		"TRANSCRIPTION_BASE_URL":  {BaseURL: "ftp://user:hunter2@host"},
		"ASR_BASE_URL":            {Connector: "asr_endpoint"},
	} {
		options.Client, options.Media = &http.Client{}, m
		_, err := speech.New(options)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v, want an error that names %s", err, want)
		}
	}
}

func TestWhisperIsAskedForDetails(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	audio := r.beeps(t, "a.mp3", 1)
	got := r.transcribe(t, audio, speech.Request{Language: "de-DE", InitialPrompt: "A meeting", Hotwords: "Ada, Grace", MinSpeakers: 2})

	call := r.service.Calls()[0]
	for field, want := range map[string]string{
		"model": "whisper-1", "response_format": "verbose_json", "language": "de", "prompt": "A meeting. Ada, Grace",
	} {
		if call.Fields.Get(field) != want {
			t.Errorf("%s is %q, want %q", field, call.Fields.Get(field), want)
		}
	}
	if call.Part != "file" || call.FileName != "audio.mp3" || call.FileType != "audio/mpeg" || call.Authorization != "Bearer "+key {
		t.Errorf("call %+v", call)
	}
	if got.Kind != speech.KindSegments || len(got.Segments) != 1 || got.Language != "en" || got.Engine != "openai_whisper" || got.Model != "whisper-1" {
		t.Errorf("transcript %+v", got)
	}
	if got.Segments[0].Label != "" || got.Text != "Hello world." {
		t.Errorf("transcript %+v", got)
	}
}

func TestRefusedDetailedFormIsAskedOncePlainly(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.service.Always(asrtest.RefusesForms(asrtest.Plain("Hello plain world.")))
	got := r.transcribe(t, r.beeps(t, "a.wav", 1), speech.Request{})
	if got.Kind != speech.KindPlain || got.Text != "Hello plain world." || len(got.Segments) != 0 {
		t.Errorf("transcript %+v", got)
	}
	if calls := r.service.Calls(); len(calls) != 2 || calls[1].Fields.Get("response_format") != "json" {
		t.Errorf("%d calls", len(calls))
	}
}

func TestGPT4oTranscribeIsAskedPlainly(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *speech.Options, _ *asrtest.Server) { o.Model = "gpt-4o-mini-transcribe" })
	r.service.Always(func(asrtest.Call) asrtest.Reply { return asrtest.Plain("Hi.") })
	audio := r.beeps(t, "a.wav", 1)
	got := r.transcribe(t, audio, speech.Request{Hotwords: "Ada"})
	call := r.service.Calls()[0]
	if call.Fields.Get("response_format") != "json" || call.Fields.Get("prompt") != "Ada" || got.Kind != speech.KindPlain || got.Text != "Hi." {
		t.Errorf("fields %v, transcript %+v", call.Fields, got)
	}
	r.transcribe(t, audio, speech.Request{Model: "gpt-4o-transcribe"})
	r.transcribe(t, audio, speech.Request{Model: "somebody-elses-model"})
	for i, want := range []string{"gpt-4o-mini-transcribe", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"} {
		if got := r.service.Calls()[i].Fields.Get("model"); got != want {
			t.Errorf("call %d asked for %s, want %s", i, got, want)
		}
	}
}

func TestDiarizedForm(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *speech.Options, _ *asrtest.Server) { o.Model = "gpt-4o-transcribe-diarize" })
	r.service.Script(asrtest.Segments(
		asrtest.Segment{End: 1, Text: "Who is there?"},
		asrtest.Segment{Start: 1, End: 2, Text: "Me.", Speaker: "B"},
		asrtest.Segment{Start: 2, End: 3, Text: "  "},
		asrtest.Segment{Start: 3, End: 4, Text: "And me."},
	))
	got := r.transcribe(t, r.beeps(t, "a.wav", 1), speech.Request{InitialPrompt: "ignored"})
	fields := r.service.Calls()[0].Fields
	if fields.Get("response_format") != "diarized_json" || fields.Get("chunking_strategy") != "auto" || fields.Has("prompt") {
		t.Errorf("fields %v", fields)
	}
	var labels []string
	for _, s := range got.Segments {
		labels = append(labels, s.Label+"/"+s.Speaker)
	}
	if want := []string{"Unknown Speaker/Unknown Speaker", "B/B", "B/B"}; !reflect.DeepEqual(labels, want) {
		t.Errorf("labels %v, want %v", labels, want)
	}
	if !r.Describe().Capabilities.Diarization {
		t.Error("diarization is not described")
	}
}

func TestASREndpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *speech.Options, s *asrtest.Server) { *o = asrOptions(s); o.ASRDiarize = true })
	r.service.Script(asrtest.Segments(
		asrtest.Segment{End: 1, Text: " Good morning.", Speaker: "SPEAKER_01"},
		asrtest.Segment{Start: 1, End: 2, Text: " Morning.", Speaker: "SPEAKER_00"},
	))
	got := r.transcribe(t, r.beeps(t, "a.flac", 1), speech.Request{Language: "German", MinSpeakers: 2, MaxSpeakers: 3, Hotwords: "Ada", InitialPrompt: "P"})
	call := r.service.Calls()[0]
	for field, want := range map[string]string{
		"encode": "true", "task": "transcribe", "output": "json", "diarize": "true", "enable_diarization": "true",
		"language": "de", "min_speakers": "2", "max_speakers": "3", "hotwords": "Ada", "initial_prompt": "P",
	} {
		if call.Fields.Get(field) != want {
			t.Errorf("%s is %q, want %q", field, call.Fields.Get(field), want)
		}
	}
	if call.Path != "/asr" || call.Part != "audio_file" || call.FileName != "audio.flac" || call.FileType != "audio/flac" || call.Authorization != "" {
		t.Errorf("call %+v", call)
	}
	if len(got.Segments) != 2 || got.Segments[0].Label != "SPEAKER_01" || got.Segments[0].Text != "Good morning." || got.Text != "Good morning.  Morning." {
		t.Errorf("transcript %+v", got)
	}
}

func asrOptions(s *asrtest.Server) speech.Options {
	return speech.Options{ASRBaseURL: s.ASRBaseURL() + "/", Client: &http.Client{}, Timeout: time.Minute}
}

// A service's failure is told in our words, with neither its own nor its address nor the key.
func TestFailuresAreToldInOurWords(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	audio := r.beeps(t, "a.wav", 1)
	for _, c := range []struct {
		reply     asrtest.Reply
		kind      providers.Kind
		status    int
		retryable bool
	}{
		{asrtest.Fails(401), providers.Unauthorized, 401, false},
		{asrtest.Fails(403), providers.Unauthorized, 403, false},
		{asrtest.Fails(402), providers.Unpaid, 402, false},
		{asrtest.Fails(404), providers.WrongModel, 404, false},
		{asrtest.Fails(413), providers.TooLarge, 413, false},
		{asrtest.Fails(422), providers.Refused, 422, false},
		{asrtest.Fails(408), providers.TimedOut, 408, true},
		{asrtest.Fails(429), providers.RateLimited, 429, true},
		{asrtest.Reply{Status: 429, Body: `{"error":{"code":"insufficient_quota"}}`}, providers.Unpaid, 429, false},
		{asrtest.Fails(500), providers.ServiceFault, 500, true},
		{asrtest.Fails(503), providers.ServiceFault, 503, true},
		{asrtest.Reply{Status: 307, Headers: map[string]string{"Location": "http://127.0.0.1:1/"}}, providers.Unreachable, 307, false},
		{asrtest.Reply{Body: "<html>PROVIDER-SECRET</html>"}, providers.Unreadable, 0, false},
		{asrtest.Reply{Body: `{"error":{"message":"PROVIDER-SECRET"}}`}, providers.Unreadable, 0, false},
		{asrtest.Reply{Drop: true, Body: `{"text":"` + strings.Repeat("a", 100) + `"}`}, providers.Unreachable, 0, true},
	} {
		r.service.Always(func(asrtest.Call) asrtest.Reply { return c.reply })
		_, err := r.Transcribe(context.Background(), audio, speech.Request{})
		var failure *providers.Error
		if !errors.As(err, &failure) {
			t.Errorf("%+v: %v is no *Error", c.reply, err)
			continue
		}
		if failure.Kind != c.kind || failure.Status != c.status || failure.Permanent == c.retryable || providers.IsPermanent(err) == c.retryable {
			t.Errorf("%+v: %+v, want %s %d retryable=%v", c.reply, failure, c.kind, c.status, c.retryable)
		}
		for _, secret := range []string{"SECRET", key, "127.0.0.1", "http"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q holds %q", err, secret)
			}
		}
	}
}

func TestUnreachableServiceIsRetryable(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"http://127.0.0.1:1/v1", "http://user:hunter2@name.invalid/v1"} {
		r := newRig(t, func(o *speech.Options, _ *asrtest.Server) { o.BaseURL = base })
		_, err := r.Transcribe(context.Background(), r.beeps(t, "a.wav", 1), speech.Request{})
		var failure *providers.Error
		if !errors.As(err, &failure) || failure.Kind != providers.Unreachable || failure.Permanent {
			t.Errorf("got %v", err)
		}
		if strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "invalid") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q tells the address", err)
		}
	}
}

func TestSlowServiceTimesOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *speech.Options, _ *asrtest.Server) { o.Timeout = 300 * time.Millisecond })
	r.service.Always(func(asrtest.Call) asrtest.Reply { return asrtest.Reply{Hold: true} })
	_, err := r.Transcribe(context.Background(), r.beeps(t, "a.wav", 1), speech.Request{})
	var failure *providers.Error
	if !errors.As(err, &failure) || failure.Kind != providers.TimedOut || failure.Permanent {
		t.Errorf("got %v", err)
	}
}

// A caller who leaves ends the call at the service.
func TestCanceledCallIsAborted(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.service.Always(func(asrtest.Call) asrtest.Reply { return asrtest.Reply{Hold: true} })
	audio := r.beeps(t, "a.wav", 1)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := r.Transcribe(ctx, audio, speech.Request{})
		done <- err
	}()
	limit, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	if err := r.service.Await(limit, func(s *asrtest.Server) bool { return s.InFlight() == 1 }); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if err := r.service.Await(limit, func(s *asrtest.Server) bool { return s.Aborted() == 1 }); err != nil {
		t.Error(err)
	}
}

func TestEmbeddedEngineSaysWhatItIs(t *testing.T) {
	t.Parallel()
	m := newMedia(t)
	if !m.CanRecognize() {
		t.Skip("PocketSphinx is not installed")
	}
	engine, err := speech.New(speech.Options{Media: m})
	if err != nil {
		t.Fatal(err)
	}
	if got := engine.Describe(); !strings.Contains(got.Quality, "English") || !strings.Contains(got.Quality, "Demo") {
		t.Errorf("described as %q", got.Quality)
	}
	_, err = engine.Transcribe(context.Background(), speech.Audio{Info: media.Info{}}, speech.Request{Language: "fr"})
	if !providers.IsPermanent(err) {
		t.Errorf("French: %v, want a permanent failure", err)
	}
}
