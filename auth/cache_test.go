package auth

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// rows is a database of one counter; each look-up can be held up.
type rows struct {
	changes atomic.Int64
	mu      sync.Mutex // protects what follows
	tokens  map[[32]byte]Token
	asked   int
	slow    time.Duration
	err     error
}

func (r *rows) FindToken(ctx context.Context, hash [32]byte) (Token, bool, error) {
	r.mu.Lock()
	r.asked++
	token, ok := r.tokens[hash]
	slow, err := r.slow, r.err
	r.mu.Unlock()
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return Token{}, false, ctx.Err()
		}
	}
	return token, ok, err
}

func (r *rows) Changes(context.Context) (int64, error) { return r.changes.Load(), nil }
func (r *rows) Used(int64, time.Time, netip.Addr)      {}

func (r *rows) set(hash [32]byte, token Token) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tokens[hash] = token
	r.changes.Add(1)
}

func newRows() *rows { return &rows{tokens: map[[32]byte]Token{{1}: {ID: 1}}} }

func TestMemoryHoldsUntilAChange(t *testing.T) {
	t.Parallel()
	db := newRows()
	l := newLookups(db, 10)
	for range 5 {
		if token, ok, err := l.find(t.Context(), [32]byte{1}); err != nil || !ok || token.ID != 1 {
			t.Fatalf("found %v %v %v", token, ok, err)
		}
	}
	if db.asked != 1 {
		t.Errorf("the database was asked %d times, want once", db.asked)
	}
	db.set([32]byte{1}, Token{ID: 1, Revoked: true})
	if token, _, _ := l.find(t.Context(), [32]byte{1}); !token.Revoked {
		t.Error("a change was not seen by the next look-up")
	}
}

// Rule: a credential that was ended past the counter is dead within a minute all the same.
func TestMemoryHoldsForAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := newRows()
		l := newLookups(db, 10)
		if token, _, _ := l.find(t.Context(), [32]byte{1}); token.OwnerDisabled {
			t.Fatal("disabled before it was")
		}
		db.tokens[[32]byte{1}] = Token{ID: 1, OwnerDisabled: true}
		pass(time.Minute)
		if token, _, _ := l.find(t.Context(), [32]byte{1}); !token.OwnerDisabled {
			t.Error("after a minute memory still says that the account is not disabled")
		}
	})
}

// What a slow look-up brought is as old as its question.
func TestAgeCountsFromTheQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := newRows()
		db.slow = 900 * time.Millisecond
		l := newLookups(db, 10)
		_, _, _ = l.find(t.Context(), [32]byte{1})
		db.tokens[[32]byte{1}] = Token{ID: 1, OwnerDisabled: true}
		pass(time.Minute - 900*time.Millisecond)
		if token, _, _ := l.find(t.Context(), [32]byte{1}); !token.OwnerDisabled {
			t.Error("a row read a minute ago still counts")
		}
	})
}

func TestNothingFoundIsNotRemembered(t *testing.T) {
	t.Parallel()
	db := newRows()
	l := newLookups(db, 10)
	if _, ok, _ := l.find(t.Context(), [32]byte{2}); ok {
		t.Fatal("found a token that is not there")
	}
	db.mu.Lock()
	db.tokens[[32]byte{2}] = Token{ID: 2} // made without a change: a new token ends nothing
	db.err = errors.New("disk")
	db.mu.Unlock()
	if _, _, err := l.find(t.Context(), [32]byte{2}); err == nil {
		t.Fatal("an error was read as an answer")
	}
	db.mu.Lock()
	db.err = nil
	db.mu.Unlock()
	if token, ok, err := l.find(t.Context(), [32]byte{2}); !ok || err != nil || token.ID != 2 {
		t.Errorf("a new token is not found: %v %v", ok, err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	db := newRows()
	l := newLookups(db, 10)
	for i := range 100 {
		hash := [32]byte{byte(i), 7}
		db.tokens[hash] = Token{ID: int64(i)}
		if _, ok, _ := l.find(t.Context(), hash); !ok {
			t.Fatal("not found")
		}
	}
	if len(l.known) > 10 || len(l.inFlight) != 0 {
		t.Errorf("%d remembered, %d under way, want at most 10 and none", len(l.known), len(l.inFlight))
	}
}

func TestConcurrentMissesAskOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := newRows()
		db.slow = time.Second
		l := newLookups(db, 10)
		for range 50 {
			go func() {
				if token, ok, err := l.find(t.Context(), [32]byte{1}); err != nil || !ok || token.ID != 1 {
					t.Errorf("found %v %v %v", token, ok, err)
				}
			}()
		}
		pass(2 * time.Second)
		synctest.Wait()
		if db.asked != 1 {
			t.Errorf("asked %d times, want once", db.asked)
		}
	})
}

func TestALeaderThatLeavesFailsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := newRows()
		db.slow = time.Second
		l := newLookups(db, 10)
		leaving, leave := context.WithCancel(t.Context())
		go func() {
			if _, _, err := l.find(leaving, [32]byte{1}); !errors.Is(err, context.Canceled) {
				t.Errorf("the one who left got %v", err)
			}
		}()
		synctest.Wait()
		go func() {
			if _, ok, err := l.find(t.Context(), [32]byte{1}); err != nil || !ok {
				t.Errorf("the one who stayed got %v, %v", ok, err)
			}
		}()
		synctest.Wait()
		leave()
		pass(3 * time.Second)
		synctest.Wait()
	})
}

// A request that started after a revocation must not be told what a look-up read before it.
func TestALookUpUnderWayIsNotSharedAcrossAChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := newRows()
		db.slow = time.Second
		l := newLookups(db, 10)
		go func() { _, _, _ = l.find(t.Context(), [32]byte{1}) }()
		synctest.Wait()
		db.set([32]byte{1}, Token{ID: 1, Revoked: true})
		token, ok, err := l.find(t.Context(), [32]byte{1})
		if err != nil || !ok || !token.Revoked {
			t.Errorf("after the revocation the token is %+v, %v, %v", token, ok, err)
		}
		synctest.Wait()
		if token, _, _ := l.find(t.Context(), [32]byte{1}); !token.Revoked {
			t.Error("the older row replaced the newer one in memory")
		}
	})
}

// pass lets time go by in a bubble, where nobody waits for it.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // the time of a bubble is not real
