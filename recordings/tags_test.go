package recordings_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// none is an edit that takes the value away.
func none[T any]() recordings.Edit[T] { return recordings.Edit[T]{Given: true} }

func called(name string) recordings.TagEdit {
	return recordings.TagEdit{Preset: recordings.Preset{Name: becomes(name)}}
}

// tag makes a tag of the account's.
func (r *rig) tag(p auth.Principal, edit recordings.TagEdit) int64 {
	r.t.Helper()
	tag, err := r.recordings.CreateTag(context.Background(), p, edit)
	if err != nil {
		r.t.Fatal(err)
	}
	return tag.ID
}

// A tag starts with the usual color, its name trimmed; what a change does not name stays, and null takes away.
func TestTagsAreKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", nil)
		edit := recordings.TagEdit{Preset: recordings.Preset{
			Name: becomes(" Übung "), CustomPrompt: becomes("p"), DefaultLanguage: becomes("de"), MinSpeakers: becomes(1), MaxSpeakers: becomes(2),
		}, ProtectFromDeletion: becomes(true)}
		made, err := r.recordings.CreateTag(ctx, r.owner, edit)
		if err != nil || *made.Name != "Übung" || made.Color != "#3B82F6" || *made.CustomPrompt != "p" || *made.DefaultLanguage != "de" ||
			*made.MinSpeakers != 1 || *made.MaxSpeakers != 2 || !made.ProtectFromDeletion {
			t.Fatalf("made %+v, %v", made, err)
		}
		r.tag(r.owner, called("alpha"))
		r.tag(r.owner, called("Beta"))
		r.tag(r.principal(r.account("other"), "full"), called("foreign"))
		for name, want := range map[string]string{"": "alpha Beta Übung", "ÜBUNG": "Übung", "beta": "Beta", "bet": "", "foreign": ""} {
			tags, err := r.recordings.Tags(ctx, r.owner, name)
			var names []string
			for _, tag := range tags {
				names = append(names, *tag.Name)
			}
			if got := strings.Join(names, " "); err != nil || got != want {
				t.Errorf("of the name %q there are %q, %v, want %q", name, got, err, want)
			}
		}
		changed, err := r.recordings.UpdateTag(ctx, r.owner, made.ID, recordings.TagEdit{
			Preset: recordings.Preset{Color: becomes("#abcdef"), CustomPrompt: becomes(" "), MinSpeakers: none[int]()},
		})
		if err != nil || *changed.Name != "Übung" || changed.Color != "#abcdef" || changed.CustomPrompt != nil || changed.MinSpeakers != nil ||
			*changed.MaxSpeakers != 2 || *changed.DefaultLanguage != "de" || !changed.ProtectFromDeletion {
			t.Errorf("changed to %+v, %v", changed, err)
		}
		writes := r.principal(r.user, "write")
		blind, err := r.recordings.UpdateTag(ctx, writes, made.ID, recordings.TagEdit{Preset: recordings.Preset{CustomPrompt: becomes("secret")}})
		if err != nil || blind.Name != nil || blind.CustomPrompt != nil {
			t.Errorf("a token that may not read was told %+v, %v", blind, err)
		}
	})
}

