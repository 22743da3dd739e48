package recordings_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// bare are so many recordings that only lists need.
func bare(n int) []models.Recording {
	rows := make([]models.Recording, n)
	for i := range rows {
		rows[i] = titled(fmt.Sprintf("recording %d", i))
	}
	return rows
}

// tagsOn are the tags of a recording in their order.
func (r *rig) tagsOn(id int64) []int64 {
	r.t.Helper()
	detail, err := r.recordings.Find(context.Background(), r.owner, id, false)
	if err != nil {
		r.t.Fatal(err)
	}
	var ids []int64
	for _, tag := range detail.Recording.Tags {
		ids = append(ids, tag.ID)
	}
	return ids
}

// moves fails unless do moves updated_at and announces exactly these fields, or with none leaves both alone.
func (r *rig) moves(id int64, do func() error, fields ...string) {
	r.t.Helper()
	before, _ := r.row(id)
	told := len(r.announced(id))
	if err := do(); err != nil {
		r.t.Fatal(err)
	}
	after, _ := r.row(id)
	if after.UpdatedAt.After(before.UpdatedAt) != (len(fields) > 0) {
		r.t.Errorf("updated_at went from %v to %v, want it moved: %v", before.UpdatedAt, after.UpdatedAt, len(fields) > 0)
	}
	if news := r.announced(id)[told:]; len(fields) == 0 && len(news) != 0 || len(fields) > 0 && (len(news) != 1 || !slices.Equal(news[0], fields)) {
		r.t.Errorf("receivers were told of %v, want %v", news, fields)
	}
}

// Tags go after those that are there, in the order given; what cannot be put on is told, the rest put on all the same.
func TestPuttingTagsOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := listing(t, url, bare(1)...)
		other := r.account("other")
		tags, foreign := r.makeTags(r.user, 4), r.makeTags(other, 1)[0]
		add := func(p auth.Principal, ids ...int64) (tagged recordings.Tagged, err error) {
			return r.recordings.AddTags(ctx, p, 1, ids)
		}
		r.moves(1, func() error { _, err := add(r.owner, tags[2], tags[0], tags[2]); return err }, "tags")
		r.moves(1, func() error {
			tagged, err := add(r.owner, tags[0], foreign, tags[1], 1<<40, foreign)
			if len(tagged.Added) != 1 || tagged.Added[0].ID != tags[1] || tagged.Added[0].Name == "" || !slices.Equal(tagged.Unknown, []int64{foreign, 1 << 40}) {
				t.Errorf("the answer is %+v", tagged)
			}
			return err
		}, "tags")
		r.moves(1, func() error { _, err := add(r.owner, tags[0], foreign); return err })
		if on := r.tagsOn(1); !slices.Equal(on, []int64{tags[2], tags[0], tags[1]}) {
			t.Errorf("the tags are %v", on)
		}
		blind, err := add(r.principal(r.user, "write"), tags[3])
		if err != nil || len(blind.Added) != 1 || blind.Added[0].Name != "" {
			t.Errorf("a token that may not read was told %+v, %v", blind, err)
		}
		_, err = add(r.principal(other, "full"), foreign)
		expect(t, err, problems.NotFound)
		_, err = add(r.owner, slices.Repeat(tags[:1], 101)...)
		expect(t, err, problems.InvalidParameter)
		more := r.makeTags(r.user, 97)
		full, err := add(r.owner, more...)
		if err != nil || len(full.Added) != 96 || !slices.Equal(full.TooMany, more[96:]) || len(r.tagsOn(1)) != 100 {
			t.Errorf("with 4 there, of 97 more %d were added and %v found no room, %v", len(full.Added), full.TooMany, err)
		}
	})
}

