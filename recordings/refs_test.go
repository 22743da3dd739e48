package recordings_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

func ref(system, kind, name string) recordings.ExternalRef {
	return recordings.ExternalRef{System: system, Kind: kind, Ref: name}
}

func keyOf(r recordings.ExternalRef) string { return r.System + " " + r.Kind + " " + r.Ref }

// refKeys lists the references as the caller sees them, and fails where ids are not in order.
func (r *rig) refKeys(p auth.Principal, id int64) []string {
	r.t.Helper()
	refs, err := r.recordings.Refs(context.Background(), p, id)
	if err != nil {
		r.t.Fatal(err)
	}
	if !slices.IsSortedFunc(refs, func(a, b recordings.ExternalRef) int { return int(a.ID - b.ID) }) {
		r.t.Fatalf("the references are not in the order of their ids: %v", refs)
	}
	var keys []string
	for _, ref := range refs {
		keys = append(keys, keyOf(ref))
	}
	return keys
}

// Whatever is added, replaced and taken off at random, the recording has what a list kept beside it has, every change
// moves updated_at and announces itself, and nothing else does.
func TestReferencesEqualAModel(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := listing(t, url, models.Recording{})
		id := r.onlyRecording()
		random := rand.New(rand.NewPCG(1, 2))
		var model []string
		for step := range 120 {
			before, _ := r.row(id)
			told, kept := r.events(id)["recording.updated"], slices.Clone(model)
			switch random.IntN(4) {
			case 0, 1:
				one := ref(fmt.Sprint("s", random.IntN(2)), "k", fmt.Sprint("r", random.IntN(40)))
				stored, added, err := r.recordings.AddRef(ctx, r.owner, id, one)
				if there := slices.Contains(model, keyOf(one)); err != nil && !(len(model) == 50 && !there) || err == nil && (there == added || keyOf(stored) != keyOf(one)) {
					t.Fatalf("step %d: adding %v to %v gave %v, %v, %v", step, one, model, stored, added, err)
				}
				if err == nil && added {
					model = append(model, keyOf(one))
				}
			case 2:
				var sent []recordings.ExternalRef
				rest := slices.DeleteFunc(slices.Clone(model), func(key string) bool { return strings.HasPrefix(key, "s1 ") })
				for range random.IntN(30) {
					one := ref("", "k", fmt.Sprint("r", random.IntN(40)))
					sent = append(sent, one)
					key := "s1" + keyOf(one)
					rest = append(slices.DeleteFunc(rest, func(other string) bool { return other == key }), key)
				}
				all, err := r.recordings.ReplaceRefs(ctx, r.owner, id, nil, "s1", sent)
				if len(rest) > 50 {
					expect(t, err, problems.Conflict)
				} else if model = rest; err != nil || len(all) != len(rest) {
					t.Fatalf("step %d: replacing gave %d references (%v), want %d", step, len(all), err, len(rest))
				}
			case 3:
				refs, err := r.recordings.Refs(ctx, r.owner, id)
				if err != nil {
					t.Fatal(err)
				}
				if len(refs) > 0 {
					gone := refs[random.IntN(len(refs))]
					if err := r.recordings.RemoveRef(ctx, r.owner, id, gone.ID); err != nil {
						t.Fatal(err)
					}
					model = slices.DeleteFunc(model, func(key string) bool { return key == keyOf(gone) })
				}
			}
			if got := r.refKeys(r.owner, id); !slices.Equal(got, model) {
				t.Fatalf("step %d: the recording has\n%v, want\n%v", step, got, model)
			}
			after, _ := r.row(id)
			moved, announced := after.UpdatedAt.After(before.UpdatedAt), r.events(id)["recording.updated"]-told
			if !slices.Equal(kept, model) && (!moved || announced != 1) || moved != (announced == 1) {
				t.Fatalf("step %d: from %v to %v updated_at moved: %v, and %d events", step, kept, model, moved, announced)
			}
		}
	})
}

func (r *rig) onlyRecording() int64 {
	r.t.Helper()
	var row models.Recording
	if err := r.db.Read.Where("user_id = ?", r.user.ID).Take(&row).Error; err != nil {
		r.t.Fatal(err)
	}
	return row.ID
}

// The bound of 50 is exact however many add at once, and of one reference added by all there is one.
func TestReferencesAddedAtOnceKeepTheBound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := listing(t, url, models.Recording{})
		id := r.onlyRecording()
		added, refused := r.addAtOnce(id, 60, func(i int) recordings.ExternalRef { return ref("s", "k", fmt.Sprint(i)) })
		if added != 50 || refused != 10 || len(r.refKeys(r.owner, id)) != 50 {
			t.Errorf("%d were added and %d refused", added, refused)
		}
		if err := r.recordings.RemoveRef(context.Background(), r.owner, id, r.refIDs(id)[0]); err != nil {
			t.Fatal(err)
		}
		added, refused = r.addAtOnce(id, 10, func(int) recordings.ExternalRef { return ref("s", "k", "the same") })
		if added != 1 || refused != 0 {
			t.Errorf("of one reference %d were added and %d refused", added, refused)
		}
	})
}

