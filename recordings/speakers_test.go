package recordings_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

func named(name string) recordings.SpeakerChange { return recordings.SpeakerChange{Name: &name} }

func (r *rig) save(name string) recordings.Speaker {
	r.t.Helper()
	speaker, err := r.recordings.AddSpeaker(context.Background(), r.owner, named(name))
	if err != nil {
		r.t.Fatal(err)
	}
	return speaker
}

func TestSpeakerBounds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", nil)
		id := r.save("  Ada  ").ID
		address := func(text string) recordings.SpeakerChange { return recordings.SpeakerChange{Email: &text} }
		aliases := func(names ...string) recordings.SpeakerChange { return recordings.SpeakerChange{Aliases: &names} }
		numbered := make([]string, 21)
		for i := range numbered {
			numbered[i] = fmt.Sprint("alias ", i)
		}
		for _, bad := range []recordings.SpeakerChange{
			named(""), named("   "), named(strings.Repeat("x", 101)), named("a\nb"), named("a\x00"), named("\xff"),
			address("ada"), address("ada@org"), address("a@b@c.org"), address("@c.org"), address("a b@c.org"), address("a@c.org x"),
			address("a@c .org"), address("a@c\x00.org"), address("a\u00a0@c.org"), address(strings.Repeat("a", 315) + "@c.org"),
			aliases(numbered...), aliases(strings.Repeat("x", 101)), aliases("a\tb"),
		} {
			_, err := r.recordings.ChangeSpeaker(ctx, r.owner, id, bad)
			expect(t, err, problems.InvalidParameter)
			if bad.Name == nil {
				bad.Name = text("Grace")
			}
			_, err = r.recordings.AddSpeaker(ctx, r.owner, bad)
			expect(t, err, problems.InvalidParameter)
		}
		for _, good := range []recordings.SpeakerChange{
			named(strings.Repeat("é", 100)), address(" ADA@Example.Org "), address("a@b.c"), address(strings.Repeat("a", 314) + "@c.org"), address(""),
			aliases(append(numbered[:20], "ALIAS 3", " ")...), aliases(" Countess ", "", "COUNTESS", "Lovelace"),
		} {
			if _, err := r.recordings.ChangeSpeaker(ctx, r.owner, id, good); err != nil {
				t.Errorf("%+v: %v", good, err)
			}
		}
		speaker := r.speaker(strings.Repeat("é", 100))
		if speaker.Email != nil || !slices.Equal(speaker.Aliases, []string{"Countess", "Lovelace"}) {
			t.Errorf("the speaker is %+v", speaker)
		}
		if _, err := r.recordings.ChangeSpeaker(ctx, r.owner, id, address("Ada@Example.Org")); err != nil {
			t.Fatal(err)
		}
		for email, want := range map[string]int{"ADA@EXAMPLE.ORG": 1, "ada@example.org ": 1, "ada@example": 0, "%": 0, "\x00": 0, "\xff": 0, "": 1} {
			found, err := r.recordings.Speakers(ctx, r.owner, email)
			if err != nil || len(found) != want {
				t.Errorf("%q finds %v (%v)", email, found, err)
			}
		}
		_, err := r.recordings.AddSpeaker(ctx, r.owner, recordings.SpeakerChange{})
		expect(t, err, problems.InvalidParameter)
	})
}

// Names are unique within an account, however many try at once, and the bound of an account is exact.
func TestSpeakersOfOneName(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", nil)
		r.acquaint(9_990)
		var added, refused, full atomic.Int64
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				_, err := r.recordings.AddSpeaker(ctx, r.owner, named(fmt.Sprint("name ", i%15)))
				var problem *problems.Error
				switch {
				case err == nil:
					added.Add(1)
				case errors.As(err, &problem) && problem.Kind == problems.InvalidParameter:
					refused.Add(1)
				case errors.As(err, &problem) && problem.Kind == problems.Conflict:
					full.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if added.Load() != 10 || full.Load() < 5 || added.Load()+refused.Load()+full.Load() != 30 {
			t.Errorf("%d were added, %d refused, %d had no room", added.Load(), refused.Load(), full.Load())
		}
		if known := r.known(r.owner); len(known) != 10_000 {
			t.Errorf("%d are listed", len(known))
		}
		_, err := r.assign(r.owner, r.spoken("A"), "A", "one too many")
		expect(t, err, problems.Conflict)
		other := r.account("other")
		if _, err := r.recordings.AddSpeaker(ctx, r.principal(other, "full"), named("name 1")); err != nil {
			t.Errorf("another account may not use the name: %v", err)
		}
	})
}

// acquaint saves so many speakers at once.
func (r *rig) acquaint(n int) {
	r.t.Helper()
	rows := make([]models.Speaker, n)
	for i := range rows {
		rows[i] = models.Speaker{UserID: r.user.ID, Name: fmt.Sprint("crowd ", i), Aliases: "[]", CreatedAt: day(1), UpdatedAt: day(1)}
	}
	if err := r.db.Transaction(context.Background(), func(tx *gorm.DB) error { return tx.CreateInBatches(rows, 1000).Error }); err != nil {
		r.t.Fatal(err)
	}
}

func TestSpeakersOfOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", nil)
		id, recording := r.save("Ada").ID, r.spoken("A")
		stranger := r.principal(r.account("stranger"), "full")
		_, err := r.recordings.ChangeSpeaker(ctx, stranger, id, named("Eve"))
		expect(t, err, problems.NotFound)
		expect(t, r.recordings.RemoveSpeaker(ctx, stranger, id), problems.NotFound)
		_, err = r.recordings.Voices(ctx, stranger, recording)
		expect(t, err, problems.NotFound)
		same(t, "the stranger's", r.known(stranger))
		same(t, "the owner's", r.known(r.owner), "Ada 0")
		_, err = r.recordings.ChangeSpeaker(ctx, r.owner, id+1000, named("Eve"))
		expect(t, err, problems.NotFound)
		grace := r.save("Grace")
		_, err = r.recordings.ChangeSpeaker(ctx, r.owner, grace.ID, named("Ada"))
		expect(t, err, problems.Conflict)
	})
}

// Speakers are listed by how often they were assigned, then by when.
func TestSpeakersOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		r.acquaint(1)
		r.save("Ada")
		r.save("Grace")
		r.mustAssign(r.spoken("A"), "A", "Ada")
		same(t, "speakers", r.known(r.owner), "Ada 1", "Grace 0", "crowd 0 0")
	})
}

// One entry for each person, in the order in which they are heard, with what is known of them.
func TestVoices(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		ctx := context.Background()
		r := newRig(t, url, "", nil)
		id := r.spoken("B", "A", "", "C", "B", "A", "")
		r.mustAssign(id, "A", "Ada", "C", "Ada")
		ada := r.speaker("Ada")
		email := "ada@example.org"
		if _, err := r.recordings.ChangeSpeaker(ctx, r.owner, ada.ID, recordings.SpeakerChange{Email: &email}); err != nil {
			t.Fatal(err)
		}
		voices, err := r.recordings.Voices(ctx, r.owner, id)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range voices.List {
			got = append(got, fmt.Sprint(v.Label, " ", v.Segments, " ", given(v.Name), " ", given(v.Email), " ", v.SpeakerID != nil))
		}
		same(t, "voices", got, "B 2   false", "Ada 3 Ada ada@example.org true", "Unknown 2   false")
		plain, err := r.recordings.Voices(ctx, r.owner, r.written("[A] x"))
		if err != nil || plain.List == nil || len(plain.List) != 0 {
			t.Errorf("a plain transcript has %v (%v)", plain.List, err)
		}
	})
}
