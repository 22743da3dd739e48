package speech

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/providers"
)

// maxSteering bounds the prompt and the hotwords that are passed on, in characters. Engines read far less.
const maxSteering = 2000

// openAI speaks POST {base}/audio/transcriptions: OpenAI's own models and any compatible server.
type openAI struct {
	caller      caller
	url         string
	description Description
	// detailed is whether the configured model was last asked in its detailed form with success.
	detailed atomic.Bool
}

// gpt4oModels are the models of the openai_transcribe connector.
func gpt4oModels() []string {
	return []string{"gpt-4o-transcribe", "gpt-4o-mini-transcribe", "gpt-4o-mini-transcribe-2025-12-15", "gpt-4o-transcribe-diarize", "whisper-1"}
}

func newOpenAI(o Options, connector string) (*openAI, error) {
	if o.BaseURL == "" {
		if o.APIKey == "" {
			return nil, errors.New("TRANSCRIPTION_API_KEY is empty: OpenAI needs one; for a server of your own set TRANSCRIPTION_BASE_URL")
		}
		o.BaseURL = openAIBase
	}
	if err := checkAddress("TRANSCRIPTION_BASE_URL", o.BaseURL); err != nil {
		return nil, err
	}
	if o.Model == "" {
		o.Model = "whisper-1"
		if connector == GPT4oTranscribe {
			o.Model = "gpt-4o-transcribe"
		}
	}
	described := Description{
		Connector: connector,
		Provider:  outbound.ProviderOf(o.BaseURL),
		Model:     o.Model,
		MaxBytes:  25 << 20,
		Takes:     Takes{Containers: []string{"mp3", "mp4", "wav", "flac", "ogg", "webm"}, ButCodecs: []string{"opus"}},
		Form:      media.MP3(),
	}
	form := formOf(o.Model)
	described.Capabilities = Capabilities{
		Diarization: form.diarizes, Hotwords: form.steered, InitialPrompt: form.steered,
		Timestamps: form.timed, LanguageDetection: true, Chunking: connector == Whisper,
	}
	described.AnyModel = connector == Whisper
	if connector == GPT4oTranscribe {
		described.Models = gpt4oModels()
		described.MaxLength = 1400 * time.Second
	}
	if o.MaxBytes > 0 {
		described.MaxBytes = o.MaxBytes
	}
	if o.MaxLength > 0 {
		described.MaxLength = o.MaxLength
	}
	return &openAI{
		caller: newCaller(o, o.APIKey), url: o.BaseURL + "/audio/transcriptions",
		description: described,
	}, nil
}

func (e *openAI) Describe() Description { return e.description }

// form is how a model is asked.
type form struct {
	// detailed is the response_format that is asked first; plain "json" when there is no other.
	detailed                 string
	diarizes, timed, steered bool
}

func formOf(model string) form {
	switch {
	case strings.Contains(model, "gpt-4o") && strings.Contains(model, "diarize"):
		return form{detailed: "diarized_json", diarizes: true, timed: true}
	case strings.Contains(model, "gpt-4o"):
		return form{detailed: "json", steered: true}
	}
	return form{detailed: "verbose_json", timed: true, steered: true}
}

// Transcribe asks for the detailed form first. A server that refuses it is asked once for the plain one, unless it has just
// shown that it knows the detailed one: what it refuses then is the audio.
func (e *openAI) Transcribe(ctx context.Context, audio Audio, request Request) (Answer, error) {
	model := e.description.Asked(request)
	form := formOf(model)
	answer, err := e.ask(ctx, audio, request, model, form, form.detailed)
	known := false
	if model == e.description.Model && (err == nil || refusesForm(err)) {
		known = e.detailed.Swap(err == nil)
	}
	if form.detailed != "json" && refusesForm(err) && !known {
		answer, err = e.ask(ctx, audio, request, model, form, "json")
	}
	if err != nil {
		return Answer{}, err
	}
	answer.Model = model
	if form.diarizes {
		nameSpeakers(answer.Segments, "Unknown Speaker")
	}
	return answer, nil
}

func refusesForm(err error) bool {
	var failure *providers.Error
	return errors.As(err, &failure) &&
		(failure.Status == http.StatusBadRequest || failure.Status == http.StatusUnprocessableEntity)
}

func (e *openAI) ask(ctx context.Context, audio Audio, request Request, model string, form form, format string) (Answer, error) {
	fields := [][2]string{{"model", model}, {"response_format", format}}
	if language := Language(request.Language); language != "" {
		fields = append(fields, [2]string{"language", language})
	}
	if prompt := steering(request); form.steered && prompt != "" {
		fields = append(fields, [2]string{"prompt", prompt})
	}
	if form.diarizes {
		fields = append(fields, [2]string{"chunking_strategy", "auto"})
	}
	body, err := e.caller.post(ctx, upload{url: e.url, fields: fields, part: "file", audio: audio})
	if err != nil {
		return Answer{}, err
	}
	return decode(body)
}

// steering joins prompt and hotwords into the one text that these models read.
func steering(request Request) string {
	var parts []string
	for _, text := range []string{request.InitialPrompt, request.Hotwords} {
		if text = providers.Cut(oneLine(text), maxSteering); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ". ")
}

// nameSpeakers gives every segment a label: one without takes the speaker before it, and fallback stands for none yet.
func nameSpeakers(segments []Segment, fallback string) {
	last := fallback
	for i := range segments {
		if name := label(segments[i].Label); name != "" {
			last = name
		}
		segments[i].Label, segments[i].Speaker = last, last
	}
}