// What is outside its bounds is refused by a message that names it, and nothing is kept.
func TestTagsHaveBounds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, sqliteURL(t), "", nil)
	id := r.tag(r.owner, called("there"))
	named := func(preset recordings.Preset) recordings.Preset {
		if !preset.Name.Given {
			preset.Name = becomes("new")
		}
		return preset
	}
	for field, preset := range map[string]recordings.Preset{
		"name":                 {Name: becomes("  ")},
		"name ":                {Name: becomes(strings.Repeat("ä", 51))},
		"name  ":               {Name: becomes("a\x00b")},
		"color":                {Color: becomes("#12345")},
		"color ":               {Color: becomes("1234567")},
		"color  ":              {Color: becomes("#12345g")},
		"custom_prompt":        {CustomPrompt: becomes(strings.Repeat("x", 10_001))},
		"default_language":     {DefaultLanguage: becomes(strings.Repeat("x", 11))},
		"default_min_speakers": {MinSpeakers: becomes(0)},
		"default_max_speakers": {MaxSpeakers: becomes(101)},
		"must not be above":    {MinSpeakers: becomes(3), MaxSpeakers: becomes(2)},
	} {
		field = strings.TrimSpace(field)
		_, err := r.recordings.CreateTag(ctx, r.owner, recordings.TagEdit{Preset: named(preset)})
		if problem := expect(t, err, problems.InvalidParameter); !strings.Contains(problem.Message, field) {
			t.Errorf("making one with a bad %s says %q", field, problem.Message)
		}
		_, err = r.recordings.UpdateTag(ctx, r.owner, id, recordings.TagEdit{Preset: preset})
		if problem := expect(t, err, problems.InvalidParameter); !strings.Contains(problem.Message, field) {
			t.Errorf("changing to a bad %s says %q", field, problem.Message)
		}
	}
	if tags, err := r.recordings.Tags(ctx, r.owner, ""); err != nil || len(tags) != 1 || *tags[0].Name != "there" {
		t.Errorf("refusals left %+v, %v", tags, err)
	}
	r.tag(r.owner, called(strings.Repeat("ä", 50)))
}

// A name is an account's once; another account's tag is not there, by whichever route it is asked for.
func TestTagsAreTheirAccounts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", nil)
		other := r.principal(r.account("other"), "full")
		id, foreign := r.tag(r.owner, called("a")), r.tag(other, called("a"))
		second := r.tag(r.owner, called("b"))
		_, err := r.recordings.CreateTag(ctx, r.owner, called("a "))
		expect(t, err, problems.InvalidParameter)
		_, err = r.recordings.UpdateTag(ctx, r.owner, second, called("a"))
		expect(t, err, problems.Conflict)
		if _, err := r.recordings.UpdateTag(ctx, r.owner, id, called("a")); err != nil {
			t.Errorf("a tag may keep its name: %v", err)
		}
		unknown := expect(t, r.recordings.DeleteTag(ctx, r.owner, 1<<40), problems.NotFound).Message
		if told := expect(t, r.recordings.DeleteTag(ctx, r.owner, foreign), problems.NotFound).Message; told != unknown {
			t.Errorf("another's tag is told apart from none: %q", told)
		}
		_, err = r.recordings.UpdateTag(ctx, r.owner, foreign, called("mine"))
		expect(t, err, problems.NotFound)
		if tags, err := r.recordings.Tags(ctx, other, ""); err != nil || len(tags) != 1 || *tags[0].Name != "a" {
			t.Errorf("the other account has %+v, %v", tags, err)
		}
	})
}

// Of several that make a tag of one name at once, one does; the bound of an account holds too.
func TestRacingTags(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", nil)
		r.makeTags(r.user, 996)
		var made atomic.Int64
		allAtOnce(8, func(int) {
			switch _, err := r.recordings.CreateTag(ctx, r.owner, called("one")); {
			case err == nil:
				made.Add(1)
			case !problems.Is(err, problems.InvalidParameter):
				t.Errorf("a loser got %v", err)
			}
		})
		if made.Load() != 1 {
			t.Errorf("%d tags of one name were made", made.Load())
		}
		made.Store(0)
		allAtOnce(8, func(n int) {
			switch _, err := r.recordings.CreateTag(ctx, r.owner, called(fmt.Sprintf("many %d", n))); {
			case err == nil:
				made.Add(1)
			case !problems.Is(err, problems.Conflict):
				t.Errorf("one too many got %v", err)
			}
		})
		if made.Load() != 3 {
			t.Errorf("%d more tags were made, want those that make 1,000", made.Load())
		}
	})
}

// allAtOnce does the same so many times at once.
func allAtOnce(n int, do func(int)) {
	var racing sync.WaitGroup
	for i := range n {
		racing.Go(func() { do(i) })
	}
	racing.Wait()
}
