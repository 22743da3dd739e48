package recordings_test

import (
	"context"
	"sync"

	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/speech"
)

// engine is a speech service whose answers a test writes. By default every recording says "hello".
type engine struct {
	mu    sync.Mutex // protects what follows
	calls int
	do    func(ctx context.Context, call int, audio speech.Audio, request speech.Request) (speech.Answer, error)
}

func (*engine) Describe() speech.Description {
	return speech.Description{Connector: "scripted", Provider: "scripted", Model: "m", AnyModel: true, Takes: speech.Takes{Any: true}, Form: media.WAV()}
}

func (e *engine) Transcribe(ctx context.Context, audio speech.Audio, request speech.Request) (speech.Answer, error) {
	e.mu.Lock()
	e.calls++
	call, do := e.calls, e.do
	e.mu.Unlock()
	if do == nil {
		return says("hello"), nil
	}
	return do(ctx, call, audio, request)
}

func (e *engine) script(do func(ctx context.Context, call int, audio speech.Audio, request speech.Request) (speech.Answer, error)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.do = do
}

func (e *engine) called() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls
}

// says is an answer of one segment in the first second.
func says(text string) speech.Answer {
	start, end := 0.0, 1.0
	return speech.Answer{Segments: []speech.Segment{{Start: &start, End: &end, Text: text, Label: "SPEAKER_00", Speaker: "SPEAKER_00"}}, Text: text, Language: "en", Model: "m"}
}