func (r *rig) refIDs(id int64) (ids []int64) {
	r.t.Helper()
	if err := r.db.Read.Model(&models.ExternalRef{}).Where("recording_id = ?", id).Order("id").Pluck("id", &ids).Error; err != nil {
		r.t.Fatal(err)
	}
	return ids
}

func (r *rig) addAtOnce(id int64, n int, nth func(i int) recordings.ExternalRef) (added, refused int) {
	r.t.Helper()
	var mu sync.Mutex // protects the counts
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			_, isNew, err := r.recordings.AddRef(context.Background(), r.owner, id, nth(i))
			mu.Lock()
			defer mu.Unlock()
			var problem *problems.Error
			switch {
			case err == nil && isNew:
				added++
			case errors.As(err, &problem) && problem.Kind == problems.Conflict:
				refused++
			case err != nil:
				r.t.Error(err)
			}
		})
	}
	all.Wait()
	return added, refused
}

// Another account's recordings and references do not exist for the caller.
func TestReferencesOfOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := listing(t, url, models.Recording{})
		id, stranger := r.onlyRecording(), r.principal(r.account("stranger"), "full")
		if _, _, err := r.recordings.AddRef(ctx, r.owner, id, ref("s", "k", "r")); err != nil {
			t.Fatal(err)
		}
		_, err := r.recordings.Refs(ctx, stranger, id)
		expect(t, err, problems.NotFound)
		_, _, err = r.recordings.AddRef(ctx, stranger, id, ref("s", "k", "r"))
		expect(t, err, problems.NotFound)
		_, err = r.recordings.ReplaceRefs(ctx, stranger, id, nil, "s", nil)
		expect(t, err, problems.NotFound)
		expect(t, r.recordings.RemoveRef(ctx, stranger, id, r.refIDs(id)[0]), problems.NotFound)
		expect(t, r.recordings.RemoveRef(ctx, r.owner, id, r.refIDs(id)[0]+1), problems.NotFound)
		if got := r.refKeys(r.owner, id); len(got) != 1 {
			t.Errorf("the owner has %v", got)
		}
	})
}

// A caller that may not read is told of what it sends, and of nothing that was there.
func TestReferencesWithoutTheScopeRead(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := listing(t, sqliteURL(t), models.Recording{})
	id, blind := r.onlyRecording(), r.principal(r.user, "write")
	secret := ref("s", "k", "r")
	label := "secret"
	secret.Label = &label
	for _, one := range []recordings.ExternalRef{secret, ref("other", "k", "secret")} {
		if _, _, err := r.recordings.AddRef(ctx, r.owner, id, one); err != nil {
			t.Fatal(err)
		}
	}
	stored, added, err := r.recordings.AddRef(ctx, blind, id, ref("s", "k", "r"))
	if err != nil || added || stored.Label != nil {
		t.Errorf("the caller is told %+v, %v, %v", stored, added, err)
	}
	all, err := r.recordings.ReplaceRefs(ctx, blind, id, nil, "s", []recordings.ExternalRef{ref("s", "k", "mine")})
	if err != nil || len(all) != 1 || all[0].Ref != "mine" {
		t.Errorf("the caller is told %+v, %v", all, err)
	}
}

// References of an upload are stored with it, or the upload is refused before its file is taken.
func TestReferencesOfAnUpload(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		accepted := r.upload(wav(0.2, 1), "external_refs",
			`[{"system":"crm","kind":"call","ref":"7","label":" "},{"system":"crm","kind":"call","ref":"8"},{"system":"crm","kind":"call","ref":"7","url":"https://crm.example.org/7"}]`)
		want := []string{"crm call 8", "crm call 7"}
		if got := r.refKeys(r.owner, accepted.Recording.ID); !slices.Equal(got, want) || len(accepted.Recording.ExternalRefs) != 2 {
			t.Errorf("the recording has %v, and the answer %v", got, accepted.Recording.ExternalRefs)
		}
		for field, kind := range map[string]problems.Kind{
			`{}`: problems.InvalidParameter, `[`: problems.InvalidParameter, `[] x`: problems.InvalidParameter, `[1]`: problems.InvalidParameter,
			`[null]`: problems.InvalidParameter, `[{}]`: problems.InvalidParameter, `nonsense`: problems.InvalidParameter,
			`[{"system":"A","kind":"k","ref":"r"}]`:                                                           problems.InvalidParameter,
			"[" + strings.TrimSuffix(strings.Repeat(`{"system":"s","kind":"k","ref":"r"},`, 1001), ",") + "]": problems.InvalidParameter,
			manyRefs(51): problems.Conflict,
		} {
			_, err := r.send(r.owner, "talk.wav", wav(0.2, 1), "external_refs", field)
			expect(t, err, kind)
		}
		r.upload(wav(0.2, 2), "external_refs", manyRefs(50))
		r.upload(wav(0.2, 3), "external_refs", " ")
		if count := r.recordingCount(); count != 3 {
			t.Errorf("there are %d recordings, want 3", count)
		}
	})
}

func manyRefs(n int) string {
	var refs []string
	for i := range n {
		refs = append(refs, fmt.Sprintf(`{"system":"s","kind":"k","ref":"%d"}`, i))
	}
	return "[" + strings.Join(refs, ",") + "]"
}
