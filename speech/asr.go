package speech

import (
	"context"
	"net/url"
	"strconv"

	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/providers"
)

// asr speaks POST {base}/asr: whisper-asr-webservice and WhisperX services, which split long audio themselves and
// take no key.
type asr struct {
	caller      caller
	url         string
	diarize     bool
	description Description
}

func newASR(o Options) (*asr, error) {
	if err := checkAddress("ASR_BASE_URL", o.ASRBaseURL); err != nil {
		return nil, err
	}
	return &asr{
		caller: newCaller(o, ""), url: o.ASRBaseURL + "/asr", diarize: o.ASRDiarize,
		description: Description{
			Connector: ASREndpoint,
			Provider:  outbound.ProviderOf(o.ASRBaseURL),
			Model:     o.Model,
			AnyModel:  true,
			Capabilities: Capabilities{
				Diarization: true, SpeakerCountControl: true, Hotwords: true, InitialPrompt: true,
				Timestamps: true, LanguageDetection: true,
			},
			MaxBytes: o.MaxBytes, MaxLength: o.MaxLength,
			Takes: Takes{Any: true}, Form: media.MP3(),
		},
	}, nil
}

func (e *asr) Describe() Description { return e.description }

func (e *asr) Transcribe(ctx context.Context, audio Audio, request Request) (Answer, error) {
	model := e.description.Asked(request)
	body, err := e.caller.post(ctx, upload{url: e.url + "?" + e.query(request, model).Encode(), part: "audio_file", audio: audio})
	if err != nil {
		return Answer{}, err
	}
	answer, err := decode(body)
	if err != nil {
		return Answer{}, err
	}
	answer.Model = model
	if e.diarize {
		nameSpeakers(answer.Segments, "UNKNOWN_SPEAKER")
	}
	return answer, nil
}

// query names diarization twice: the two services call it differently, and each ignores the other's name.
func (e *asr) query(request Request, model string) url.Values {
	diarize := strconv.FormatBool(e.diarize)
	query := url.Values{
		"encode": {"true"}, "task": {"transcribe"}, "output": {"json"},
		"diarize": {diarize}, "enable_diarization": {diarize},
	}
	for name, value := range map[string]string{
		"language":       Language(request.Language),
		"initial_prompt": providers.Cut(oneLine(request.InitialPrompt), maxSteering),
		"hotwords":       providers.Cut(oneLine(request.Hotwords), maxSteering),
		"model":          model,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, count := range map[string]int{"min_speakers": request.MinSpeakers, "max_speakers": request.MaxSpeakers} {
		if e.diarize && count > 0 {
			query.Set(name, strconv.Itoa(count))
		}
	}
	return query
}