// A replacement is all of it or nothing, in its order, and takes back none of what another has changed since.
func TestReplacingTags(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := listing(t, url, bare(1)...)
		other := r.account("other")
		tags, foreign := r.makeTags(r.user, 3), r.makeTags(other, 1)[0]
		replace := func(match recordings.Match, ids ...int64) (recordings.Retagged, error) {
			return r.recordings.ReplaceTags(ctx, r.owner, 1, match, ids)
		}
		r.moves(1, func() error { _, err := replace(nil, tags[1], tags[0], tags[1]); return err }, "tags")
		r.moves(1, func() error {
			done, err := replace(nil, tags[2], tags[1])
			if !slices.Equal(done.Added, tags[2:]) || !slices.Equal(done.Removed, tags[:1]) || len(done.Tags) != 2 || done.Tags[0].ID != tags[2] {
				t.Errorf("the answer is %+v", done)
			}
			return err
		}, "tags")
		r.moves(1, func() error { _, err := replace(nil, tags[2], tags[1], tags[2]); return err })
		r.moves(1, func() error { _, err := replace(nil, tags[1], tags[2]); return err }, "tags")
		_, err := replace(nil, tags[0], foreign, 0, 1<<40)
		refused := expect(t, err, problems.InvalidParameter).Fields["tag_ids"]
		if ids, ok := refused.([]int64); !ok || !slices.Equal(ids, []int64{foreign, 0, 1 << 40}) {
			t.Errorf("the refusal lists %v", refused)
		}
		if on := r.tagsOn(1); !slices.Equal(on, []int64{tags[1], tags[2]}) {
			t.Errorf("the tags are %v", on)
		}
		seen, _ := r.row(1)
		same := recordings.Match(seen.UpdatedAt.Equal)
		r.moves(1, func() error { _, err := replace(same); return err }, "tags")
		_, err = replace(same, tags[0])
		expect(t, err, problems.PreconditionFailed)
		_, err = r.recordings.ReplaceTags(ctx, r.principal(other, "full"), 1, nil, []int64{foreign})
		expect(t, err, problems.NotFound)
		if on := r.tagsOn(1); len(on) != 0 {
			t.Errorf("the tags are %v", on)
		}
	})
}

// What is on a recording comes off once; what is not is 404, whosever tag it is.
func TestTakingATagOff(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := listing(t, url, bare(1)...)
		other := r.principal(r.account("other"), "full")
		tag := r.tag(r.owner, called("a"))
		if _, err := r.recordings.AddTags(ctx, r.owner, 1, []int64{tag}); err != nil {
			t.Fatal(err)
		}
		expect(t, r.recordings.RemoveTag(ctx, other, 1, tag), problems.NotFound)
		r.moves(1, func() error { return r.recordings.RemoveTag(ctx, r.owner, 1, tag) }, "tags")
		gone := expect(t, r.recordings.RemoveTag(ctx, r.owner, 1, tag), problems.NotFound).Message
		foreign := r.tag(other, called("b"))
		if told := expect(t, r.recordings.RemoveTag(ctx, r.owner, 1, foreign), problems.NotFound).Message; told != gone {
			t.Errorf("another's tag is told apart: %q and %q", told, gone)
		}
	})
}

// Whatever is put on, taken off and replaced, the tags are what a list would be to which the same was done.
func TestTagsFollowAModel(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := listing(t, url, bare(1)...)
		tags := append(r.makeTags(r.user, 7), r.makeTags(r.account("other"), 1)...)
		random := rand.New(rand.NewPCG(4, 7))
		var model []int64
		for step := range 150 {
			var ids []int64
			for range random.IntN(5) {
				ids = append(ids, tags[random.IntN(len(tags))])
			}
			foreign := slices.Contains(ids, tags[7])
			var err error
			var failed bool
			switch random.IntN(3) {
			case 0:
				_, err = r.recordings.AddTags(ctx, r.owner, 1, ids)
				for _, id := range ids {
					if id != tags[7] && !slices.Contains(model, id) {
						model = append(model, id)
					}
				}
			case 1:
				failed = foreign
				_, err = r.recordings.ReplaceTags(ctx, r.owner, 1, nil, ids)
				if !failed {
					model = nil
					for _, id := range ids {
						if !slices.Contains(model, id) {
							model = append(model, id)
						}
					}
				}
			case 2:
				id := tags[random.IntN(len(tags))]
				failed = !slices.Contains(model, id)
				err = r.recordings.RemoveTag(ctx, r.owner, 1, id)
				model = slices.DeleteFunc(model, func(on int64) bool { return on == id })
			}
			if (err != nil) != failed {
				t.Fatalf("step %d ended with %v, want a failure: %v", step, err, failed)
			}
			if on := r.tagsOn(1); !slices.Equal(on, model) {
				t.Fatalf("after step %d the tags are %v, want %v", step, on, model)
			}
		}
	})
}
