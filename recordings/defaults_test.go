package recordings_test

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/speech"
)

// heard notes what the engine is asked.
type heard struct {
	mu   sync.Mutex // protects last
	last speech.Request
}

func (h *heard) answer(_ context.Context, _ int, _ speech.Audio, request speech.Request) (speech.Answer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = request
	return says("hello"), nil
}

func (h *heard) request() speech.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// What a request says goes before what the first tag with a value says, and that before what the folder says; the
// engine is asked for it, at the first transcription and at every further one.
func TestDefaultsReachTheEngine(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", nil)
		var asked heard
		r.engine.script(asked.answer)
		r.start()
		plain := r.tag(r.owner, called("plain"))
		second := called("second")
		second.DefaultLanguage, second.MinSpeakers = becomes("de-DE"), becomes(4)
		third := called("third")
		third.DefaultLanguage, third.MaxSpeakers = becomes("fr"), becomes(3)
		edit := calledFolder("talks")
		edit.DefaultLanguage, edit.MaxSpeakers = becomes("it"), becomes(9)
		edit.Hotwords, edit.InitialPrompt, edit.Model = becomes("h"), becomes("p"), becomes("m")
		folder, err := r.recordings.CreateFolder(ctx, r.owner, edit)
		if err != nil {
			t.Fatal(err)
		}
		accepted := r.upload(wav(1, 1), "hotwords", "mine", "language", " ", "folder_id", fmt.Sprint(folder.ID),
			"tag_ids[0]", fmt.Sprint(plain), "tag_ids[1]", fmt.Sprint(r.tag(r.owner, second)), "tag_ids[2]", fmt.Sprint(r.tag(r.owner, third)))
		id := accepted.Recording.ID
		if *accepted.Recording.Hotwords != "mine" || *accepted.Recording.InitialPrompt != "p" {
			t.Errorf("the answer resolves to %q and %q", *accepted.Recording.Hotwords, *accepted.Recording.InitialPrompt)
		}
		r.await(id, recordings.StatusCompleted)
		// The third tag's most is below the second's least: what contradicts an earlier word is left out.
		want := speech.Request{Language: "de", Hotwords: "mine", InitialPrompt: "p", Model: "m", MinSpeakers: 4, MaxSpeakers: 9}
		if got := asked.request(); !reflect.DeepEqual(got, want) {
			t.Errorf("the engine was asked for %+v, want %+v", got, want)
		}
		empty, model := "", "other"
		if _, err := r.recordings.Transcribe(ctx, r.owner, r.purse, id, recordings.Hints{Language: &empty, Model: &model}); err != nil {
			t.Fatal(err)
		}
		r.await(id, recordings.StatusCompleted)
		want.Language, want.Model = "", "other"
		if got := asked.request(); !reflect.DeepEqual(got, want) {
			t.Errorf("then the engine was asked for %+v, want %+v: a blank language is asked for too", got, want)
		}
	})
}

// A tag that is put on a recording later counts when it is transcribed again, for what nobody has said of it.
func TestDefaultsOfLaterTags(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", nil)
		var asked heard
		r.engine.script(asked.answer)
		r.start()
		id := r.upload(wav(1, 1), "min_speakers", "2").Recording.ID
		r.await(id, recordings.StatusCompleted)
		tag := called("a")
		tag.DefaultLanguage, tag.MinSpeakers = becomes("nl"), becomes(1)
		if _, err := r.recordings.AddTags(ctx, r.owner, id, []int64{r.tag(r.owner, tag)}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.recordings.Transcribe(ctx, r.owner, r.purse, id, recordings.Hints{}); err != nil {
			t.Fatal(err)
		}
		r.await(id, recordings.StatusCompleted)
		if got, want := asked.request(), (speech.Request{Language: "nl", MinSpeakers: 2}); !reflect.DeepEqual(got, want) {
			t.Errorf("the engine was asked for %+v, want %+v", got, want)
		}
	})
}
